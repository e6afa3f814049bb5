"""Open a lake: find its catalog, create it if it is missing and creation is allowed, and check that its format version is supported.

Specification: "Connecting" and "ducklake_metadata". A new catalog has the same content as one of the reference implementation: snapshot 0,
schema `main`, and four entries in `ducklake_metadata`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from sqlalchemy import exists, inspect, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateIndex, CreateSchema

from ...errors import ConfigurationError, LakeError
from ...format.paths import WITHOUT_PASSWORD, absolute, has_password, new_uuid, with_separator
from ...format.versions import CURRENT, is_older
from . import tables as t
from .database import ConcurrentWriteError, Database, insert_rows
from .dialects import dialect_of
from .migrations.older import OlderCatalog
from .settings import CatalogSettings

CREATED_BY = "dbt-ducklake"
"""The entry `created_by` of the lakes that we create."""


class NoLakeError(ConfigurationError):
    """The catalog database has no lake, and the settings do not allow its creation."""


@dataclass(frozen=True)
class AttachedLake:
    """Properties of a lake that never change while it is open."""

    data_path: str
    """The directory or URL of the lake's files, with a separator at the end."""
    encrypted: bool
    """Whether the lake's files are encrypted."""
    is_new: bool = False
    """Whether opening the lake created it."""
    earlier_data_path: str | None = None
    """The data path that opening the lake replaced, because it had no tables yet."""


def attach(database: Database, settings: CatalogSettings, before_creation: Callable[[str], None]) -> AttachedLake:
    """Open a lake, creating it if necessary. A lake without tables gets the `data_path` of the settings.

    Args:
        database: the catalog database.
        settings: the settings of the lake.
        before_creation: called with the data path of a lake that is about to be created, or with a new data path; raises an error to
            refuse it.

    Raises:
        ConfigurationError: the catalog does not exist and must not be created, `data_path` is missing or different, or `encrypted` is
            different.
        LakeError: the lake's format version is not supported, `ducklake_metadata` has no usable `data_path` or `encrypted`, or another
            process has prevented the creation.
    """
    _require_file(database, settings.creates)
    entries = _read_entries(database)
    is_new = not entries and _initialize(database, settings, before_creation)
    entries = entries or _read_entries(database)
    if not entries:
        raise LakeError(f"the catalog {database.location} could not be created, because another process was using it; run it again")
    version = entries.get("version")
    if is_older(version):
        with database.reading() as connection:
            database.older_catalog = OlderCatalog.read(connection, str(version))
    stored = entries.get("data_path")
    if stored is None:
        raise LakeError(
            f"the catalog {database.location} has no entry 'data_path' in ducklake_metadata. Insert it: the directory or URL of the lake's "
            "files"
        )
    if not stored:
        raise LakeError(
            f"the catalog {database.location} has an empty 'data_path' in ducklake_metadata, so its files would be in the working "
            "directory of each process. Set it to the directory or URL of the lake's files"
        )
    if has_password(stored):
        raise LakeError(f"'data_path' in ducklake_metadata of {database.location} contains a password or a secret key; {WITHOUT_PASSWORD}")
    encrypted = _is_encrypted(database, entries)
    _require_same_encryption(encrypted, settings.encrypted)
    data_path = effective_data_path(database, stored, settings)
    if data_path != stored:
        before_creation(data_path)
        if not _replace_data_path(database, stored, data_path):
            return attach(database, settings, before_creation)  # another process has changed the lake
    earlier_data_path = stored if data_path != stored else None
    return AttachedLake(with_separator(data_path), encrypted, is_new, earlier_data_path)


def _require_file(database: Database, creates: bool) -> None:
    """Require that the catalog file exists or may be created; SQLite and DuckDB would create an empty file for a mistyped name."""
    file = database.location.file
    if file is None or os.path.exists(file):
        return
    if database.read_only or not creates:
        raise NoLakeError(
            f"there is no catalog at {file}; correct 'path', or allow its creation with create_if_not_exists: true and read_only: false"
        )
    require_directory(os.path.dirname(file))


def require_directory(directory: str) -> None:
    """Require that the directory of a catalog file exists.

    Raises:
        ConfigurationError: it does not.
    """
    if not os.path.isdir(directory):
        raise ConfigurationError(f"the directory {directory} of the catalog does not exist; create it or correct 'path'")


def _read_entries(database: Database) -> dict[str, str]:
    with database.reading() as connection:
        return _entries(connection)


def _entries(connection: Connection) -> dict[str, str]:
    """Return the lake-wide entries of `ducklake_metadata`; none if there is no lake."""
    inspector, schema = inspect(connection), t.schema_of(connection)
    if not inspector.has_table(t.metadata.name, schema=schema):
        return {}
    columns = {column["name"] for column in inspector.get_columns(t.metadata.name, schema=schema)}
    query = select(t.metadata.c.key, t.metadata.c.value)
    if "scope" in columns:  # format 0.1 has no scopes
        query = query.where(t.metadata.c.scope.is_(None))
    return {row.key: row.value for row in connection.execute(query)}


