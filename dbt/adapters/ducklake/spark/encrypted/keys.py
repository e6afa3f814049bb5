"""The encryption keys of files, as they are stored in the catalog."""

from __future__ import annotations

import base64

from ...errors import LakeError

_KEY_BYTES = (16, 24, 32)
"""The lengths of AES keys, in bytes."""


def key_of(path: str, stored: str) -> bytes:
    """Return the encryption key of a file.

    Args:
        path: the file, for the error message.
        stored: its `encryption_key` in the catalog, in base64.

    Raises:
        LakeError: `stored` is not a key; the message does not contain it.
    """
    try:
        key = base64.b64decode(stored, validate=True)
    except ValueError:
        key = b""
    if len(key) not in _KEY_BYTES:
        raise LakeError(
            f"the catalog has no valid encryption_key for the file {path}: it is not 16, 24 or 32 bytes in base64. "
            "Restore the catalog from a backup"
        )
    return key
