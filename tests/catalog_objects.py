"""Tables, views and commits of a catalog, for tests that call it without a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.read.view import CatalogView
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.format.objects import Column, Schema, Table, View

COLUMNS = (Column(1, "a", "int32"), Column(2, "b", "varchar"))


def main_of(source: CatalogView) -> Schema:
    """Return the schema `main`, which every lake has."""
    found = source.schema("main")
    assert found is not None
    return found


def table_of(source: CatalogView, name: str = "t", schema: str = "main") -> Table:
    """Return a table as a reader or a transaction sees it."""
    found = source.find(schema, name)
    assert isinstance(found, Table)
    return found


def view_of(source: CatalogView, name: str, schema: str = "main") -> View:
    """Return a view as a reader or a transaction sees it."""
    found = source.find(schema, name)
    assert isinstance(found, View)
    return found


def committed(lake: LakeCatalog, work: Callable[[Transaction], Any]) -> Any:
    """Commit a transaction of its own for some work, and return the work's result."""
    transaction = lake.begin()
    result = work(transaction)
    assert transaction.commit() is not None
    return result
