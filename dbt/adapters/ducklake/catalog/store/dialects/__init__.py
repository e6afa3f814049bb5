"""Catalog databases: one behaviour, and a file for each kind of database."""

from __future__ import annotations

from sqlalchemy.dialects import registry
from sqlalchemy.engine import Dialect

from .dialect import BusyError, CatalogDialect
from .duckdb import DUCKDB
from .mysql import MYSQL
from .postgres import POSTGRES
from .sqlite import SQLITE

__all__ = ["BusyError", "CatalogDialect", "dialect_of", "physical"]

registry.register("duckdb.ducklake", f"{__name__}.duckdb_driver", "DuckDBFile")
"""The URLs `duckdb+ducklake:///…`; duckdb-engine, should it be installed, keeps the others."""


def dialect_of(name: str) -> CatalogDialect:
    """The dialect of that SQLAlchemy name."""
    return {each.name: each for each in (SQLITE, POSTGRES, DUCKDB, MYSQL)}[name]


def physical(dialect: Dialect) -> CatalogDialect:
    """The same for SQLAlchemy's own dialect object."""
    return dialect_of(dialect.name)
