"""Plan a flush of a table: its inlined rows that a snapshot or the change feed may show, and the inlined deletes of its files.

Specification: the page "Flush Inlined Data".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.files import NO_LIMIT, InlinedDeletes, InlinedVersions
from ...format.objects import PartitionField, Partitioning, Table
from ...format.partitioning import bucket_count
from ...format.paths import resolve
from ..store import tables as t
from ..store.inlined import InlinedTable, count_versions, find_delete_table, read_versions, registered
from ..store.row_rules import checked
from .column_history import EMPTY_HISTORY, read_history
from .file_rows import DELETE_COLUMNS, DELETE_LABELS, delete_file
from .history import oldest_snapshot_id

_LABELS = {"data_file_id": "file_id", "path": "path", "path_is_relative": "path_is_relative"}
"""Column of `ducklake_data_file` → its name in the query of `read_inlined_deletes`."""


@dataclass(frozen=True)
class FlushPlan:
    """The inlined rows and deletes of one table at one snapshot."""

    versions: tuple[InlinedVersions, ...] = ()
    """One entry per inlined-data table that has rows to write."""
    deletes: tuple[InlinedDeletes, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    """The number of rows of each inlined-data table that has any, including those that ended before the oldest snapshot and that nothing
    can show any more."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to flush."""
        return not self.rows and not self.deletes


def read_flush_plan(connection: Connection, table: Table, snapshot_id: int) -> FlushPlan:
    """Return the inlined rows and deletes of a table up to a snapshot, including rows that have ended."""
    names = registered(connection, table.table_id)
    history = read_history(connection, table.table_id) if names else EMPTY_HISTORY
    rows = {name: count_versions(connection, name, snapshot_id) for name, _ in names}
    oldest = oldest_snapshot_id(connection)
    versions = [
        read_versions(connection, InlinedTable(name, history.layout(version)), snapshot_id, oldest) for name, version in names if rows[name]
    ]
    deletes = read_inlined_deletes(connection, table, snapshot_id)
    found = [each for each in versions if each.row_ids]
    specs = _bucket_specs(connection, table) if found else []
    planned = tuple(replace(each, partitioning=_partitioning(table, each, specs)) for each in found)
    return FlushPlan(planned, deletes, {name: number for name, number in rows.items() if number})


@dataclass(frozen=True)
class _Spec:
    """A partition spec and the snapshots in which it is valid."""

    begin: int
    end: int | None
    partitioning: Partitioning


def _partitioning(table: Table, versions: InlinedVersions, bucket_specs: list[_Spec]) -> Partitioning | None:
    """Return the newest partition spec with buckets that was valid while the rows existed, or else the table's present spec.

    The rows must be found at these snapshots too, also after a rollback, and DuckDB finds rows by a bucket key only in files that have
    the buckets. Its own flush takes the spec that the table had when the rows were inserted.
    """
    first, last = min(versions.begin_snapshots), max(NO_LIMIT if end is None else end for end in versions.end_snapshots)
    known = {column.column_id for column in (*versions.columns, *table.columns)}
    for spec in bucket_specs:
        overlaps = spec.begin < last and (spec.end is None or spec.end > first)
        if overlaps and known.issuperset(field.column_id for field in spec.partitioning.fields):
            return spec.partitioning
    return table.partitioning


def _bucket_specs(connection: Connection, table: Table) -> list[_Spec]:
    """Return the partition specs with buckets that a table has or had, newest first."""
    info, keys = t.partition_info.c, t.partition_column.c
    query = (
        select(info.begin_snapshot, info.end_snapshot, info.partition_id, keys.column_id, keys.transform)
        .join(t.partition_column, (keys.partition_id == info.partition_id) & (keys.table_id == info.table_id))
        .where(info.table_id == table.table_id)
        .order_by(info.begin_snapshot.desc(), keys.partition_key_index)
    )
    specs: list[_Spec] = []
    for begin, rows in groupby(connection.execute(query), key=lambda row: row.begin_snapshot):
        fields = list(rows)
        partitioning = Partitioning(fields[0].partition_id, tuple(PartitionField(row.column_id, row.transform) for row in fields))
        specs.append(_Spec(begin, fields[0].end_snapshot, partitioning))
    return [spec for spec in specs if _has_buckets(spec.partitioning)]


def _has_buckets(partitioning: Partitioning) -> bool:
    return any(bucket_count(field.transform) is not None for field in partitioning.fields)


def read_inlined_deletes(connection: Connection, table: Table, snapshot_id: int) -> tuple[InlinedDeletes, ...]:
    """Return the inlined deletes of a table's files up to a snapshot, including files that only older snapshots read.

    Raises:
        LakeError: a row is damaged.
    """
    entries, data, delete = find_delete_table(connection, table.table_id), t.data_file, t.delete_file
    if entries is None:
        return ()
    query = (
        select(entries.c.file_id, entries.c.row_id, entries.c.begin_snapshot, data.c.path, data.c.path_is_relative)
        .select_from(entries.join(data, data.c.data_file_id == entries.c.file_id))
        .where(entries.c.begin_snapshot <= snapshot_id)
        .order_by(entries.c.file_id, entries.c.row_id)
    )
    by_file: dict[int, list[Any]] = {}
    for row in checked(data, connection.execute(query).all(), _LABELS):
        by_file.setdefault(row.file_id, []).append(row)
    delete_query = (
        select(delete.c.data_file_id, *DELETE_COLUMNS)
        .where(delete.c.table_id == table.table_id, delete.c.data_file_id.in_(select(entries.c.file_id)))
        .order_by(delete.c.delete_file_id)
    )
    # The last row of each data file wins: its newest delete file contains all positions of the earlier ones.
    delete_files = {row.data_file_id: row for row in connection.execute(delete_query)}
    checked(delete, list(delete_files.values()), DELETE_LABELS)
    return tuple(_deletes_of_file(table, file_id, rows, delete_files.get(file_id)) for file_id, rows in by_file.items())


def _deletes_of_file(table: Table, file_id: int, rows: list[Any], earlier: Any) -> InlinedDeletes:
    """Return the inlined deletes of one file; `earlier` is the catalog row of its delete file, or None."""
    snapshots: dict[int, int] = {}
    for row in rows:
        snapshots[row.row_id] = min(row.begin_snapshot, snapshots.get(row.row_id, row.begin_snapshot))
    path = resolve(table.path, rows[0].path, rows[0].path_is_relative)
    return InlinedDeletes(file_id, path, snapshots, None if earlier is None else delete_file(earlier, table, NO_LIMIT), len(rows))
