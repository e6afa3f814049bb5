"""An empty lake on each catalog database, and helpers for committing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, text

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.format.files import ColumnStats, WrittenFile
from dbt.adapters.ducklake.format.objects import Column, Table
from dbt.adapters.ducklake.format.paths import new_uuid
from tests.catalog_objects import COLUMNS, committed, main_of, table_of
from tests.places import EVERY_DATABASE, METADATA_SCHEMA, CatalogPlace, empty_place, skip_unless_chosen

POSTGRES = ("postgres", "postgres schema")


@pytest.fixture(params=[*EVERY_DATABASE, METADATA_SCHEMA])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    """An empty place on each database; in `make test` half of the tests have a schema for the metadata in PostgreSQL, and half have none."""
    chosen_by_the_test = any("place" in mark.args[0] for mark in request.node.iter_markers("parametrize"))
    if request.param in POSTGRES and not chosen_by_the_test:
        skip_unless_chosen(request.function.__name__, POSTGRES.index(request.param), len(POSTGRES))
    return empty_place(request.param, request, tmp_path)


@pytest.fixture
def lake(place: CatalogPlace) -> Iterator[LakeCatalog]:
    with place.open() as opened:
        yield opened


@pytest.fixture
def sqlite_lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LakeCatalog]:
    """A lake for tests that need only one database."""
    with empty_place("sqlite", request, tmp_path).open() as opened:
        yield opened


def create(lake: LakeCatalog, name: str = "t", columns: tuple[Column, ...] = COLUMNS, **more: Any) -> Table:
    committed(lake, lambda transaction: transaction.objects.new_table(main_of(transaction), name, columns, **more))
    return table_of(lake.reader(), name)


def file_of(table: Table, low: int = 0, high: int = 9, *, rows: int = 10, embedded: bool = False, **more: Any) -> WrittenFile:
    """Describe a data file that does not exist."""
    stats = (ColumnStats(1, 50, rows, 0, str(low), str(high)), ColumnStats(2, 50, rows, 0, "x", "y"))
    return WrittenFile(
        f"{table.path}ducklake-{new_uuid()}.parquet", rows, 1000, 300, more.pop("stats", stats), embedded_row_ids=embedded, **more
    )


def insert(lake: LakeCatalog, *files: WrittenFile, name: str = "t") -> None:
    committed(lake, lambda transaction: transaction.rows.add_files(table_of(transaction, name), files))


@contextmanager
def catalog_writer(lake: LakeCatalog) -> Iterator[Connection]:
    """Yield a connection to the catalog database that bypasses our own code. It commits at the end."""
    engine = create_engine(lake.location.url)
    with engine.begin() as connection:
        if lake.location.metadata_schema:
            connection.execute(text(f'SET search_path TO "{lake.location.metadata_schema}"'))
        if engine.dialect.name == "mysql":
            connection.execute(text("SET SESSION sql_mode = 'ANSI_QUOTES'"))
        yield connection
    engine.dispose()


def change(lake: LakeCatalog, statement: str) -> None:
    """Change the metadata tables as another program might."""
    with catalog_writer(lake) as connection:
        connection.execute(text(statement))


def metadata(lake: LakeCatalog, query: str) -> list[tuple[Any, ...]]:
    """Return rows of the metadata tables as they are stored."""
    with catalog_writer(lake) as connection:
        return [tuple(row) for row in connection.execute(text(query))]
