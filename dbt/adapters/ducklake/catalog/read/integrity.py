"""Find catalog rows with which DuckDB fails or answers wrongly. Earlier versions of dbt-ducklake wrote some, and other programs may.

Specification: the pages "ducklake_table_column_stats" and "ducklake_column". DuckDB answers min, max and IS NULL from the statistics of a
table, and casts the initial default of every column when it attaches the lake. The statistics of files are streamed, and only those
whose text differs from the table's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import and_, literal, or_, select
from sqlalchemy.engine import Connection, Row

from ...format.default_texts import readable_default
from ...format.identifiers import backquoted, duckdb_literal
from ...format.leaf_types import leaf_type
from ...format.objects import Column, Table
from ...format.statistics import exceeds
from ..store import tables as t

_BATCH_ROWS = 10_000


def faults_of_defaults(connection: Connection, tables: Iterable[Table]) -> Iterator[str]:
    """Yield the defaults that DuckDB cannot read, and how to repair each.

    Args:
        connection: a reading transaction.
        tables: the tables of the newest snapshot.
    """
    source = _sql_name(connection, t.column.name)
    for table, column in _columns(tables):
        name = f"{column.name} of {table.schema_name}.{table.name}"
        text, default = column.initial_default, column.default
        readable = text if text is None else readable_default(column.type, text)
        if readable != text:
            row = f"table_id = {table.table_id} AND column_id = {column.column_id} AND end_snapshot IS NULL"
            repair = (
                f"find out which value is right, and in the catalog database set {source}.initial_default where {row} "
                f"to a text that DuckDB casts to {column.type}"
                if readable is None
                else f"run in the catalog database: UPDATE {source} SET initial_default = {duckdb_literal(readable)} WHERE {row}"
            )
            yield f"DuckDB cannot attach the lake, because it cannot read {text!r}, the default of column {name} in older rows; {repair}"
        if default is None:
            continue
        is_literal = default.kind == "literal"
        if default.dialect == "spark" if not is_literal else readable_default(column.type, default.text) != default.text:
            yield (
                f"DuckDB cannot evaluate the default {default.text!r} of column {name}. If the text is not valid SQL of DuckDB, DuckDB "
                f"cannot attach the lake either; run: ALTER TABLE {backquoted(table.schema_name)}.{backquoted(table.name)} "
                f"ALTER COLUMN {backquoted(column.name)} DROP DEFAULT, or SET DEFAULT with a literal"
            )


def faults_of_statistics(connection: Connection, tables: Sequence[Table], snapshot_id: int) -> Iterator[str]:
    """Yield the tables with statistics that do not cover those of their live files, and how to repair them.

    Args:
        connection: a reading transaction.
        tables: the tables of the newest snapshot.
        snapshot_id: the id of the newest snapshot.
    """
    columns = {(table.table_id, column.column_id): column for table, column in _columns(tables)}
    found: dict[int, set[int]] = defaultdict(set)
    for table_id, column_id in _uncovered(connection, columns, snapshot_id):
        found[table_id].add(column_id)
    for table in tables:
        ids = sorted(found.get(table.table_id, ()))
        if ids:
            names = ", ".join(columns[table.table_id, column_id].name for column_id in ids)
            yield (
                f"the statistics of {table.schema_name}.{table.name} do not cover all its files, so that DuckDB answers queries of {names} "
                "wrongly, now or after its next insert; run in the catalog database: "
                f"DELETE FROM {_sql_name(connection, t.table_column_stats.name)} "
                f"WHERE table_id = {table.table_id} AND column_id IN ({', '.join(map(str, ids))}), and let DuckDB attach the lake again: "
                "it reads the files then"
            )


def _uncovered(connection: Connection, columns: Mapping[tuple[int, int], Column], snapshot_id: int) -> Iterator[tuple[int, int]]:
    """Yield (table id, column id) for each file whose values or NULLs the statistics of its table exclude."""
    of_file, of_table, data = t.file_column_stats.c, t.table_column_stats.c, t.data_file.c
    has_nulls = and_(of_file.null_count > 0, of_table.contains_null == literal(False, t.Boolean()))
    differ = or_(of_file.min_value != of_table.min_value, of_file.max_value != of_table.max_value)
    unbounded = and_(of_table.min_value.is_(None), of_table.max_value.is_(None))
    lack = and_(unbounded, or_(of_file.min_value.is_not(None), of_file.max_value.is_not(None)))
    query = (
        select(
            *(of_file.table_id, of_file.column_id, has_nulls.label("has_nulls"), of_file.min_value, of_file.max_value),
            *(of_table.min_value.label("least"), of_table.max_value.label("greatest"), of_table.contains_nan),
        )
        .join(t.data_file, data.data_file_id == of_file.data_file_id)
        .join(t.table_column_stats, and_(of_table.table_id == of_file.table_id, of_table.column_id == of_file.column_id))
        .where(t.visible(t.data_file, snapshot_id), or_(has_nulls, differ, lack))
    )
    for row in connection.execute(query.execution_options(yield_per=_BATCH_ROWS)):
        column = columns.get((row.table_id, row.column_id))
        if column is None or column.children:
            continue
        if row.has_nulls or _excludes_values(column.type, row):
            yield row.table_id, row.column_id


def _excludes_values(type_name: str, row: Row[Any]) -> bool:
    """Whether the bounds of a table, as DuckDB uses them, exclude values of a file."""
    leaf = leaf_type(type_name)
    if leaf.is_float and row.contains_nan is not False:  # DuckDB uses no such bounds until a rewrite recomputes them
        return False
    # DuckDB takes a table without bounds for one without values: its next insert stores only the bounds of the new rows.
    if row.least is None and row.greatest is None and leaf.has_bounds and not leaf.has_only_counts:
        return True
    return exceeds(type_name, (row.min_value, row.max_value), (row.least, row.greatest))


def _columns(tables: Iterable[Table]) -> Iterator[tuple[Table, Column]]:
    return ((table, column) for table in tables for top in table.columns for column in top.walk())


def _sql_name(connection: Connection, name: str) -> str:
    """Return the name of a metadata table as SQL of the catalog database."""
    quote = connection.dialect.identifier_preparer.quote
    schema = t.schema_of(connection)
    return name if schema is None else f"{quote(schema)}.{name}"
