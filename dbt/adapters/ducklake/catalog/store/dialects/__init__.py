"""The dialects of catalog databases: a common interface, and a module for each kind of database."""

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
"""Handles URLs `duckdb+ducklake:///…`; duckdb-engine, if it is installed, handles other DuckDB URLs."""


def dialect_of(name: str) -> CatalogDialect:
    """Return the dialect with an SQLAlchemy name."""
    return {each.name: each for each in (SQLITE, POSTGRES, DUCKDB, MYSQL)}[name]


def physical(dialect: Dialect) -> CatalogDialect:
    """Return our dialect for an SQLAlchemy dialect."""
    return dialect_of(dialect.name)
