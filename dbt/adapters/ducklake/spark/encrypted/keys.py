"""The keys of encrypted files in the catalog, and the packages that encryption needs."""

from __future__ import annotations

import base64
import importlib.util

from ...errors import ConfigurationError, LakeError
from .duckdb_files import INSTALL

_LENGTHS = (16, 24, 32)
_PACKAGES = {"duckdb": "duckdb", "duckdb_extension_httpfs": "duckdb-extension-httpfs", "cryptography": "cryptography"}


def key_of(path: str, stored: str) -> bytes:
    """Return the key of a file from `encryption_key` in the catalog.

    Raises:
        LakeError: it is not a key; the message names the file and does not contain the key.
    """
    try:
        key = base64.b64decode(stored, validate=True)
    except ValueError:
        key = b""
    if len(key) not in _LENGTHS:
        raise LakeError(f"the catalog has no valid encryption_key for the file {path}: it is not 16, 24 or 32 bytes in base64")
    return key


def require_packages() -> None:
    """Require the packages that read and write encrypted files.

    Raises:
        ConfigurationError: a package is missing.
    """
    missing = [package for module, package in _PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise ConfigurationError(
            f"the lake is encrypted; its files are read and written through DuckDB, and this Python lacks {', '.join(missing)}: {INSTALL}"
        )
