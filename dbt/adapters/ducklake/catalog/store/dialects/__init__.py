"""The dialects of catalog databases: a common interface, and a module for each kind of database."""

from __future__ import annotations

from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL, Connection, Dialect

from .dialect import BusyError, CatalogDialect, ReadOnlyError
from .duckdb import DUCKDB
from .mysql import MYSQL
from .postgres import POSTGRES
from .sqlite import SQLITE

__all__ = ["BusyError", "CatalogDialect", "ReadOnlyError", "dialect_of"]

registry.register("duckdb.ducklake", f"{__name__}.duckdb_driver", "DuckDBFile")
"""Handles URLs `duckdb+ducklake:///…`; duckdb-engine, if it is installed, handles other DuckDB URLs."""


_DIALECTS = {each.name: each for each in (SQLITE, POSTGRES, DUCKDB, MYSQL)}


def dialect_of(target: Dialect | Connection | URL) -> CatalogDialect:
    """Return our dialect for a dialect of SQLAlchemy, a connection or a URL."""
    match target:
        case URL():
            return _DIALECTS[target.get_backend_name()]
        case Connection():
            return _DIALECTS[target.dialect.name]
    return _DIALECTS[target.name]
