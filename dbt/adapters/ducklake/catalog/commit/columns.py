"""The rows of `ducklake_column` and `ducklake_column_tag` in a commit.

Specification: the page "ducklake_column". When a column changes, its old row ends and a new one begins with the same id. Columns are
ordered by `column_order` within their parent; it equals the id until a column is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sqlalchemy import delete, func, select, update

from ...format.objects import Column
from ...format.types import NESTED
from ..read.column_history import with_parents
from ..store import tables as t
from .state import CommitState

_Row = tuple[int | None, Column]
"""The stored values of a column except its snapshots and its order: the id of its parent, and the column without its fields and comment."""


def write_columns(state: CommitState, table_id: int, before: tuple[Column, ...], after: tuple[Column, ...]) -> bool:
    """End and add column rows, and return whether anything changed.

    Args:
        state: the attempt to commit.
        table_id: the id of the table in the catalog, not a staged one.
        before: the columns before the transaction; empty for a new table.
        after: the columns to store.
    """
    if before == after:
        return False
    old, new = ({column.column_id: (parent, column) for parent, column in _rows(columns)} for columns in (before, after))
    old_orders = _stored_orders(state, table_id) if old else {}
    orders = dict(_orders(after, old_orders))
    changed = {column_id for column_id, row in new.items() if old.get(column_id) != row or old_orders.get(column_id) != orders[column_id]}
    ended = [column_id for column_id in old if column_id in changed or column_id not in new]
    state.end(t.column, t.column.c.column_id, ended, t.column.c.table_id == table_id)
    for column_id, row in new.items():
        if column_id in changed:
            _add(state, table_id, row, orders[column_id])
    _reserve_orders(state, table_id, orders)
    if restored := [column_id for column_id in changed if old and column_id not in old]:
        _forget_table_stats(state, table_id, restored)  # bounds of a restored column may be of another type; new columns have none
    types = {column_id: (old[column_id][1].type, new[column_id][1].type) for column_id in changed & set(old)}
    retyped = [column_id for column_id, (old_type, new_type) in types.items() if old_type != new_type]
    if retyped:
        _forget_table_stats(state, table_id, retyped)
        _forget_float_bounds(state, table_id, [each for each in retyped if types[each] == ("float32", "float64")])
        state.new_file_id()  # DuckDB caches statistics by this counter, and fails on statistics of the old type
    return bool(ended or changed)


def write_interim_columns(state: CommitState, table_id: int, layouts: Iterable[tuple[Column, ...]], known: Iterable[Column]) -> None:
    """Write rows for interim columns, which staged files have, but the transaction changed or dropped afterwards. No snapshot sees them.

    Their ids must not be used again, and their names and types are needed to read these files.

    Args:
        state: the attempt.
        table_id: the table.
        layouts: the columns with which the files were written.
        known: the columns that have rows already.
    """
    stored = set(_layout(known))
    interim = {_identity(row): row for layout in layouts for row in _rows(layout)}
    for identity, row in interim.items():
        if identity not in stored:
            _add(state, table_id, row, row[1].column_id, end=state.snapshot_id)


def layout_changed(before: tuple[Column, ...], after: tuple[Column, ...]) -> bool:
    """Whether rows that are inlined by position would get other columns or types."""
    return _layout(before) != _layout(after)


def write_column_comments(state: CommitState, table_id: int, before: tuple[Column, ...], after: tuple[Column, ...]) -> None:
    """End and add column comments. A removed comment leaves a row with NULL, as in the reference implementation.

    Only the key `comment` is used, because DuckDB cannot load a table whose columns have tags with other keys.

    Args:
        state: the attempt to commit.
        table_id: the id of the table in the catalog, not a staged one.
        before: the columns before the transaction; empty for a new table.
        after: the columns with the comments to store.
    """
    old, new = _comments(before), _comments(after)
    changed = sorted(column_id for column_id in {*old, *new} if old.get(column_id) != new.get(column_id))
    tag = t.column_tag
    state.end(
        tag,
        tag.c.column_id,
        [column_id for column_id in changed if old.get(column_id) is not None],
        tag.c.table_id == table_id,
        tag.c.key == "comment",
    )
    for column_id in changed:
        if column_id in new and (new[column_id] is not None or old.get(column_id) is not None):
            state.add(
                tag,
                table_id=table_id,
                column_id=column_id,
                begin_snapshot=state.snapshot_id,
                key="comment",
                value=new[column_id],
            )


def _rows(columns: Iterable[Column]) -> Iterator[_Row]:
    for parent, column in with_parents(columns):
        yield parent, replace(column, children=(), comment=None, nullable=column.nullable or parent is not None)


def _identity(row: _Row) -> tuple[int | None, int, str, str]:
    parent, column = row
    return parent, column.column_id, column.name, column.type


def _layout(columns: Iterable[Column]) -> list[tuple[int | None, int, str, str]]:
    return [_identity(row) for row in with_parents(columns)]


def _orders(columns: Iterable[Column], stored: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield (column id, column_order): the stored order, or the id of a new column, increased where needed to be ascending."""
    last = -1
    for column in columns:
        last = max(stored.get(column.column_id, column.column_id), last + 1)
        yield column.column_id, last
        yield from _orders(column.children, stored)


