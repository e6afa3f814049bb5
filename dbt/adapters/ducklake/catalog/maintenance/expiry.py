"""Expire snapshots: remove their catalog rows and the rows of everything that no remaining snapshot can see.

Specification: "Expire Snapshots". Files are only scheduled for deletion; the newest snapshot never expires. A row is out of reach if it has
ended and no remaining snapshot is between its begin and its end. Like the reference implementation, we keep ended columns, partition specs
and sort orders of live tables.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, literal, select
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection

from ...format.paths import relative_to, resolve
from ..read.history import SnapshotRecord, latest_snapshot, snapshot_records
from ..store import tables as t
from ..store.database import change_with_ids, insert_rows, rows_with_ids
from ..store.dialects import dialect_of
from ..store.inlined import MAX_DROPPED_TABLES, delete_table_name, drop_table, find_delete_table, registered
from ..store.known_files import table_directories

_OF_TABLES = (
    *(t.table, t.table_stats, t.table_column_stats, t.partition_info, t.partition_column, t.column, t.column_tag),
    *(t.sort_info, t.sort_expression, t.schema_versions, t.inlined_data_tables, t.column_mapping),
)
"""The metadata tables whose rows are removed with their table, by table id."""
_OF_FILES = (t.file_column_stats, t.file_variant_stats, t.file_partition_value)
"""The metadata tables whose rows are removed with their data file."""


def expirable(connection: Connection, versions: Collection[int] | None, older_than: datetime | None) -> list[SnapshotRecord]:
    """Return the snapshots that can expire, oldest first: those with the given ids, or older than a timestamp; never the newest."""
    newest = latest_snapshot(connection).snapshot_id
    if versions is not None:
        wanted = set(versions)
    else:
        time = dialect_of(connection).comparable_timestamp(t.snapshot.c.snapshot_time)
        wanted = set(connection.scalars(select(t.snapshot.c.snapshot_id).where(time < literal(older_than, t.Timestamp()))))
    wanted.discard(newest)
    if not wanted:
        return []
    records = snapshot_records(connection, after=min(wanted) - 1, until=max(wanted))
    return [record for record in records if record.snapshot.snapshot_id in wanted]


def expire(connection: Connection, data_path: str, snapshot_ids: Collection[int]) -> bool:
    """Remove snapshots and the rows that are then out of reach. The caller provides a writing transaction.

    Returns:
        Whether rows of tables that are out of reach remain, because they have too many inlined tables for one transaction. To remove them,
        this must be called again in another transaction, without snapshots.
    """
    for source in (t.snapshot, t.snapshot_changes):
        change_with_ids(connection, delete(source), source.c.snapshot_id, snapshot_ids)
    directories = table_directories(connection, data_path)
    out_of_reach = tables_out_of_reach(connection)
    tables = _without_inlined_tables(connection, out_of_reach)
    _schedule_files(connection, data_path, directories, tables)
    for source in _OF_TABLES:
        change_with_ids(connection, delete(source), source.c.table_id, tables)
    if len(tables) < len(out_of_reach):  # their schemas may be out of reach too, but are still needed for the paths of the tables
        return True
    for source in (t.schema, t.view, t.tag, t.column_tag, t.macro):
        connection.execute(delete(source).where(_out_of_reach(source)))
    for source in (t.macro_impl, t.macro_parameters):
        connection.execute(delete(source).where(source.c.macro_id.not_in(select(t.macro.c.macro_id))))
    connection.execute(delete(t.name_mapping).where(t.name_mapping.c.mapping_id.not_in(select(t.column_mapping.c.mapping_id))))
    return False


def _without_inlined_tables(connection: Connection, tables: Collection[int]) -> list[int]:
    """Drop the inlined-data and inlined-delete tables of as many tables as one transaction can, and return the ids of these tables."""
    done, dropped = [], 0
    for table_id in tables:
        if dropped >= MAX_DROPPED_TABLES:
            break
        names = [name for name, _ in registered(connection, table_id)]
        if find_delete_table(connection, table_id) is not None:
            names.append(delete_table_name(table_id))
        for name in names:
            drop_table(connection, name)
        done.append(table_id)
        dropped += len(names)
    return done


def _out_of_reach(source: MetadataTable) -> ColumnElement[bool]:
    """Return the condition for rows that have ended and that no remaining snapshot can see."""
    snapshot = t.snapshot.c.snapshot_id
    seen = exists().where(snapshot >= source.c.begin_snapshot, snapshot < source.c.end_snapshot)
    return source.c.end_snapshot.is_not(None) & ~seen


def tables_out_of_reach(connection: Connection) -> list[int]:
    """Return the ids of tables whose catalog rows are all out of reach."""
    source = t.table
    lost: set[int] = set(connection.scalars(select(source.c.table_id).where(_out_of_reach(source))))
    kept: set[int] = set(connection.scalars(select(source.c.table_id).where(~_out_of_reach(source)))) if lost else set()
    return sorted(lost - kept)


def _schedule_files(connection: Connection, data_path: str, directories: dict[int, str], tables: Collection[int]) -> None:
    """Schedule the files that are out of reach or belong to the tables for deletion, and remove their catalog rows."""
    data, deletes = t.data_file, t.delete_file
    files = _rows(connection, data, tables)
    ids = [row.data_file_id for row in files]
    delete_file_rows = {row.delete_file_id: row for row in _rows(connection, deletes, tables)}
    delete_file_rows |= {row.delete_file_id: row for row in rows_with_ids(connection, select(deletes), deletes.c.data_file_id, ids)}
    entries = [(row.data_file_id, row) for row in files] + sorted(delete_file_rows.items())
    now = datetime.now(timezone.utc)
    scheduled = []
    for file_id, row in entries:
        path = resolve(directories.get(row.table_id, data_path), row.path, row.path_is_relative)
        text, is_relative = relative_to(data_path, path)
        scheduled.append({"data_file_id": file_id, "path": text, "path_is_relative": is_relative, "schedule_start": now})
    insert_rows(connection, t.files_scheduled_for_deletion, scheduled)
    if ids:
        ended = select(data.c.data_file_id).where(_out_of_reach(data))
        for source in _OF_FILES:  # one pass each, because their rows may have no index by file
            connection.execute(delete(source).where(source.c.data_file_id.in_(ended)))
            change_with_ids(connection, delete(source), source.c.table_id, tables)
        change_with_ids(connection, delete(data), data.c.data_file_id, ids)
    change_with_ids(connection, delete(deletes), deletes.c.delete_file_id, list(delete_file_rows))


def _rows(connection: Connection, source: MetadataTable, tables: Collection[int]) -> list[Any]:
    """Return the rows of files that are out of reach or that belong to the tables."""
    out_of_reach = connection.execute(select(source).where(_out_of_reach(source))).all()
    of_tables = rows_with_ids(connection, select(source), source.c.table_id, tables)
    return list({tuple(row): row for row in (*out_of_reach, *of_tables)}.values())