def _initialize(database: Database, settings: CatalogSettings, before_creation: Callable[[str], None]) -> bool:
    """Create the lake; return False if another process has created it in the meantime."""
    if database.read_only or not settings.creates:
        raise NoLakeError(
            f"the database {database.location} has no DuckLake catalog; correct 'path' or 'metadata_schema', "
            "or allow its creation with create_if_not_exists: true and read_only: false"
        )
    data_path = new_data_path(settings)
    try:
        with database.writing_without_tables() as connection:
            if _entries(connection):
                return False  # another process has created the lake
            before_creation(data_path)
            create_tables(connection)
            _write_first_rows(connection, data_path, bool(settings.encrypted))
    except ConcurrentWriteError:
        return False  # another process has created the lake; the caller checks it
    return True


def new_data_path(settings: CatalogSettings) -> str:
    """Return the data path of a lake that does not exist yet, in its stored form.

    Raises:
        ConfigurationError: the settings have none.
    """
    data_path = settings.data_path or settings.location.default_data_path
    if not data_path:
        raise ConfigurationError("a new lake needs 'data_path': the directory or URL of its Parquet files")
    return absolute(data_path)


def create_tables(connection: Connection) -> None:
    """Create the schema, the metadata tables and their indexes."""
    dialect, schema = dialect_of(connection), t.schema_of(connection)
    # CREATE SCHEMA IF NOT EXISTS needs the privilege to create schemas even if the schema exists.
    if schema is not None and not inspect(connection).has_schema(schema):
        connection.execute(CreateSchema(schema, if_not_exists=True))
    for table in t.METADATA.sorted_tables:
        dialect.create_table(connection, table)
    for index in t.INDEXES if dialect.indexes else ():
        connection.execute(CreateIndex(index))


def _write_first_rows(connection: Connection, data_path: str, encrypted: bool) -> None:
    """Write the rows of a new lake: snapshot 0, the schema `main` and the entries of `ducklake_metadata`."""
    now = datetime.now(timezone.utc)
    connection.execute(t.snapshot.insert().values(snapshot_id=0, snapshot_time=now, schema_version=0, next_catalog_id=1, next_file_id=0))
    connection.execute(t.snapshot_changes.insert().values(snapshot_id=0, changes_made='created_schema:"main"'))
    main = {"schema_id": 0, "schema_name": "main", "path": "main/", "path_is_relative": True}
    connection.execute(t.schema.insert().values(**main, schema_uuid=new_uuid(), begin_snapshot=0))
    entries = {"version": CURRENT, "created_by": CREATED_BY, "data_path": data_path, "encrypted": str(encrypted).lower()}
    insert_rows(connection, t.metadata, [{"key": key, "value": value} for key, value in entries.items()])


def _is_encrypted(database: Database, entries: Mapping[str, str | None]) -> bool:
    """Whether files are encrypted. DuckDB accepts no other texts than these, and takes a lake without the entry for one without encryption.

    Raises:
        LakeError: it has another text.
    """
    stored = entries.get("encrypted", "false")
    if stored not in ("true", "false"):
        raise LakeError(
            f"the catalog {database.location} has 'encrypted' = {stored!r} in ducklake_metadata. Set it to true if the lake's files are "
            "encrypted, else to false"
        )
    return stored == "true"


def _require_same_encryption(stored: bool, given: bool | None) -> None:
    if given is None or given is stored:
        return
    state, setting = ("is encrypted", "false") if stored else ("is not encrypted", "true")
    raise ConfigurationError(
        f"the lake {state}, but the profile has `encrypted: {setting}`; correct it, or remove it: it is needed only to create a lake. "
        "Existing files are never encrypted or decrypted: copy the tables into a new lake"
    )


def effective_data_path(database: Database, stored: str, settings: CatalogSettings) -> str:
    """Return the data path of a lake that is opened with these settings: theirs if the lake has no tables yet, else the stored one.

    Args:
        database: the catalog database.
        stored: `data_path` in `ducklake_metadata`.
        settings: the settings of the lake.

    Raises:
        ConfigurationError: the settings have another data path, and the lake has tables or must not be changed.
    """
    given = settings.data_path
    if given is None or with_separator(given) == with_separator(stored) or absolute(given) == absolute(stored):
        return stored
    if database.older_catalog is None and settings.creates and not _has_files(database):
        return absolute(given)
    raise ConfigurationError(
        f"the lake stores its files at {stored}, but data_path is {given}; correct data_path, or remove it: "
        "it is needed only to create a lake"
    )


_TABLES_WITH_PATHS = (t.table, t.files_scheduled_for_deletion)
"""If these metadata tables are empty, the lake has no file below its data path, and has never had one."""


def _has_files(database: Database) -> bool:
    """Whether the lake may have files below its data path."""
    with database.reading() as connection:
        return any(connection.execute(select(table.c[0]).limit(1)).first() is not None for table in _TABLES_WITH_PATHS)


def _replace_data_path(database: Database, stored: str, data_path: str) -> bool:
    """Replace the data path of a lake without tables; return False if another process has changed the lake in the meantime."""
    entry = t.metadata.c.key == "data_path", t.metadata.c.value == stored, t.metadata.c.scope.is_(None)
    unused = (~exists(select(table.c[0])) for table in _TABLES_WITH_PATHS)
    try:
        with database.writing_any_format() as connection:
            return bool(connection.execute(update(t.metadata).where(*entry, *unused).values(value=data_path)).rowcount)
    except ConcurrentWriteError as error:
        raise database.busy(error) from error
