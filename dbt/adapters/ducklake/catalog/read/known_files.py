"""List all files in the catalog of a lake: files that snapshots need, and files scheduled for deletion. None of them is an orphan.

Specification: "Paths", and the tables `ducklake_data_file`, `ducklake_delete_file` and `ducklake_files_scheduled_for_deletion`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.paths import resolve
from ..store import tables as t


def schema_uuids(connection: Connection) -> list[str]:
    """Return the uuids of all schemas in the catalog, oldest first, including ended ones."""
    source = t.schema.c
    return [str(row.schema_uuid) for row in connection.execute(select(source.schema_uuid).order_by(source.schema_id)) if row.schema_uuid]


def schema_directories(connection: Connection, data_path: str) -> dict[int, str]:
    """Return schema id → directory for all schemas in the catalog, including ended ones."""
    source = t.schema.c
    rows = connection.execute(select(source.schema_id, source.path, source.path_is_relative))
    return {row.schema_id: resolve(data_path, row.path, row.path_is_relative) for row in rows}


def table_directories(connection: Connection, data_path: str) -> dict[int, str]:
    """Return table id → directory for all tables in the catalog, including ended ones."""
    schemas = schema_directories(connection, data_path)
    source = t.table.c
    rows = connection.execute(select(source.table_id, source.schema_id, source.path, source.path_is_relative))
    return {row.table_id: resolve(schemas.get(row.schema_id, data_path), row.path, row.path_is_relative) for row in rows}


def registered_files(connection: Connection, data_path: str) -> Iterator[str]:
    """Yield the paths of all data and delete files that some snapshot reads."""
    directories = table_directories(connection, data_path)
    for table in (t.data_file, t.delete_file):
        rows = connection.execute(select(table.c.table_id, table.c.path, table.c.path_is_relative).execution_options(yield_per=10_000))
        for row in rows:
            yield resolve(directories.get(row.table_id, data_path), row.path, row.path_is_relative)


def scheduled_paths(connection: Connection, data_path: str) -> Iterator[str]:
    """Yield the paths of all files that are scheduled for deletion."""
    source = t.files_scheduled_for_deletion.c
    for row in connection.execute(select(source.path, source.path_is_relative)):
        yield resolve(data_path, row.path, row.path_is_relative)
