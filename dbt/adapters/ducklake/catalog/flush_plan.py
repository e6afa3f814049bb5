"""What a flush of a table has to write: all versions of its inlined rows, and the deletes on its files that the catalog holds.

Specification: the page "Flush Inlined Data".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.engine import Connection

from ..spec.files import NO_LIMIT, InlinedDeletes, InlinedVersions
from ..spec.objects import Table
from ..spec.paths import resolve
from . import tables as t
from .column_history import read_history
from .database import Database
from .file_rows import DELETE_COLUMNS, delete_file
from .inlined import InlinedTable, has_delete_table, positions, read_versions, registered
from .visibility import visible


@dataclass(frozen=True)
class FlushPlan:
    """Of one table at one snapshot."""

    versions: tuple[InlinedVersions, ...] = ()
    """By inlined-data table; those without rows are left out."""
    deletes: tuple[InlinedDeletes, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not self.versions and not self.deletes


def read_flush_plan(connection: Connection, database: Database, table: Table, snapshot_id: int) -> FlushPlan:
    """Everything inlined that snapshots up to this one began."""
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
    """Files that were ended since count too, for the sake of older snapshots; files that are gone do not."""
    if not has_delete_table(connection, database.schema, table.table_id):
        return ()
    entries, data, delete = positions(connection, table.table_id), t.data_file, t.delete_file
    joined = entries.join(data, data.c.data_file_id == entries.c.file_id).outerjoin(
        delete,
        and_(delete.c.data_file_id == data.c.data_file_id, delete.c.table_id == table.table_id, visible(delete, snapshot_id)),
    )
    query = (
        select(
            entries.c.file_id,
            entries.c.row_id,
            entries.c.begin_snapshot,
            data.c.path.label("data_path"),
            data.c.path_is_relative.label("data_path_is_relative"),
            *DELETE_COLUMNS,
        )
        .select_from(joined)
        .where(entries.c.begin_snapshot <= snapshot_id)
        .order_by(entries.c.file_id, entries.c.row_id)
    )
    by_file: dict[int, list[Any]] = {}
    rows: list[Any] = list(connection.execute(query))
    for row in rows:
        by_file.setdefault(row.file_id, []).append(row)
    return tuple(_of_file(table, file_id, found) for file_id, found in by_file.items())


def _of_file(table: Table, file_id: int, rows: list[Any]) -> InlinedDeletes:
    first = rows[0]
    snapshots: dict[int, int] = {}
    for row in rows:
        snapshots[row.row_id] = min(row.begin_snapshot, snapshots.get(row.row_id, row.begin_snapshot))
    path = resolve(table.path, first.data_path, first.data_path_is_relative)
    return InlinedDeletes(file_id, path, snapshots, delete_file(first, table, NO_LIMIT), len(rows))
