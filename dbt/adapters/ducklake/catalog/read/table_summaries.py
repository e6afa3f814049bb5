"""Summaries of tables as users see them: rows, files, bytes, and the snapshot that last changed the rows.

`ducklake_table_stats` counts deleted rows too, so this module counts from the files, their deletes and the inlined rows instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, case, func, inspect, or_, select
from sqlalchemy.engine import Connection

from ...format.changes import CHANGES_OF_ROWS, Kind, parse_changes
from ..store import tables as t
from ..store.database import BATCH_SIZE, rows_with_ids
from ..store.inlined import all_registered, count_deletes, count_rows, delete_table_name

_REWRITE_WORDS = ("rewrite_", "compacted_table")
"""Parts of the logged names of a rewrite; the second is that of older versions of DuckDB's extension."""


@dataclass(frozen=True)
class TableSummary:
    """The sizes and the last change of one table at one snapshot."""

    record_count: int
    """How many rows a query returns. For an older snapshot this is only an estimate: a merged or flushed file counts with its rows of later
    snapshots, and a delete file with its later deletes."""
    file_count: int
    """The number of data files."""
    size_bytes: int
    """The size of the data files."""
    last_snapshot_id: int | None
    """The snapshot that last changed rows, compactions excluded; after a flush it may be an earlier one, as a delete file need not have the
    snapshot of its last delete. None if the catalog has no trace of one: the table never had rows, or all its rows were deleted and the
    snapshots that had them have expired."""
    last_snapshot_time: datetime | None
    """The time of that snapshot; None if there is none or it has expired."""
    delete_file_count: int = 0
    delete_size_bytes: int = 0
    """The size of the delete files."""
    deleted_rows: int = 0
    """The number of rows that data files contain but that are deleted."""
    inlined_rows: int = 0
    """The number of rows that are stored in the catalog database; `record_count` includes them."""
    rows_to_flush: int = 0
    """The number of rows that a flush writes to files: `inlined_rows` and those that have been deleted."""
    deletes_to_flush: int = 0
    """The number of inlined deletes of files, also of files that only older snapshots read."""


@dataclass
class _Inlined:
    """The inlined rows and inlined deletes of one table."""

    rows: int = 0
    versions: int = 0
    """The number of rows with those that have ended."""
    deletes: int = 0
    all_deletes: int = 0
    """The number of deletes with those of files that have ended."""
    last_change: int = -1
    """The snapshot of the last insert or delete; -1 if there is none."""


def read_table_summaries(connection: Connection, snapshot_id: int, ids: list[int]) -> dict[int, TableSummary]:
    """Return table id → summary, for the tables with these ids, without those whose inlined rows cannot be found because a row is damaged.

    Each table with inlined deletes needs one more query, and each snapshot that rewrote files three more, see `_last_changes`.
    """
    names, damaged = all_registered(connection)
    ids = [table_id for table_id in ids if table_id not in damaged]
    data, delete = t.data_file, t.delete_file
    of_files = select(data.c.table_id, func.count(), func.sum(data.c.file_size_bytes), func.sum(data.c.record_count))
    of_deletes = select(data.c.table_id, func.count(), func.sum(delete.c.file_size_bytes), func.sum(delete.c.delete_count))
    with_deletes = of_deletes.join(delete, delete.c.data_file_id == data.c.data_file_id).where(t.visible(delete, snapshot_id))
    files, deletes = (
        {row[0]: tuple(int(value or 0) for value in row[1:]) for row in _grouped(connection, query, data, ids)}
        for query in (of_files.where(t.visible(data, snapshot_id)), with_deletes.where(t.visible(data, snapshot_id)))
    )
    inlined = _inlined(connection, snapshot_id, ids, names)
    changes = _last_changes(connection, snapshot_id, ids)
    last = {table_id: max(changes.get(table_id, -1), inlined[table_id].last_change) for table_id in ids}
    times = _times(connection, {snapshot for snapshot in last.values() if snapshot >= 0})
    summaries = {}
    for table_id in ids:
        file_count, size, stored = files.get(table_id, (0, 0, 0))
        delete_count, delete_size, deleted = deletes.get(table_id, (0, 0, 0))
        deleted += inlined[table_id].deletes
        summaries[table_id] = TableSummary(
            stored + inlined[table_id].rows - deleted,
            file_count,
            size,
            last[table_id] if last[table_id] >= 0 else None,
            times.get(last[table_id]),
            delete_count,
            delete_size,
            deleted,
            inlined[table_id].rows,
            inlined[table_id].versions,
            inlined[table_id].all_deletes,
        )
    return summaries


