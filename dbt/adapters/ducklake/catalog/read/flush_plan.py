"""Plan a flush of a table: all versions of its inlined rows, and the inlined deletes of its files.

Specification: the page "Flush Inlined Data".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.files import NO_LIMIT, InlinedDeletes, InlinedVersions
from ...format.objects import Table
from ...format.paths import resolve
from ..store import tables as t
from ..store.database import Database
from ..store.inlined import InlinedTable, has_delete_table, positions, read_versions, registered
from .column_history import read_history
from .file_rows import DELETE_COLUMNS, delete_file


@dataclass(frozen=True)
class FlushPlan:
    """The inlined rows and deletes of one table at one snapshot."""

    versions: tuple[InlinedVersions, ...] = ()
    """One entry per inlined-data table that has rows."""
    deletes: tuple[InlinedDeletes, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to flush."""
        return not self.versions and not self.deletes


def read_flush_plan(connection: Connection, database: Database, table: Table, snapshot_id: int) -> FlushPlan:
    """Return all inlined rows and deletes of a table up to a snapshot, including rows that have ended."""
    names = registered(connection, [table.table_id]).get(table.table_id, [])
    history = read_history(connection, table.table_id) if names else None
    versions = [
        read_versions(connection, database.dialect, InlinedTable(name, version, history.layout(version)), snapshot_id)
        for name, version in names
        if history is not None
    ]
    deletes = read_inlined_deletes(connection, database, table, snapshot_id)
    return FlushPlan(tuple(each for each in versions if each.row_ids), deletes)


def read_inlined_deletes(connection: Connection, database: Database, table: Table, snapshot_id: int) -> tuple[InlinedDeletes, ...]:
    """Return the inlined deletes of a table's files up to a snapshot, including files that only older snapshots read."""
    if not has_delete_table(connection, database.schema, table.table_id):
        return ()
    entries, data, delete = positions(connection, table.table_id), t.data_file, t.delete_file
    query = (
        select(entries.c.file_id, entries.c.row_id, entries.c.begin_snapshot, data.c.path, data.c.path_is_relative)
        .select_from(entries.join(data, data.c.data_file_id == entries.c.file_id))
        .where(entries.c.begin_snapshot <= snapshot_id)
        .order_by(entries.c.file_id, entries.c.row_id)
    )
    by_file: dict[int, list[Any]] = {}
    rows: list[Any] = list(connection.execute(query))
    for row in rows:
        by_file.setdefault(row.file_id, []).append(row)
    delete_query = (
        select(delete.c.data_file_id, *DELETE_COLUMNS)
        .where(delete.c.table_id == table.table_id, delete.c.data_file_id.in_(select(entries.c.file_id)))
        .order_by(delete.c.delete_file_id)
    )
    # The last row of each data file wins: its newest delete file contains all positions of the earlier ones.
    delete_files = {row.data_file_id: row for row in connection.execute(delete_query)}
    return tuple(_deletes_of_file(table, file_id, rows, delete_files.get(file_id)) for file_id, rows in by_file.items())


def _deletes_of_file(table: Table, file_id: int, rows: list[Any], earlier: Any) -> InlinedDeletes:
    """Return the inlined deletes of one file; `earlier` is the catalog row of its delete file, or None."""
    snapshots: dict[int, int] = {}
    for row in rows:
        snapshots[row.row_id] = min(row.begin_snapshot, snapshots.get(row.row_id, row.begin_snapshot))
    path = resolve(table.path, rows[0].path, rows[0].path_is_relative)
    return InlinedDeletes(file_id, path, snapshots, None if earlier is None else delete_file(earlier, table, NO_LIMIT), len(rows))
