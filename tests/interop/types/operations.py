"""The operations of the type matrix, each run once for all types in wide tables. The tests look up the result for their own type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from dbt.adapters.ducklake.session import LakeSession
from tests.interop.types.cases import (
    CASES,
    SHAPES,
    Case,
    canonical,
    column,
    duck_leaf,
    duck_shaped,
    duck_type,
    duck_value,
    our_type,
    spark_leaf,
    spark_shaped,
    spark_text,
    spark_value,
)

Key = tuple[str, str]
Read = dict[Key, "list[Any] | Exception"]
"""Maps (stored type, shape) to the values in the order of rows, or to the reason why they could not be read."""


class Operations:
    """Both sides of one lake on which all operations run."""

    def __init__(self, session: LakeSession, duck: duckdb.DuckDBPyConnection, directory: Path) -> None:
        self.session = session
        self.duck = duck
        self.directory = directory
        self.errors: dict[tuple[str, str, str], Exception] = {}
        """Maps (operation, stored type, shape) to the reason why values could not be written."""

    def shapes(self, case: Case) -> tuple[str, ...]:
        """Return the shapes of a type that we can write; the files of an encrypted lake come from DuckDB, which writes no nested variants."""
        return SHAPES if case.nested_in_duckdb_files or not self.session.catalog.encrypted else ("column",)

    # -- reading ---------------------------------------------------------------------------------------------------------------

    def theirs(self, table: str, columns: Sequence[tuple[Case, str]], where: str = "true") -> Read:
        """Return what DuckDB reads."""
        return each(columns, lambda some: self._read(self._duck_rows, table, some, duck_leaf, where))

    def ours(self, table: str, columns: Sequence[tuple[Case, str]], where: str = "true") -> Read:
        """Return what we read."""
        return each(columns, lambda some: self._read(self._our_rows, table, some, spark_leaf, where))

    def _duck_rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.duck.execute(query).fetchall()

    def _our_rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.session.execute(query).fetch()

    def _read(self, rows: Any, table: str, columns: Sequence[tuple[Case, str]], leaf: Any, where: str) -> Read:
        texts = ", ".join(f"{leaf(case, shape, column(case, shape))} AS v{i}" for i, (case, shape) in enumerate(columns))
        found = rows(f"SELECT id, {texts} FROM {table} WHERE {where} ORDER BY id")
        return {(case.stored, shape): [canonical(case, row[i]) for row in found] for i, (case, shape) in enumerate(columns, 1)}

    def truth(self, case: Case, values: Sequence[str | None]) -> list[Any]:
        """Return the values as DuckDB represents them without a lake."""
        if not values:
            return []
        parts = [f"SELECT {i} AS id, {duck_value(case, value)} AS x" for i, value in enumerate(values)]
        query = f"SELECT {duck_leaf(case, 'column', 'x')} FROM ({' UNION ALL '.join(parts)}) ORDER BY id"
        return [canonical(case, row[0]) for row in self.duck.execute(query).fetchall()]

    # -- writing ---------------------------------------------------------------------------------------------------------------

    def duck_table(self, table: str, columns: Sequence[tuple[Case, str]], values: Callable[[Case], Sequence[str]], limit: int) -> None:
        """Create and fill a table with DuckDB: one row per value, then one of NULLs in the containers and one of NULL containers."""
        defined = ", ".join(f"{column(case, shape)} {duck_type(case, shape)}" for case, shape in columns)
        self.duck.execute(f"CREATE TABLE {table} (id INTEGER, k INTEGER, {defined})")
        self.duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => '{table}')")
        rows = []
        for number in range(height(values)):
            cells = [str(number), "0"]
            for case, shape in columns:
                value = value_at(values(case), number)
                cells.append("NULL" if value is MISSING else duck_shaped(shape, duck_value(case, value)))
            rows.append(f"({', '.join(cells)})")
        self.duck.execute(f"INSERT INTO {table} VALUES {', '.join(rows)}")

    def our_table(self, table: str, columns: Sequence[tuple[Case, str]]) -> None:
        """Create an empty table on our side."""
        defined = ", ".join(f"{column(case, shape)} {our_type(case, shape)}" for case, shape in columns)
        self.session.execute(f"CREATE TABLE {table} (id INT, k INT, {defined})")

    @cached_property
    def texts(self) -> str:
        """Create a lake table of Spark's texts for every value: one column per type, one row per value."""
        defined = ", ".join(f"t_{case.name} VARCHAR" for case in CASES)
        self.duck.execute(f"CREATE TABLE texts (id INTEGER, {defined})")
        rows = []
        for number in range(height(lambda case: case.ordinary)):
            cells = [str(number)]
            for case in CASES:
                value = value_at(case.ordinary, number)
                text = value if value is None or value is MISSING else self.text_of(case, value)
                cells.append("NULL" if text is None or text is MISSING else "'" + str(text).replace("'", "''") + "'")
            rows.append(f"({', '.join(cells)})")
        self.duck.execute(f"INSERT INTO texts VALUES {', '.join(rows)}")
        return "texts"

    def text_of(self, case: Case, value: str) -> str:
        """Return the value as a text for `spark_value`."""
        if case.kind == "bytes":
            return str(self.duck.execute(f"SELECT {duck_leaf(case, 'column', duck_value(case, value))}").fetchall()[0][0])
        return spark_text(case, value)

    def insert(self, operation: str, table: str, columns: Sequence[tuple[Case, str]]) -> None:
        """Run our INSERT … SELECT of all values, with rows as in `duck_table`. A type that cannot be written is left out and recorded."""

        def cell(case: Case, shape: str) -> str:
            shaped = spark_shaped(shape, spark_value(case, f"t_{case.name}"))
            return shaped if shape == "column" else f"CASE WHEN id <= {len(case.ordinary)} THEN {shaped} END"

        def run(some: Sequence[tuple[Case, str]]) -> Read:
            names = ", ".join(column(case, shape) for case, shape in some)
            cells = ", ".join(cell(case, shape) for case, shape in some)
            self.session.execute(f"INSERT INTO {table} (id, k, {names}) SELECT id, 0, {cells} FROM {self.texts}")
            return {(case.stored, shape): [] for case, shape in some}

        done = each(columns, run)
        self.errors |= {(operation, *key): outcome for key, outcome in done.items() if isinstance(outcome, Exception)}


