"""List what a catalog knows across all snapshots: its files, the directories of its schemas and tables, and the UUIDs of its schemas.

Specification: "Paths", and the tables `ducklake_data_file`, `ducklake_delete_file` and `ducklake_files_scheduled_for_deletion`. A file that
is registered or scheduled for deletion is not an orphan.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.paths import resolve
from . import tables as t


def schema_uuids(connection: Connection) -> list[str]:
    """Return the UUIDs of all schemas in the catalog, oldest first, including dropped schemas."""
    columns = t.schema.c
    rows = connection.execute(select(columns.schema_uuid).order_by(columns.schema_id))
    return [str(row.schema_uuid) for row in rows if row.schema_uuid]


def schema_directories(connection: Connection, data_path: str) -> dict[int, str]:
    """Return schema id → directory for all schemas in the catalog, including dropped schemas."""
    columns = t.schema.c
    rows = connection.execute(select(columns.schema_id, columns.path, columns.path_is_relative))
    return {row.schema_id: resolve(data_path, row.path, row.path_is_relative) for row in rows}


def table_directories(connection: Connection, data_path: str) -> dict[int, str]:
    """Return table id → directory for all tables in the catalog, including dropped tables."""
    columns, parent = t.table.c, t.schema.c
    own = columns.table_id, columns.path, columns.path_is_relative
    query = select(*own, parent.path.label("parent_path"), parent.path_is_relative.label("parent_is_relative"))
    return {
        row.table_id: resolve(resolve(data_path, row.parent_path, row.parent_is_relative), row.path, row.path_is_relative)
        for row in connection.execute(query.outerjoin_from(t.table, t.schema, parent.schema_id == columns.schema_id))
    }


def registered_files(connection: Connection, data_path: str) -> Iterator[str]:
    """Yield the paths of all data files and delete files that are registered, including those that only older snapshots read."""
    directories = table_directories(connection, data_path)
    for table in (t.data_file, t.delete_file):
        rows = connection.execute(select(table.c.table_id, table.c.path, table.c.path_is_relative).execution_options(yield_per=10_000))
        for row in rows:
            yield resolve(directories.get(row.table_id, data_path), row.path, row.path_is_relative)


def scheduled_paths(connection: Connection, data_path: str) -> Iterator[str]:
    """Yield the paths of all files that are scheduled for deletion."""
    columns = t.files_scheduled_for_deletion.c
    for row in connection.execute(select(columns.path, columns.path_is_relative)):
        yield resolve(data_path, row.path, row.path_is_relative)
