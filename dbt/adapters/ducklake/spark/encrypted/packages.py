"""The Python packages that encryption needs."""

from __future__ import annotations

import importlib.util

from ...errors import ConfigurationError
from .duckdb_files import INSTALL

_PACKAGES = {"duckdb": "duckdb", "duckdb_extension_httpfs": "duckdb-extension-httpfs", "cryptography": "cryptography"}
"""Module → the package that has it."""


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
