"""The log of a table: the snapshots that changed it, with the rows and files that each added and removed.

Specification: the table `ducklake_snapshot_changes`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, or_, select
from sqlalchemy.engine import Connection

from ...format.changes import CHANGES_OF_ROWS, MOVES, Kind
from ..store import tables as t
from .history import SnapshotRecord, snapshot_record
from .table_metrics import TableMetrics, read_table_metrics

_DELETES = frozenset({Kind.DELETED_FROM_TABLE, Kind.INLINED_DELETE})
_KINDS = CHANGES_OF_ROWS | MOVES | {Kind.DROPPED_TABLE, Kind.ALTERED_TABLE}
"""The kinds of logged changes that have a table's id. CREATED_TABLE has the table's name instead."""


@dataclass(frozen=True)
class TableLogEntry:
    """A snapshot that changed a table. A metric is None if the catalog does not have it; see `table_metrics`."""

    record: SnapshotRecord
    kinds: tuple[Kind, ...]
    """What it did to the table, without duplicates, in the order of `Kind`. A rename is CREATED_TABLE, as in the log of changes."""
    is_first: bool
    """Whether this snapshot created the table."""
    rows_inserted: int | None
    """An updated row counts as inserted and as deleted."""
    rows_deleted: int | None
    files_added: int | None
    files_removed: int | None
    bytes_added: int | None
    """Size of the data files that this snapshot added."""


def read_table_log(connection: Connection, table_id: int, until: int, limit: int | None = None) -> list[TableLogEntry]:
    """Return the snapshots that changed a table, newest first.

    Args:
        connection: a connection to the catalog database.
        table_id: the table.
        until: the last snapshot id, included.
        limit: the maximum number of snapshots; None for all.
    """
    first = first_snapshot(connection, table_id)
    named: set[int] = set(connection.scalars(select(t.table.c.begin_snapshot).where(t.table.c.table_id == table_id)))
    found: list[tuple[SnapshotRecord, tuple[Kind, ...]]] = []
    for row in connection.execute(_records(table_id, named, until)):
        if limit is not None and len(found) >= limit:
            break
        record = snapshot_record(row)
        kinds = {change.kind for change in record.changes if change.object_id == table_id and change.kind in _KINDS}
        if record.snapshot.snapshot_id in named:
            kinds.add(Kind.CREATED_TABLE)
        if kinds:
            found.append((record, tuple(kind for kind in Kind if kind in kinds)))
    metrics = read_table_metrics(connection, table_id, [record.snapshot.snapshot_id for record, _ in found])
    return [_entry(record, kinds, first, metrics) for record, kinds in found]


def first_snapshot(connection: Connection, table_id: int) -> int | None:
    """Return the snapshot at which a table was created, from its columns: a rename adds no row to `ducklake_column`."""
    begin: int | None = connection.scalar(select(func.min(t.column.c.begin_snapshot)).where(t.column.c.table_id == table_id))
    return begin


def creation_time(connection: Connection, table_id: int) -> datetime | None:
    """Return when a table was created; None if the snapshot has expired."""
    query = select(t.snapshot.c.snapshot_time).where(t.snapshot.c.snapshot_id == first_snapshot(connection, table_id))
    time: datetime | None = connection.scalar(query)
    return time


def _records(table_id: int, named: Collection[int], until: int) -> Select[Any]:
    """Return the query for the snapshots whose log may name the table.

    The query searches for a substring, and `:1` also matches table 12. So the caller checks the parsed changes.
    """
    key, log = t.snapshot.c.snapshot_id, t.snapshot_changes
    return (
        select(t.snapshot, *list(log.c)[1:])
        .join(log, log.c.snapshot_id == key)
        .where(key <= until, or_(log.c.changes_made.contains(f":{table_id}"), key.in_(named)))
        .order_by(key.desc())
    )


def _entry(record: SnapshotRecord, kinds: tuple[Kind, ...], first: int | None, metrics: TableMetrics) -> TableLogEntry:
    snapshot_id = record.snapshot.snapshot_id
    inserted: int | None = 0
    deleted: int | None = 0
    added, removed, size = metrics.files(snapshot_id)
    if not CHANGES_OF_ROWS.isdisjoint(kinds):
        inserted = metrics.inserted(snapshot_id)
        # Deletes of rows that the same snapshot adds are not logged, nor those of a clone.
        if not _DELETES.isdisjoint(kinds) or metrics.rows_deleted[snapshot_id]:
            deleted = metrics.deleted(snapshot_id)
    if Kind.MERGE_ADJACENT in kinds or Kind.INLINE_FLUSH in kinds:  # the files that these write begin at the snapshots of their rows
        added = removed = size = None
    return TableLogEntry(record, kinds, snapshot_id == first, inserted, deleted, added, removed, size)
