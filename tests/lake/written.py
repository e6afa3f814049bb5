"""A lake in a temporary directory to which tests add files directly, and DuckDB to read it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from dbt.adapters.ducklake.format.files import WriteOptions, WrittenFile
from dbt.adapters.ducklake.format.objects import Column, PartitionField, Table
from dbt.adapters.ducklake.format.types import Field, assign_ids, parse_type
from tests.interop.oracle import connect
from tests.places import CatalogPlace

Write = Callable[[Table], list[WrittenFile]]


def columns_of(*definitions: str) -> tuple[Column, ...]:
    """Create columns from texts of the form `name type [NOT NULL]`."""
    fields = []
    for definition in definitions:
        name, _, type_ = definition.partition(" ")
        required = type_.upper().endswith(" NOT NULL")
        fields.append(Field(name, parse_type(type_[:-9] if required else type_), not required))
    return assign_ids(fields, 1)


class WrittenLake:
    """One SQLite lake."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.place = CatalogPlace(f"ducklake:sqlite:{home}/lake.sqlite", f"{home}/files/")

    def add(
        self,
        name: str,
        columns: tuple[Column, ...],
        write: Write,
        *,
        partitioning: tuple[PartitionField, ...] = (),
    ) -> list[WrittenFile]:
        """Create a table and register the files that `write` returns for it."""
        with self.place.open() as lake:
            transaction = lake.begin()
            schema = transaction.schema("main")
            assert schema is not None
            table = transaction.objects.new_table(schema, name, columns, partitioning=partitioning)
            files = write(table)
            transaction.rows.add_files(table, files)
            transaction.commit()
        return files

    def duckdb(self, **options: Any) -> duckdb.DuckDBPyConnection:
        """Open DuckDB with the lake attached as `lake`; nothing is inlined."""
        return connect(self.place, data_inlining_row_limit=0, **options)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows that DuckDB reads."""
        with self.duckdb() as connection:
            connection.execute("USE lake")
            return connection.execute(sql).fetchall()

    def catalog(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows of the catalog database itself."""
        with sqlite3.connect(f"{self.home}/lake.sqlite") as database:
            return database.execute(sql).fetchall()

    def column_stats(self, table: str) -> list[tuple[Any, ...]]:
        """Return the file statistics of a table, by column: (id, values, nulls, min, max, NaN)."""
        return self.catalog(
            "SELECT s.column_id, s.value_count, s.null_count, s.min_value, s.max_value, s.contains_nan "
            "FROM ducklake_file_column_stats s JOIN ducklake_table t USING (table_id) "
            f"WHERE t.table_name = '{table}' ORDER BY s.column_id, s.min_value"
        )


OPTIONS = WriteOptions()