def _grouped(connection: Connection, query: Select[Any], table: Any, ids: list[int]) -> list[Any]:
    """Return the result of the query grouped by table, for these tables; for many tables, all are read at once and filtered here."""
    query = query.group_by(table.c.table_id)
    if len(ids) > BATCH_SIZE:
        wanted = set(ids)
        return [row for row in connection.execute(query).all() if row[0] in wanted]
    return list(connection.execute(query.where(table.c.table_id.in_(ids))).all())


def _last_changes(connection: Connection, snapshot_id: int, ids: list[int]) -> dict[int, int]:
    """Return table id → the snapshot of the last change of rows that the files show.

    Merged and flushed files keep the snapshots of their rows, but a rewritten file begins at the rewrite. So if the last change was a
    rewrite, look again at the files up to the snapshot before it. If the files that it replaced have expired, return its own snapshot.
    """
    found: dict[int, int] = {}
    rounds = [(snapshot_id, ids)]
    while rounds:
        until, table_ids = rounds.pop()
        snapshots, ended = _last_changes_until(connection, until, table_ids)
        rewrites = _rewrites(connection, set(snapshots.values()))
        again: dict[int, list[int]] = defaultdict(list)
        for table_id, snapshot in snapshots.items():
            if table_id in rewrites.get(snapshot, ()) and ended.get(table_id) == snapshot:
                again[snapshot - 1].append(table_id)
            else:
                found[table_id] = snapshot
        rounds += again.items()
    return found


def _rewrites(connection: Connection, snapshots: Collection[int]) -> dict[int, set[int]]:
    """Return snapshot id → ids of the tables whose files it rewrote, without those whose rows it also changed."""
    found: dict[int, set[int]] = {}
    log = t.snapshot_changes
    query = select(log.c.snapshot_id, log.c.changes_made).where(or_(*(log.c.changes_made.contains(word) for word in _REWRITE_WORDS)))
    for row in rows_with_ids(connection, query, log.c.snapshot_id, snapshots):
        changes = parse_changes(row.changes_made)
        rewritten = {change.object_id for change in changes if change.kind is Kind.REWRITE_DELETE and change.object_id is not None}
        found[row.snapshot_id] = rewritten - {change.object_id for change in changes if change.kind in CHANGES_OF_ROWS}
    return found


def _last_changes_until(connection: Connection, snapshot_id: int, ids: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return table id → the last snapshot at which a file began or ended, and table id → the last at which a data file ended."""
    found: dict[int, int] = {}
    ends: dict[int, int] = {}
    for table in (t.data_file, t.delete_file):
        begun = func.max(case((table.c.begin_snapshot <= snapshot_id, table.c.begin_snapshot)))
        ended = func.max(case((table.c.end_snapshot <= snapshot_id, table.c.end_snapshot)))
        partial = func.max(case((table.c.partial_max <= snapshot_id, table.c.partial_max)))
        query = select(table.c.table_id, begun, ended, partial)
        for table_id, *snapshots in _grouped(connection, query, table, ids):
            known = [int(snapshot) for snapshot in snapshots if snapshot is not None]
            if known:
                found[table_id] = max(found.get(table_id, -1), *known)
            if table is t.data_file and snapshots[1] is not None:
                ends[table_id] = int(snapshots[1])
    return found, ends


def _inlined(connection: Connection, snapshot_id: int, ids: list[int], registered: dict[str, int]) -> dict[int, _Inlined]:
    """Return table id → what is inlined, for each of these tables; `registered` are the inlined-data tables of the lake."""
    found = {table_id: _Inlined() for table_id in ids}
    names = {name: table_id for name, table_id in registered.items() if table_id in found}
    for name, (count, versions, snapshot) in count_rows(connection, list(names), snapshot_id).items():
        table = found[names[name]]
        table.rows += count
        table.versions += versions
        table.last_change = max(table.last_change, -1 if snapshot is None else snapshot)
    existing = set(inspect(connection).get_table_names(schema=t.schema_of(connection)))
    for table_id, table in found.items():
        if delete_table_name(table_id) in existing:
            table.deletes, table.all_deletes, snapshot = count_deletes(connection, table_id, snapshot_id)
            table.last_change = max(table.last_change, -1 if snapshot is None else snapshot)
    return found


def _times(connection: Connection, snapshots: Collection[int]) -> dict[int, datetime]:
    """Return snapshot id → time, without expired snapshots."""
    key = t.snapshot.c.snapshot_id
    return {row[0]: row[1] for row in rows_with_ids(connection, select(key, t.snapshot.c.snapshot_time), key, snapshots)}
