"""Whether concurrent writers changed rows in the read set of a transaction.

A data file is tested by its statistics and partition values, as in a scan: it matters if it may contain a row that passes one of the
conditions. An inlined row is tested by its values. New files are recognized by their ids, which only increase; snapshot ids do not work,
because moved rows keep their old ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, or_, select

from ...format.files import Condition
from ...format.objects import Column, Table
from ...format.pruning import excluded
from ...format.row_statistics import stats_of_rows
from ..read.column_history import TableHistory, inlined_tables, read_history
from ..read.pruning import prune
from ..store import tables as t
from ..store.inlined import find_delete_table, read_changed
from .state import CommitState


def concurrent_change(state: CommitState, table: Table, conditions: Sequence[Condition]) -> str | None:
    """Return how a concurrent writer may have changed a row that passes one of the conditions.

    Returns:
        "inserted" or "deleted"; None if certainly no such row changed.
    """
    history = read_history(state.connection, table.table_id)
    retyped = history.retyped(table.columns)
    for change, clause in (("inserted", _is_new(state)), ("deleted", _has_lost_rows(state, table.table_id))):
        files = state.connection.execute(select(t.data_file).where(t.data_file.c.table_id == table.table_id, clause)).all()
        if any(prune(state.connection, table, files, clause, retyped, condition) for condition in conditions):
            return change
    for change, columns, row in _changed_inlined_rows(state, table, history):
        if any(_may_pass(row, columns, table, condition) for condition in conditions):
            return change
    return None


def _is_new(state: CommitState) -> ColumnElement[bool]:
    """Return the condition for files that were added since the transaction began."""
    return t.data_file.c.data_file_id >= state.base.snapshot.next_file_id


def _has_lost_rows(state: CommitState, table_id: int) -> ColumnElement[bool]:
    """Return the condition for older files that have ended or got deletes, inlined or not, since the transaction began."""
    start, data, delete = state.base.snapshot, t.data_file, t.delete_file
    with_new_delete_file: Select[Any] = select(delete.c.data_file_id).where(
        delete.c.table_id == table_id, delete.c.delete_file_id >= start.next_file_id
    )
    lost = [data.c.end_snapshot > start.snapshot_id, data.c.data_file_id.in_(with_new_delete_file)]
    entries = find_delete_table(state.connection, table_id)
    if entries is not None:
        lost.append(data.c.data_file_id.in_(select(entries.c.file_id).where(entries.c.begin_snapshot > start.snapshot_id)))
    return and_(data.c.data_file_id < start.next_file_id, or_(*lost))


def _changed_inlined_rows(
    state: CommitState, table: Table, history: TableHistory
) -> Iterator[tuple[str, Sequence[Column], tuple[Any, ...]]]:
    """Yield ("inserted" or "deleted", columns, values) of the inlined rows that began or ended since the transaction began."""
    start = state.base.snapshot.snapshot_id
    for inlined in inlined_tables(state.connection, table.table_id, history):
        for begin, values in read_changed(state.connection, inlined, start):
            yield ("inserted" if begin > start else "deleted"), inlined.columns, values


def _may_pass(row: tuple[Any, ...], columns: Sequence[Column], table: Table, condition: Condition) -> bool:
    """Whether a row may pass the condition; columns that the row lacks, or has in another type, are ignored."""
    types = {leaf.column_id: leaf.type for column in table.columns for leaf in column.walk()}
    stored = {leaf.column_id: leaf.type for column in columns for leaf in column.walk()}
    stats = {each.column_id: each for each in stats_of_rows(columns, [row])}
    return not any(
        each.column_id in stats
        and types.get(each.column_id) == stored[each.column_id]
        and excluded(each, stats[each.column_id], stored[each.column_id])
        for each in condition
    )
