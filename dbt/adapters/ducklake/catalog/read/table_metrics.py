"""The rows and files that a snapshot added to a table and removed from it, from the begin and end of files and inlined rows.

Specification: the tables `ducklake_data_file` and `ducklake_delete_file`, and the page "Data Inlining".

The catalog does not keep all of these metrics. A merged file has the rows of several snapshots, and a delete file with `partial_max` the
deletes of several. What a snapshot removed is known only as long as the snapshot before it is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.engine import Connection

from ..store import tables as t
from ..store.database import rows_with_ids
from ..store.inlined import data_table, find_delete_table, registered

_Sums = Callable[..., Iterator[tuple[int, ...]]]
"""`_sums` for a connection and some snapshots."""


@dataclass
class TableMetrics:
    """The metrics of some snapshots of a table."""

    rows_inserted: Counter[int] = field(default_factory=Counter)
    rows_deleted: Counter[int] = field(default_factory=Counter)
    files_added: Counter[int] = field(default_factory=Counter)
    files_removed: Counter[int] = field(default_factory=Counter)
    bytes_added: Counter[int] = field(default_factory=Counter)
    merged_rows: Ranges = field(default_factory=lambda: Ranges(()))
    """The snapshots whose rows are in files with those of others."""
    merged_deletes: Ranges = field(default_factory=lambda: Ranges(()))
    """The snapshots whose deletes are in delete files with those of others."""
    with_kept_predecessor: frozenset[int] = frozenset()
    """The snapshots whose predecessor is kept; only for these is it known what they removed."""

    def inserted(self, snapshot_id: int) -> int | None:
        """Return the number of rows that began at a snapshot."""
        return None if snapshot_id in self.merged_rows else self.rows_inserted[snapshot_id]

    def deleted(self, snapshot_id: int) -> int | None:
        """Return the number of rows that ended at a snapshot."""
        known = snapshot_id in self.with_kept_predecessor and snapshot_id not in self.merged_deletes
        return self.rows_deleted[snapshot_id] if known else None

    def files(self, snapshot_id: int) -> tuple[int | None, int | None, int | None]:
        """Return the number of data files that began at a snapshot, the number of those that ended, and the bytes of those that began."""
        removed = self.files_removed[snapshot_id] if snapshot_id in self.with_kept_predecessor else None
        if snapshot_id in self.merged_rows:
            return None, removed, None
        return self.files_added[snapshot_id], removed, self.bytes_added[snapshot_id]


class Ranges:
    """Ranges of snapshot ids, both ends included."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def __contains__(self, snapshot_id: int) -> bool:
        index = bisect_right(self._starts, snapshot_id) - 1
        return index >= 0 and snapshot_id <= self._ends[index]


def read_table_metrics(connection: Connection, table_id: int, snapshots: Collection[int]) -> TableMetrics:
    """Return the metrics of these snapshots of a table; the number of queries does not grow with the files."""
    sums, key = partial(_sums, connection, snapshots), t.snapshot.c.snapshot_id
    kept = rows_with_ids(connection, select(key), key, (each - 1 for each in snapshots))
    found = TableMetrics(
        merged_rows=Ranges(_merged(connection, t.data_file, table_id)),
        merged_deletes=Ranges((*_merged(connection, t.delete_file, table_id), *_flushed(connection, table_id))),
        with_kept_predecessor=frozenset(row[0] + 1 for row in kept),
    )
    _add_files(found, sums, table_id)
    for name, _ in registered(connection, table_id):
        rows = data_table(connection, name)
        for snapshot, count in sums(rows, rows.c.begin_snapshot, func.count()):
            found.rows_inserted[snapshot] += count
        for snapshot, count in sums(rows, rows.c.end_snapshot, func.count()):
            found.rows_deleted[snapshot] += count
    entries = find_delete_table(connection, table_id)
    if entries is not None:
        _add_inlined_deletes(found, sums, entries)
    return found


