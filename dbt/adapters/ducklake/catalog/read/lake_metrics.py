"""Metrics of a whole lake: its snapshots, how its data grew, the sizes of its files, and what each snapshot wrote.

The number of queries does not depend on the number of tables and files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, literal, select, union_all
from sqlalchemy.engine import Connection

from ..store import tables as t
from ..store.database import rows_with_ids
from .table_metrics import Ranges


@dataclass(frozen=True)
class SnapshotPoint:
    """A snapshot as one point of the report's timeline."""

    snapshot_id: int
    time: datetime
    by_dbt: bool
    """Whether dbt created it: its `commit_extra_info` contains an `invocation_id`."""


@dataclass(frozen=True)
class FileTotals:
    """A number of data files, and their size in bytes."""

    count: int = 0
    size_bytes: int = 0


@dataclass(frozen=True)
class LakeMetrics:
    """The metrics of a lake at a snapshot."""

    snapshots: tuple[SnapshotPoint, ...]
    """All snapshots that have not expired, oldest first."""
    changes: Mapping[int, FileTotals]
    """Snapshot id → change in the number and bytes of live data files, possibly negative. Snapshots that changed no file are left out.

    It is computed from the files that the catalog still lists: a merged or flushed file counts at the first snapshot of its rows.
    """
    sizes: tuple[FileTotals, ...]
    """A histogram of the live data files by size: one class per bound (smaller than it, not smaller than the previous bound), and one more
    for all larger files."""
    small: Mapping[int, int]
    """Table id → number of live data files smaller than `small_below`."""
    ended: Mapping[int, FileTotals]
    """Table id → totals of the data files that only older snapshots read."""


def read_lake_metrics(connection: Connection, snapshot_id: int, bounds: Sequence[int], small_below: int) -> LakeMetrics:
    """Return the metrics at a snapshot.

    Args:
        connection: a reading transaction.
        snapshot_id: the snapshot.
        bounds: ascending sizes in bytes, the upper limits (exclusive) of the classes of `LakeMetrics.sizes`.
        small_below: the size in bytes below which a file counts as small.
    """
    data = t.data_file
    live = t.visible(data, snapshot_id)
    small = select(data.c.table_id, func.count()).where(live, data.c.file_size_bytes < small_below).group_by(data.c.table_id)
    ended = select(data.c.table_id, func.count(), func.sum(data.c.file_size_bytes)).where(data.c.end_snapshot <= snapshot_id)
    return LakeMetrics(
        _snapshots(connection, snapshot_id),
        _changes(connection, snapshot_id),
        _sizes(connection, snapshot_id, bounds),
        {row[0]: int(row[1]) for row in connection.execute(small)},
        {row[0]: _totals(row[1], row[2]) for row in connection.execute(ended.group_by(data.c.table_id))},
    )


def read_written(connection: Connection, snapshots: Mapping[int, Collection[int]]) -> dict[int, FileTotals | None]:
    """Return snapshot id → totals of the data files that it added.

    The totals are None (unknown) if the rows that the snapshot added may now be in a merged or flushed file of a table that it changed.

    Args:
        connection: a reading transaction.
        snapshots: snapshot → ids of the tables that it changed.
    """
    data = t.data_file
    written: dict[int, FileTotals | None] = dict.fromkeys(snapshots, FileTotals())
    begin = data.c.begin_snapshot
    query = select(begin, func.count(), func.sum(data.c.file_size_bytes)).group_by(begin)
    written |= {row[0]: _totals(row[1], row[2]) for row in rows_with_ids(connection, query, begin, snapshots)}
    merged: dict[int, list[tuple[int, int]]] = defaultdict(list)
    has_several_snapshots = data.c.partial_max > data.c.begin_snapshot
    may_overlap = data.c.partial_max >= min(snapshots, default=0)
    ranges_query = select(data.c.table_id, data.c.begin_snapshot, data.c.partial_max).where(has_several_snapshots, may_overlap)
    for row in connection.execute(ranges_query.distinct()):
        merged[row[0]].append((row[1], row[2]))
    ranges = {table_id: Ranges(each) for table_id, each in merged.items()}
    for snapshot_id, table_ids in snapshots.items():
        if any(snapshot_id in ranges[table_id] for table_id in table_ids if table_id in ranges):
            written[snapshot_id] = None
    return written


def _snapshots(connection: Connection, snapshot_id: int) -> tuple[SnapshotPoint, ...]:
    key, log = t.snapshot.c.snapshot_id, t.snapshot_changes
    by_dbt = case((log.c.commit_extra_info.contains('"invocation_id"'), literal(1)), else_=literal(0))
    query = select(key, t.snapshot.c.snapshot_time, by_dbt).outerjoin(log, log.c.snapshot_id == key).where(key <= snapshot_id)
    return tuple(SnapshotPoint(row[0], row[1], bool(row[2])) for row in connection.execute(query.order_by(key)))


def _changes(connection: Connection, snapshot_id: int) -> dict[int, FileTotals]:
    data = t.data_file
    parts = []
    for key, sign in ((data.c.begin_snapshot, 1), (data.c.end_snapshot, -1)):
        sums = (key.label("snapshot"), (func.count() * sign).label("files"), (func.sum(data.c.file_size_bytes) * sign).label("size"))
        parts.append(select(*sums).where(key <= snapshot_id).group_by(key))
    changes: dict[int, FileTotals] = {}
    for row in connection.execute(union_all(*parts)):
        before, change = changes.get(row[0], FileTotals()), _totals(row[1], row[2])
        changes[row[0]] = FileTotals(before.count + change.count, before.size_bytes + change.size_bytes)
    return changes


def _sizes(connection: Connection, snapshot_id: int, bounds: Sequence[int]) -> tuple[FileTotals, ...]:
    data = t.data_file
    bucket = case(*((data.c.file_size_bytes < bound, literal(index)) for index, bound in enumerate(bounds)), else_=literal(len(bounds)))
    inner = select(bucket.label("bucket"), data.c.file_size_bytes.label("size")).where(t.visible(data, snapshot_id)).subquery()
    query = select(inner.c.bucket, func.count(), func.sum(inner.c.size)).group_by(inner.c.bucket)
    totals = {int(row[0]): _totals(row[1], row[2]) for row in connection.execute(query)}
    return tuple(totals.get(index, FileTotals()) for index in range(len(bounds) + 1))


def _totals(count: Any, size: Any) -> FileTotals:
    """Return the totals with integers, because some drivers return sums as decimals."""
    return FileTotals(int(count), int(size or 0))