def _reserve_orders(state: CommitState, table_id: int, orders: Mapping[int, int]) -> None:
    """If columns were moved, reserve the column id that equals the greatest order, so that a column added later comes last.

    DuckDB gives a new column the next free id and takes that id as its order too. A row that no snapshot sees reserves the id.
    """
    greatest = max(orders.values(), default=0)
    if greatest <= max(orders, default=0):
        return
    stored = state.connection.execute(select(func.max(t.column.c.column_id)).where(t.column.c.table_id == table_id)).scalar()
    if greatest > (stored or 0):
        _add(state, table_id, (None, Column(greatest, f"reserved_{greatest}", "int32")), greatest, end=state.snapshot_id)


def _stored_orders(state: CommitState, table_id: int) -> dict[int, int]:
    source = t.column
    query = select(source.c.column_id, source.c.column_order).where(source.c.table_id == table_id, source.c.end_snapshot.is_(None))
    return {row[0]: row[1] for row in state.connection.execute(query)}


def _comments(columns: Iterable[Column]) -> dict[int, str | None]:
    return {each.column_id: each.comment for column in columns for each in column.walk()}


def _add(state: CommitState, table_id: int, row: _Row, order: int, end: int | None = None) -> None:
    parent, column = row
    nested, default = column.type in NESTED, column.default
    state.add(
        t.column,
        column_id=column.column_id,
        begin_snapshot=state.snapshot_id,
        end_snapshot=end,
        table_id=table_id,
        column_order=order,
        column_name=column.name,
        column_type=column.type,
        initial_default=column.initial_default,
        default_value="NULL" if default is None else default.text,
        nulls_allowed=column.nullable,
        parent_column=parent,
        default_value_type=default.kind if default is not None else "" if nested else "literal",
        default_value_dialect="duckdb" if default is None else default.dialect,
    )


def _forget_table_stats(state: CommitState, table_id: int, column_ids: list[int]) -> None:
    """Delete a table's statistics of restored columns, and of columns whose old bounds may be too narrow in a new type."""
    stats = t.table_column_stats
    condition = (stats.c.table_id == table_id, stats.c.column_id.in_(column_ids))
    if state.connection.execute(delete(stats).where(*condition)).rowcount:
        state.new_file_id()  # DuckDB caches table statistics until this counter increases


def _forget_float_bounds(state: CommitState, table_id: int, column_ids: list[int]) -> None:
    """Remove the bounds of files in columns that become float64.

    DuckDB casts the text of a bound to the new type. The text is the shortest one that reads back as the same float32, such as `0.1`, which
    is less than the value.
    """
    if not column_ids:
        return
    stats = t.file_column_stats
    rows = update(stats).where(stats.c.table_id == table_id, stats.c.column_id.in_(column_ids))
    state.connection.execute(rows.values(min_value=None, max_value=None))
