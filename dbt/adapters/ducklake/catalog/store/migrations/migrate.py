"""Migrate a lake from any older format version to the current one, in one transaction of the catalog database.

Values whose meaning changed are read before the tables change, through the queries of `older`, and written afterwards. So reading a
migrated lake returns the same as before. Open readers stay valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import Column, MetaData, Table, and_, bindparam, delete, inspect, literal, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateTable

from ....errors import ConflictError, LakeError
from ....format.paths import resolve
from ....format.versions import CURRENT, MergedFile, RewrittenFile, pieces_of
from .. import tables as t
from ..database import ConcurrentWriteError, Database, insert_rows
from ..known_files import table_directories
from .differences import DROPPED_COLUMNS, INITIAL_VALUES, Source


@dataclass(frozen=True)
class _Values:
    """Rows whose values have another meaning in the current version."""

    partial_files: Sequence[Any]
    partition_columns: Sequence[Any]
    schema_versions: Sequence[Any]


def migrate(database: Database, data_path: str, rewrite: Callable[[MergedFile], RewrittenFile]) -> None:
    """Migrate the lake to the current version, unless it already has it.

    Files that were merged without snapshot ids in their rows are rewritten first, because the current version has no other way to record
    which rows a snapshot sees. The reference implementation loses this information. The old files are scheduled for deletion.

    Args:
        database: the catalog database.
        data_path: the directory or URL to which the paths of schemas are relative.
        rewrite: rewrites a merged file so that it contains the snapshot id of each row.

    Raises:
        ConflictError: another process changed or migrated the lake, or kept it busy; nothing was changed.
        LakeError: the tables do not match the lake's version; nothing was changed.
    """
    if database.older_catalog is None:
        return
    merged = _merged_files(database, data_path, database.older_catalog.source)
    rewritten = {file.data_file_id: (file, rewrite(file)) for file in merged}
    try:
        with database.writing_any_format() as connection:
            _require_unchanged(connection, merged, database.older_catalog.source)
            _migrate(connection, database, database.older_catalog.source, rewritten)
    except ConcurrentWriteError as error:
        raise ConflictError(f"other writers keep the catalog database {database.location} busy; migrate again: {error}") from error
    database.older_catalog = None


def _migrate(connection: Connection, database: Database, source: Source, rewritten: Mapping[int, tuple[MergedFile, RewrittenFile]]) -> None:
    values = _read_values(connection, source)
    _change_tables(connection, database.schema, source)
    _write_values(connection, values)
    for file_id, (old, new) in rewritten.items():
        _replace_file(connection, file_id, old, new)
    connection.execute(update(t.metadata).where(t.metadata.c.key == "version", t.metadata.c.scope.is_(None)).values(value=CURRENT))
    _require_current_tables(connection, database.schema)


def _require_version(connection: Connection, version: str) -> None:
    now = connection.scalar(select(t.metadata.c.value).where(t.metadata.c.key == "version", t.metadata.c.scope.is_(None)))
    if now != version:
        raise ConflictError(f"the lake had format version {version} when it was opened and has {now} now; open it again")


def _require_unchanged(connection: Connection, merged: Sequence[MergedFile], source: Source) -> None:
    _require_version(connection, source.version)
    if {file.data_file_id for file in merged} != {row.data_file_id for row in _partly_visible(connection, source)}:
        raise ConflictError("another process changed the lake during the migration; migrate again")


# -- files merged in the old way ---------------------------------------------------------------------------------------------------


def _merged_files(database: Database, data_path: str, source: Source) -> list[MergedFile]:
    with database.reading() as connection:
        _require_version(connection, source.version)
        rows = _partly_visible(connection, source)
        directories = table_directories(connection, data_path) if rows else {}
    return [
        MergedFile(
            row.data_file_id,
            resolve(directories[row.table_id], row.path, bool(row.path_is_relative)),
            row.path,
            pieces_of(row.partial_file_info),
        )
        for row in rows
    ]


def _partly_visible(connection: Connection, source: Source) -> list[Any]:
    """Return the rows of merged files of which an existing snapshot sees only some rows."""
    files = source.tables[t.data_file.name]
    if DROPPED_COLUMNS[t.data_file.name] not in files.c:
        return []
    found: list[Any] = list(connection.execute(select(files).where(files.c.partial_file_info.is_not(None))))
    snapshots: list[int] = sorted(connection.scalars(select(t.snapshot.c.snapshot_id))) if found else []

    def partly(row: Any) -> bool:
        pieces = pieces_of(row.partial_file_info)
        return any(row.begin_snapshot <= each < pieces[-1][0] for each in snapshots) if pieces else False

    return [row for row in found if partly(row)]


def _replace_file(connection: Connection, file_id: int, old: MergedFile, new: RewrittenFile) -> None:
    """Register the new file in place of the old one, and schedule the old one for deletion."""
    directory, separator, _ = old.stored_path.rpartition("/")
    connection.execute(
        update(t.data_file)
        .where(t.data_file.c.data_file_id == file_id)
        .values(
            path=directory + separator + new.path.rpartition("/")[2],
            file_size_bytes=new.file_size_bytes,
            footer_size=new.footer_size,
            partial_max=old.newest,
        )
    )
    scheduled = {"data_file_id": file_id, "path": old.path, "path_is_relative": False, "schedule_start": datetime.now(timezone.utc)}
    insert_rows(connection, t.files_scheduled_for_deletion, [scheduled])


# -- values ------------------------------------------------------------------------------------------------------------------------


def _read_values(connection: Connection, source: Source) -> _Values:
    """Read the values by queries on the current tables, which the database translates to queries on the older ones."""
    files, keys = t.data_file, t.partition_column
    partial = select(files.c.data_file_id.label("id"), files.c.partial_max.label("value")).where(files.c.partial_max.is_not(None))
    positions = select(keys.c.partition_id, keys.c.table_id, keys.c.partition_key_index, keys.c.column_id)
    return _Values(
        list(connection.execute(partial)),
        list(connection.execute(positions)) if source.version == "0.1" else [],
        list(connection.execute(select(t.schema_versions))),
    )


def _write_values(connection: Connection, values: _Values) -> None:
    if values.partial_files:
        statement = update(t.data_file).where(t.data_file.c.data_file_id == bindparam("file_id")).values(partial_max=bindparam("newest"))
        connection.execute(statement, [{"file_id": row.id, "newest": row.value} for row in values.partial_files])
    keys = t.partition_column
    for row in values.partition_columns:
        this = and_(
            keys.c.partition_id == row.partition_id,
            keys.c.table_id == row.table_id,
            keys.c.partition_key_index == row.partition_key_index,
        )
        connection.execute(update(keys).where(this).values(column_id=row.column_id))
    connection.execute(delete(t.schema_versions))
    insert_rows(connection, t.schema_versions, [dict(row._mapping) for row in values.schema_versions])
    column = t.column.c.default_value_type
    initial = INITIAL_VALUES[t.column.name, column.name]
    connection.execute(update(t.column).where(column.is_(None)).values({column.name: initial}))


# -- tables ------------------------------------------------------------------------------------------------------------------------


def _change_tables(connection: Connection, schema: str | None, source: Source) -> None:
    """Create, rename and change tables so that they match the current version."""
    for table in t.METADATA.sorted_tables:
        found = source.tables.get(table.name)
        if found is None:
            connection.execute(CreateTable(table))
            continue
        name = _qualified(connection, table.name, schema)
        if found.name != table.name:
            connection.exec_driver_sql(
                f"ALTER TABLE {_qualified(connection, found.name, schema)} RENAME TO {_quoted(connection, table.name)}"
            )
        for column in table.columns:
            if column.name not in found.c:
                connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {_specification(connection, table, column)}")
        dropped = DROPPED_COLUMNS.get(table.name)
        if dropped is not None and dropped in found.c:
            connection.exec_driver_sql(f"ALTER TABLE {name} DROP COLUMN {_quoted(connection, dropped)}")


def _specification(connection: Connection, table: Table, column: Column[Any]) -> str:
    """Return the name and type of a column, with a default that sets its value in existing rows."""
    dialect = connection.dialect
    definition = f"{_quoted(connection, column.name)} {column.type.compile(dialect)}"
    initial = INITIAL_VALUES.get((table.name, column.name))
    if initial is None:
        return definition
    value = literal(initial, column.type).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    return f"{definition} DEFAULT {value}"


def _require_current_tables(connection: Connection, schema: str | None) -> None:
    """Require the current columns in the current order, because DuckDB writes rows by position."""
    inspector = inspect(connection)
    for table in t.METADATA.sorted_tables:
        names = [column["name"] for column in inspector.get_columns(table.name, schema=schema)]
        expected = [column.name for column in table.columns]
        if names != expected:
            raise LakeError(
                f"the table {table.name} has the columns {', '.join(names)} where {', '.join(expected)} are expected, "
                "so the lake does not match its format version, and was not changed; restore it from a backup"
            )


def _quoted(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote(name)


def _qualified(connection: Connection, name: str, schema: str | None) -> str:
    return connection.dialect.identifier_preparer.format_table(Table(name, MetaData(), schema=schema))
