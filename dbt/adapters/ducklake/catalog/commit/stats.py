"""Table statistics in a commit: bounds only widen, and bounds that could be too narrow are left out.

Specification: the pages "ducklake_table_stats" and "ducklake_table_column_stats". Counts are gross: deletes never lower them. Only
`next_row_id` must be exact. DuckDB answers min() and max() from the bounds and uses them to skip tables. It treats NULL bounds as
"no value yet", and its next insert then stores only its own bounds. So if the bounds are unknown, we write no row: DuckDB updates only
existing rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from sqlalchemy import delete, func, select

from ...format.files import ColumnStats, WrittenFile
from ...format.leaf_types import leaf_type
from ...format.objects import Column, Table
from ...format.statistics import merge_stats
from ..read.row_state import TableStats
from ..staged import RowChanges
from ..store import tables as t
from .state import CommitState


def write_table_stats(state: CommitState, table: Table, stats: TableStats, changes: RowChanges) -> None:
    """Add the staged files and inlined rows to the counts and widen the bounds.

    Args:
        state: the attempt to commit.
        table: the table, with its id in the catalog.
        stats: the statistics without these changes.
        changes: the files, the inlined rows and the number of row ids that they reserve; deletes are not used.
    """
    files = [staged.file for staged in changes.files]
    rows = sum(file.record_count for file in files) + sum(len(staged.rows) for staged in changes.inlined)
    if stats.exists:
        state.connection.execute(delete(t.table_stats).where(t.table_stats.c.table_id == table.table_id))
    state.add(
        t.table_stats,
        table_id=table.table_id,
        record_count=stats.record_count + rows,
        next_row_id=stats.next_row_id + changes.reserved_row_ids,
        file_size_bytes=stats.size_bytes + sum(file.size_bytes for file in files),
    )
    leaves = {leaf.column_id: leaf for column in table.columns for leaf in column.walk() if not leaf.children}
    written = [*(file.column_stats for file in files), *(staged.column_stats for staged in changes.inlined)]
    stats_by_id = [{each.column_id: each for each in column_stats} for column_stats in written]
    added = {
        column_id: reduce(
            lambda left, right, leaf=leaf: merge_stats(leaf.type, left, right),  # type: ignore[misc]
            (each.get(column_id, ColumnStats(column_id)) for each in stats_by_id),
        )
        for column_id, leaf in leaves.items()
    }
    _write_columns(state, table, leaves, added, stats, replaces_all=changes.truncated)


def without_retyped_bounds(table: Table, changes: RowChanges) -> RowChanges:
    """Return the changes without the bounds of columns whose type the transaction changed after it wrote the rows.

    Read as the new type, they may be too narrow: the shortest text of a float32 is not its exact value.
    """
    types = {leaf.column_id: leaf.type for leaf in _walk(table)}

    def without_retyped(written: Iterable[ColumnStats], columns: Iterable[Column]) -> tuple[ColumnStats, ...]:
        retyped = {leaf.column_id for column in columns for leaf in column.walk() if types.get(leaf.column_id, leaf.type) != leaf.type}
        return tuple(_without_bounds(each) if each.column_id in retyped else each for each in written)

    files = tuple(
        replace(staged, file=replace(staged.file, column_stats=without_retyped(staged.file.column_stats, staged.columns)))
        for staged in changes.files
    )
    inlined = tuple(replace(staged, column_stats=without_retyped(staged.column_stats, staged.columns)) for staged in changes.inlined)
    return replace(changes, files=files, inlined=inlined)


def double_columns(state: CommitState, table: Table) -> frozenset[int]:
    """Return the ids of the columns that are float64, including those that a concurrent writer changed to it.

    A file in which such a column is float32 gets no bounds for it. DuckDB casts the text of a bound to the new type, and the shortest text
    of a float32 is not its exact value.
    """
    source = t.column
    live_doubles = (source.c.table_id == table.table_id, source.c.end_snapshot.is_(None), func.lower(source.c.column_type) == "float64")
    committed: Iterable[int] = state.connection.execute(select(source.c.column_id).where(*live_doubles)).scalars()
    return frozenset({leaf.column_id for leaf in _walk(table) if leaf.type == "float64"} | set(committed))


def float_columns(columns: Iterable[Column]) -> frozenset[int]:
    """Return the ids of the columns and nested fields that are float32."""
    return frozenset(leaf.column_id for column in columns for leaf in column.walk() if leaf.type == "float32")


def earlier_float_columns(state: CommitState, *table_ids: int) -> frozenset[int]:
    """Return the ids of the columns that are or once were float32 in these tables."""
    source = t.column
    query = select(source.c.column_id).where(source.c.table_id.in_(table_ids), func.lower(source.c.column_type) == "float32")
    return frozenset(state.connection.execute(query).scalars())


def with_rounding(file: WrittenFile, columns: Iterable[Column], exact: Collection[int]) -> WrittenFile:
    """Mark bounds of a registered file that may be rounded: those of timestamps in an added file. The catalog does not record this.

    Args:
        file: the file, with the statistics that the catalog has.
        columns: the columns of its table.
        exact: the ids of columns whose bounds are exact in all files of the table.
    """
    if file.mapping is None:
        return file
    leaves = (leaf for column in columns for leaf in column.walk())
    rounded = {leaf.column_id for leaf in leaves if leaf_type(leaf.type).is_timestamp} - set(exact)
    return replace(file, column_stats=tuple(replace(each, is_rounded=each.column_id in rounded) for each in file.column_stats))


def columns_with_bounds(state: CommitState, table_id: int) -> frozenset[int]:
    """Return the ids of the columns for which the statistics of a table have bounds."""
    source = t.table_column_stats.c
    query = select(source.column_id).where(source.table_id == table_id, source.min_value.is_not(None), source.max_value.is_not(None))
    return frozenset(state.connection.execute(query).scalars())


def without_bounds_of(file: WrittenFile, column_ids: frozenset[int]) -> WrittenFile:
    """Return a file without the bounds of these columns."""
    stats = (_without_bounds(each) if each.column_id in column_ids else each for each in file.column_stats)
    return replace(file, column_stats=tuple(stats)) if column_ids else file


def _without_bounds(stats: ColumnStats) -> ColumnStats:
    """Return statistics that keep their counts and prove nothing about the values."""
    return replace(stats, min_value=None, max_value=None, extra_stats=None)


def _write_columns(
    state: CommitState,
    table: Table,
    leaves: dict[int, Column],
    added: dict[int, ColumnStats],
    stats: TableStats,
    *,
    replaces_all: bool,
) -> None:
    """Merge the statistics of the added rows into the stored ones, and remove those whose bounds are unknown."""
    source = t.table_column_stats
    rows = state.connection.execute(select(source).where(source.c.table_id == table.table_id)).all() if stats.exists else []
    stored = {row.column_id: row for row in rows}
    new_columns = _new_columns(state, table) if replaces_all else set()
    replaced = []
    for column_id, leaf in leaves.items():
        before = _before(stored.get(column_id), leaf, stats, without_rows=column_id in new_columns)
        if column_id in stored:
            replaced.append(column_id)
        if before is None:
            continue
        merged = merge_stats(leaf.type, before, added[column_id])
        if _has_storable_bounds(leaf.type, merged):
            _add(state, table.table_id, merged)
    state.remove(source, source.c.column_id, replaced, source.c.table_id == table.table_id)


def _before(row: Any, leaf: Column, stats: TableStats, *, without_rows: bool) -> ColumnStats | None:
    """Return the statistics of a column's existing rows; None if they are unknown.

    A column that is added to a table with rows has none. DuckDB stores none for it either, and would apply them to all rows of the table.

    Args:
        row: the stored statistics, or None.
        leaf: the column.
        stats: the statistics of the table.
        without_rows: whether the commit adds the column and ends all existing rows.
    """
    if row is not None:
        properties = leaf_type(leaf.type)
        bounds_known = row.extra_stats is not None if properties.extra_stats else row.min_value is not None and row.max_value is not None
        # the catalog stores no counts, and only whether a count is zero matters
        nulls = 1 if row.contains_null or row.contains_null is None else 0
        if not bounds_known and not properties.has_only_counts:
            return None
        return ColumnStats(leaf.column_id, None, 1, nulls, row.min_value, row.max_value, row.contains_nan, row.extra_stats)
    if not stats.exists or stats.record_count == 0 or without_rows:
        return ColumnStats(leaf.column_id, 0, 0, 0, contains_nan=False)
    return None


def _has_storable_bounds(type_name: str, stats: ColumnStats) -> bool:
    """Whether the bounds can be stored: both are known, or there are no values.

    Geometries and variants need `extra_stats` instead: the extent, or the bounds of the shredded parts.
    """
    leaf = leaf_type(type_name)
    if leaf.has_only_counts:
        return stats.null_count is not None
    if leaf.extra_stats:
        return stats.extra_stats is not None
    if not leaf.has_bounds or stats.is_rounded:
        return False
    return stats.value_count == 0 or (stats.min_value is not None and stats.max_value is not None)


def _new_columns(state: CommitState, table: Table) -> set[int]:
    """Return the ids of the columns that this commit adds to a table that exists."""
    before = state.base.by_id(table.table_id)
    if not isinstance(before, Table):
        return set()
    return {column.column_id for column in _walk(table) if column.column_id >= before.next_column_id}


def _walk(table: Table) -> Iterable[Column]:
    """Return the columns of a table with all their nested fields."""
    return (each for column in table.columns for each in column.walk())


def _add(state: CommitState, table_id: int, merged: ColumnStats) -> None:
    contains_null = None if merged.null_count is None else merged.null_count > 0
    state.add(
        t.table_column_stats,
        table_id=table_id,
        column_id=merged.column_id,
        contains_null=contains_null,
        contains_nan=merged.contains_nan,
        min_value=merged.min_value,
        max_value=merged.max_value,
        extra_stats=merged.extra_stats,
    )
