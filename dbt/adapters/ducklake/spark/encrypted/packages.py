"""The Python packages that encryption needs."""

from __future__ import annotations

import importlib.metadata
import importlib.util

from ...errors import ConfigurationError
from .duckdb_files import INSTALL, INSTALL_SAME_VERSION

_PACKAGES = {"duckdb": "duckdb", "duckdb_extension_httpfs": "duckdb-extension-httpfs", "cryptography": "cryptography"}
"""Module → the package that has it."""
_SAME_VERSION = ("duckdb", "duckdb-extension-httpfs")
"""The packages that must have the same version: DuckDB loads no extension of another version."""


def require_packages() -> None:
    """Require the packages that read and write encrypted files.

    Raises:
        ConfigurationError: a package is missing, or DuckDB's extension has another version than DuckDB.
    """
    missing = [package for module, package in _PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise ConfigurationError(
            f"the lake is encrypted; its files are read and written through DuckDB, and this Python lacks {', '.join(missing)}: {INSTALL}"
        )
    versions = {package: importlib.metadata.version(package) for package in _SAME_VERSION}
    if len(set(versions.values())) > 1:
        found = " and ".join(f"{package} {version}" for package, version in versions.items())
        raise ConfigurationError(
            f"the lake is encrypted; its files are read and written through DuckDB, which needs the packages {' and '.join(_SAME_VERSION)} "
            f"in the same version, and this Python has {found}: {INSTALL_SAME_VERSION}"
        )
