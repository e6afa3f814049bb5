"""Footers of encrypted Parquet files, because DuckDB shows neither their field ids nor their physical types.

An encrypted file ends with `FileCryptoMetaData`, the encrypted footer, the length of both, and the magic number `PARE`. Each encrypted part
is its length, a nonce and the result of AES-GCM. DuckDB authenticates no additional data.
"""

from __future__ import annotations

import os
import struct

from ...errors import LakeError
from .thrift import read_struct

ENCRYPTED_MAGIC = b"PARE"
_ALGORITHM = b"\x1c\x1c\x00\x00\x00"
"""`FileCryptoMetaData` with the algorithm AES_GCM_V1 and nothing else, as DuckDB writes it."""
_LENGTH, _NONCE, _TAG = 4, 12, 16


def decrypted(stored: bytes, key: bytes, path: str) -> bytes:
    """Return the footer in what an encrypted file stores of it.

    Raises:
        LakeError: the key is wrong, or the footer is damaged.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    start = read_struct(stored, 0)[1] + _LENGTH
    try:
        return AESGCM(key).decrypt(stored[start : start + _NONCE], stored[start + _NONCE :], None)
    except (InvalidTag, ValueError):
        raise LakeError(f"the encrypted file {path} cannot be read: its key in the catalog is wrong, or the file is damaged") from None


def encrypted(footer: bytes, key: bytes) -> bytes:
    """Return what an encrypted file stores of a footer."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE)
    part = nonce + AESGCM(key).encrypt(nonce, footer, None)
    return _ALGORITHM + struct.pack("<I", len(part)) + part