MISSING: Any = object()


def value_at(values: Sequence[str], number: int) -> Any:
    """Return the value in row `number`: the values, then NULL, then a NULL container."""
    return values[number] if number < len(values) else None if number == len(values) else MISSING


def height(values: Callable[[Case], Sequence[str]]) -> int:
    """Return the number of rows of a wide table."""
    return max(len(values(case)) for case in CASES) + 2


def grid(cases: Sequence[Case] = CASES, shapes: Sequence[str] = SHAPES) -> list[tuple[Case, str]]:
    """Return all columns of a wide table."""
    return [(case, shape) for case in cases for shape in shapes]


def expected(truth: Sequence[Any], rows: int) -> list[Any]:
    """Return the expected content of a column: the values, and NULL in the rows after them."""
    return [*truth, *[None] * (rows - len(truth))]


def each(columns: Sequence[Any], run: Callable[[Sequence[Any]], dict[Any, Any]], key: Callable[[Any], Any] | None = None) -> dict[Any, Any]:
    """Run all columns at once. If that fails, run halves, down to the one that fails. Its error is recorded under `key`."""
    try:
        return run(columns)
    except Exception as error:
        if len(columns) == 1:
            (only,) = columns
            return {key(only) if key else (only[0].stored, only[1]): error}
    middle = len(columns) // 2
    return each(columns[:middle], run, key) | each(columns[middle:], run, key)


def seed_value(case: Case, value: str | None) -> Any:
    """Return a value as the rows of a seed contain it: text, but bytes for blobs."""
    if value is None or case.stored != "blob":
        return value
    return re.sub(rb"\\x(..)", lambda match: bytes.fromhex(match[1].decode()), value.encode())


def seed_rows(cases: Sequence[Case], values: Callable[[Case], Sequence[str]]) -> list[tuple[Any, ...]]:
    """Return the rows of a seed: their number, then a value of each type, or NULL if it has no more. The last row contains only NULLs."""
    rows = max(len(values(case)) for case in cases) + 1
    return [(row, *(seed_value(c, values(c)[row]) if row < len(values(c)) else None for c in cases)) for row in range(rows)]


