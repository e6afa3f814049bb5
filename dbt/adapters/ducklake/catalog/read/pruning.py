"""Find the files of a table that a scan can leave out: read their statistics and partition values and apply `format/pruning.py`.

Specification: "Queries", and the tables `ducklake_file_column_stats`, `ducklake_partition_column`, `ducklake_file_partition_value`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.engine import Connection

from ...format.files import ColumnFilter, Filters
from ...format.objects import Column, Table
from ...format.pruning import KeyValue, excluded, excluded_by_partition
from ..store import tables as t
from .file_rows import column_stats


def prune(
    connection: Connection, table: Table, files: Sequence[Any], which: ColumnElement[bool], retyped: Collection[int], within: Filters
) -> list[Any]:
    """Return the files that may have a row that passes every filter of `within`.

    Args:
        connection: the connection to the catalog database.
        table: the table.
        files: the rows of `ducklake_data_file` to choose from.
        which: the condition that selects exactly these rows.
        retyped: ids of columns whose type has changed.
        within: the filters.
    """
    if callable(within):
        within = within() if len(files) > 1 else ()
    columns = {leaf.column_id: leaf for column in table.columns for leaf in column.walk()}
    filters: dict[int, list[ColumnFilter]] = defaultdict(list)
    for each in within:
        if each.column_id in columns:
            filters[each.column_id].append(each)
    if not filters or not files:
        return list(files)
    pruned = _by_statistics(connection, table.table_id, which, columns, filters)
    pruned |= _by_partition(connection, table.table_id, files, columns, filters, retyped)
    return [row for row in files if row.data_file_id not in pruned]


def _by_statistics(
    connection: Connection,
    table_id: int,
    which: ColumnElement[bool],
    columns: Mapping[int, Column],
    filters: Mapping[int, list[ColumnFilter]],
) -> set[int]:
    source, data = t.file_column_stats, t.data_file
    wanted = and_(data.c.data_file_id == source.c.data_file_id, data.c.table_id == table_id, which)
    query = select(source).select_from(source.join(data, wanted)).where(source.c.table_id == table_id, source.c.column_id.in_(filters))
    return {
        row.data_file_id
        for row in connection.execute(query)
        if any(excluded(each, column_stats(row), columns[row.column_id].type) for each in filters[row.column_id])
    }


def _by_partition(
    connection: Connection,
    table_id: int,
    files: Sequence[Any],
    columns: Mapping[int, Column],
    filters: Mapping[int, list[ColumnFilter]],
    retyped: Collection[int],
) -> set[int]:
    specs = _specs(connection, table_id)
    spec_of = {row.data_file_id: specs[row.partition_id] for row in files if row.partition_id in specs}
    if not any(column_id in filters for spec in spec_of.values() for column_id, _ in spec.values()):
        return set()
    source = t.file_partition_value
    keys: dict[int, list[KeyValue]] = defaultdict(list)
    for row in connection.execute(select(source).where(source.c.table_id == table_id)):
        key = spec_of.get(row.data_file_id, {}).get(row.partition_key_index)
        if key is not None:
            keys[row.data_file_id].append(KeyValue(*key, row.partition_value))
    return {
        file_id
        for file_id, values in keys.items()
        if any(
            excluded_by_partition(each, values, columns[column_id].type, retyped=column_id in retyped)
            for column_id, wanted in filters.items()
            for each in wanted
        )
    }


def _specs(connection: Connection, table_id: int) -> dict[int, dict[int, tuple[int, str]]]:
    """Return every partition spec that the table ever had: partition id → key index → (column id, transform)."""
    source = t.partition_column
    specs: dict[int, dict[int, tuple[int, str]]] = defaultdict(dict)
    for row in connection.execute(select(source).where(source.c.table_id == table_id)):
        specs[row.partition_id][row.partition_key_index] = row.column_id, row.transform
    return dict(specs)
