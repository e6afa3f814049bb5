"""List what a catalog knows across all snapshots: its files, the directories of its schemas and tables, and the UUIDs of its schemas.

Specification: "Paths", and the tables `ducklake_data_file`, `ducklake_delete_file` and `ducklake_files_scheduled_for_deletion`. A file that
is registered or scheduled for deletion is not an orphan. What is not listed here may be removed, so a damaged row is an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.paths import resolve
from . import tables as t
from .database import batches
from .row_rules import checked

_BATCH_ROWS = 10_000
_PARENT_LABELS = {"path": "parent_path", "path_is_relative": "parent_is_relative"}
"""The names of the columns of `ducklake_schema` in a query for its tables."""


def schema_uuids(connection: Connection) -> list[str]:
    """Return the UUIDs of all schemas in the catalog, oldest first, including dropped schemas."""
    columns = t.schema.c
    rows = connection.execute(select(columns.schema_uuid).order_by(columns.schema_id))
    return [str(row.schema_uuid) for row in rows if row.schema_uuid]


def schema_directories(connection: Connection, data_path: str) -> dict[int, str]:
    """Return schema id → directory for all schemas in the catalog, including dropped schemas."""
    columns = t.schema.c
    rows = connection.execute(select(columns.schema_id, columns.path, columns.path_is_relative)).all()
    return {row.schema_id: resolve(data_path, row.path, row.path_is_relative) for row in checked(t.schema, rows)}


def table_directories(connection: Connection, data_path: str) -> dict[int, str]:
    """Return table id → directory for all tables in the catalog, including dropped tables."""
    columns, parent = t.table.c, t.schema.c
    own = columns.table_id, columns.schema_id, columns.path, columns.path_is_relative
    query = select(*own, *(parent[name].label(label) for name, label in _PARENT_LABELS.items()))
    rows = connection.execute(query.outerjoin_from(t.table, t.schema, parent.schema_id == columns.schema_id)).all()
    checked(t.schema, rows, _PARENT_LABELS)
    return {
        row.table_id: resolve(resolve(data_path, row.parent_path, row.parent_is_relative), row.path, row.path_is_relative)
        for row in checked(t.table, rows)
    }


def registered_files(connection: Connection, data_path: str) -> Iterator[str]:
    """Yield the paths of all data files and delete files that are registered, including those that only older snapshots read."""
    directories = table_directories(connection, data_path)
    for table, key in ((t.data_file, t.data_file.c.data_file_id), (t.delete_file, t.delete_file.c.delete_file_id)):
        query = select(key, table.c.table_id, table.c.path, table.c.path_is_relative).execution_options(yield_per=_BATCH_ROWS)
        for rows in batches(connection.execute(query), _BATCH_ROWS):
            for row in checked(table, rows):
                yield resolve(directories.get(row.table_id, data_path), row.path, row.path_is_relative)


def added_files(connection: Connection, data_path: str) -> Iterator[str]:
    """Yield the paths of registered data files that another program wrote, and of clones of them: the files with a name mapping."""
    source = t.data_file
    columns = source.c.data_file_id, source.c.table_id, source.c.path, source.c.path_is_relative
    rows = connection.execute(select(*columns).where(source.c.mapping_id.is_not(None))).all()
    directories = table_directories(connection, data_path) if rows else {}
    for row in checked(source, rows):
        yield resolve(directories.get(row.table_id, data_path), row.path, row.path_is_relative)


def scheduled_paths(connection: Connection, data_path: str) -> Iterator[str]:
    """Yield the paths of all files that are scheduled for deletion."""
    source = t.files_scheduled_for_deletion
    for row in checked(source, connection.execute(select(source)).all()):
        yield resolve(data_path, row.path, row.path_is_relative)