def default_columns(cases: Sequence[Case]) -> list[tuple[Case, int, str]]:
    """Return a column for every value of every type, with the value as its default."""
    return [(case, number, f"d{number}_{case.name}") for case in cases for number in range(len(case.ordinary))]


def add_default(case: Case, number: int, side: str) -> str:
    """Return the part of ALTER TABLE that adds such a column, in the SQL of `duckdb` or `ours`."""
    value, name = case.ordinary[number], f"d{number}_{case.name}"
    quoted = value.replace("'", "''") if side == "duckdb" else value.replace("\\", "\\\\").replace("'", "\\'")
    return f"ADD COLUMN {name} {case.duck if side == 'duckdb' else case.written} DEFAULT '{quoted}'"


def read_defaults(cases: Sequence[Case], table: str, leaf: Any, rows: Any) -> dict[str, Any]:
    """Return the values of each type's columns in rows that are older than the columns."""

    def read(some: Sequence[Case]) -> dict[Any, Any]:
        columns = default_columns(some)
        texts = ", ".join(leaf(case, "column", name) for case, _, name in columns)
        (only,) = {tuple(row) for row in rows(f"SELECT {texts} FROM {table}")}
        found: dict[Any, Any] = {case.stored: [] for case in some}
        for (case, _, _), text in zip(columns, only, strict=True):
            found[case.stored].append(canonical(case, text))
        return found

    return each(cases, read, lambda case: case.stored)


def key_cases() -> list[Case]:
    """Return the types that a table can be partitioned by and that DuckDB can write to files."""
    return [case for case in CASES if case.is_key and case.in_duckdb_files]


def key_values(case: Case) -> tuple[str, ...]:
    """Return values that can be names of directories. DuckDB does not partition by blobs that are not UTF-8."""
    return tuple(value for value in case.in_files if len(value) < 60 and not (case.stored == "blob" and "\\" in value))


def partition_values(duck: duckdb.DuckDBPyConnection, table: str) -> dict[str, dict[tuple[int, str], str | None]]:
    """Return the partition value of each row's file by key column, and by row id and transform. The table has one row per file."""
    meta = "__ducklake_metadata_lake"
    query = f"""
        SELECT c.column_name, CAST(s.min_value AS INTEGER), p.transform, v.partition_value
        FROM {meta}.ducklake_table t
        JOIN {meta}.ducklake_partition_column p USING (table_id) JOIN {meta}.ducklake_column c USING (table_id, column_id)
        JOIN {meta}.ducklake_file_partition_value v USING (table_id, partition_key_index)
        JOIN {meta}.ducklake_file_column_stats s ON s.data_file_id = v.data_file_id
        JOIN {meta}.ducklake_column i ON i.table_id = t.table_id AND i.column_id = s.column_id AND i.column_name = 'id'
        WHERE t.table_name = '{table}' AND c.end_snapshot IS NULL"""
    found: dict[str, dict[tuple[int, str], str | None]] = {}
    for name, number, transform, value in duck.execute(query).fetchall():
        found.setdefault(name, {})[number, transform] = value
    return found


def file_statistics(duck: duckdb.DuckDBPyConnection, table: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the catalog's statistics of each leaf (column and path) in each file, ordered by the file's first id, without sizes."""
    meta = "__ducklake_metadata_lake"
    query = f"""
        SELECT coalesce(b.column_name || '.', '') || coalesce(a.column_name || '.', '') || c.column_name, s.value_count, s.null_count,
               s.min_value, s.max_value, s.contains_nan, s.extra_stats
        FROM {meta}.ducklake_table t JOIN {meta}.ducklake_column c USING (table_id)
        LEFT JOIN {meta}.ducklake_column a ON a.table_id = c.table_id AND a.column_id = c.parent_column
        LEFT JOIN {meta}.ducklake_column b ON b.table_id = c.table_id AND b.column_id = a.parent_column
        JOIN {meta}.ducklake_file_column_stats s ON s.table_id = c.table_id AND s.column_id = c.column_id
        WHERE t.table_name = '{table}' AND c.end_snapshot IS NULL ORDER BY s.data_file_id"""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, *facts in duck.execute(query).fetchall():
        found.setdefault(name, []).append(tuple(facts))
    return found