def _add_files(found: TableMetrics, sums: _Sums, table_id: int) -> None:
    data, delete = t.data_file, t.delete_file
    of_table = data.c.table_id == table_id
    begun = (func.count(), func.sum(data.c.record_count), func.sum(data.c.file_size_bytes))
    for snapshot, files, rows, size in sums(data, data.c.begin_snapshot, *begun, where=of_table):
        found.files_added[snapshot], found.rows_inserted[snapshot], found.bytes_added[snapshot] = files, rows, size
    for snapshot, files, rows in sums(data, data.c.end_snapshot, func.count(), func.sum(data.c.record_count), where=of_table):
        found.files_removed[snapshot] = files
        found.rows_deleted[snapshot] += rows
    for snapshot, rows in sums(delete, delete.c.begin_snapshot, func.sum(delete.c.delete_count), where=delete.c.table_id == table_id):
        found.rows_deleted[snapshot] += rows
    both = delete.join(data, data.c.data_file_id == delete.c.data_file_id)
    ended = case((delete.c.end_snapshot.is_(None), data.c.end_snapshot), else_=delete.c.end_snapshot)
    for snapshot, rows in sums(both, ended, func.sum(delete.c.delete_count), where=of_table):
        found.rows_deleted[snapshot] -= rows


def _add_inlined_deletes(found: TableMetrics, sums: _Sums, entries: Any) -> None:
    """Count inlined deletes where they begin, and subtract earlier ones of a file from the rows that end with the file."""
    for snapshot, count in sums(entries, entries.c.begin_snapshot, func.count()):
        found.rows_deleted[snapshot] += count
    data = t.data_file
    both = entries.join(data, data.c.data_file_id == entries.c.file_id)
    earlier = entries.c.begin_snapshot < data.c.end_snapshot
    for snapshot, count in sums(both, data.c.end_snapshot, func.count(), where=earlier):
        found.rows_deleted[snapshot] -= count


def _merged(connection: Connection, table: Any, table_id: int) -> Iterator[tuple[int, int]]:
    """Yield the snapshots between the begin and the newest snapshot of each file with rows of several snapshots."""
    several = table.c.partial_max > table.c.begin_snapshot
    query = select(table.c.begin_snapshot, table.c.partial_max).where(table.c.table_id == table_id, several).distinct()
    yield from ((row[0], row[1]) for row in connection.execute(query))


def _flushed(connection: Connection, table_id: int) -> Iterator[tuple[int, int]]:
    """Yield the snapshots from the first deletes of each flushed file until it was written: a flush can leave `partial_max` NULL.

    A file was written by the first snapshot whose `next_file_id` is greater than its id.
    """
    source, key = t.delete_file, t.snapshot.c.snapshot_id
    is_later = or_(t.snapshot.c.next_file_id.is_(None), t.snapshot.c.next_file_id <= source.c.delete_file_id)
    query = (
        select(source.c.begin_snapshot, source.c.delete_file_id)
        .outerjoin(t.snapshot, key == source.c.begin_snapshot)
        .where(source.c.table_id == table_id, source.c.partial_max.is_(None), source.c.delete_count > 1, is_later)
    )
    later = connection.execute(query).all()
    if later:
        counters = select(key, t.snapshot.c.next_file_id).where(key >= min(int(row[0]) for row in later)).order_by(key)
        rows = connection.execute(counters).all()
        ids: list[int] = [row[1] for row in rows]
        for row in later:
            begin, written = int(row[0]), bisect_right(ids, int(row[1]))
            if written < len(rows) and begin < int(rows[written][0]) - 1:  # else all are deletes of `begin`
                yield begin, int(rows[written][0]) - 1


def _sums(
    connection: Connection, snapshots: Collection[int], source: Any, key: ColumnElement[Any], *values: Any, where: Any = None
) -> Iterator[tuple[int, ...]]:
    """Yield (snapshot, value …) for each of the snapshots that occurs as a key."""
    query = select(key, *values).select_from(source).group_by(key)
    for row in rows_with_ids(connection, query if where is None else query.where(where), key, snapshots):
        yield tuple(int(value or 0) for value in row)
