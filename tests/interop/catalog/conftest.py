"""Our catalog and DuckDB on one lake, on each catalog database, without Spark and without a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.format.objects import Column
from tests.catalog_objects import COLUMNS, committed, main_of, table_of
from tests.interop import oracle
from tests.interop.parquet_files import write_file
from tests.places import METADATA_SCHEMA, METADATA_SCHEMA_NAME, REFERENCE_DATABASES, CatalogPlace, empty_place, selected_databases

Connect = Callable[..., duckdb.DuckDBPyConnection]


NIGHTLY_SCHEMA = pytest.param(*METADATA_SCHEMA.values, marks=[*METADATA_SCHEMA.marks, pytest.mark.nightly])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `place` with every database that DuckDB can use, or with the first in `make test` if the test is not marked `parity`.

    With a schema for the metadata, these tests run nightly: half of those of `tests/unit/catalog` have it in `make test` too.
    """
    if "place" in metafunc.fixturenames:
        parity = metafunc.definition.get_closest_marker("parity") is not None
        metafunc.parametrize("place", selected_databases([*REFERENCE_DATABASES, NIGHTLY_SCHEMA], parity=parity), indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    return empty_place(request.param, request, tmp_path)


@pytest.fixture
def lake(place: CatalogPlace) -> Iterator[LakeCatalog]:
    """Our side, which creates the lake."""
    with place.open() as opened:
        yield opened


@pytest.fixture
def duckdb_on(place: CatalogPlace) -> Iterator[Connect]:
    """A function that connects DuckDB to the lake."""
    opened: list[duckdb.DuckDBPyConnection] = []

    def connect(**options: Any) -> duckdb.DuckDBPyConnection:
        connection = oracle.connect(place, **options)
        connection.execute("USE lake")
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()


A, B = COLUMNS


def create(lake: LakeCatalog, *columns: Column, rows: list[dict[str, Any]] | None = None, **more: Any) -> None:
    def work(transaction: Transaction) -> None:
        table = transaction.objects.new_table(main_of(transaction), "t", columns or (A, B), **more)
        if rows:
            transaction.rows.add_files(table, [write_file(table, rows)])

    committed(lake, work)


def insert(lake: LakeCatalog, rows: list[dict[str, Any]], **more: Any) -> None:
    def work(transaction: Transaction) -> None:
        table = table_of(transaction)
        transaction.rows.add_files(table, [write_file(table, rows, **more)])

    committed(lake, work)


def rows_of(duck: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    """Run a query over the metadata tables through DuckDB."""
    try:
        return duck.execute(query.format(meta="__ducklake_metadata_lake")).fetchall()
    except duckdb.CatalogException:  # PostgreSQL has a schema for them, which DuckDB does not list
        return duck.execute(query.format(meta=f'__ducklake_metadata_lake."{METADATA_SCHEMA_NAME}"')).fetchall()
