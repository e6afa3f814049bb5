"""Open a lake: find its catalog, create it if it is missing and creation is allowed, and check that we support it.

Specification: "Connecting" and "ducklake_metadata". A new catalog has the same content as one of the reference implementation: snapshot 0,
schema `main`, and four entries in `ducklake_metadata`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from sqlalchemy import exists, inspect, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateIndex, CreateSchema

from ...errors import ConfigurationError, LakeError
from ...format.options import truth
from ...format.paths import WITHOUT_PASSWORD, absolute, has_password, new_uuid, with_separator
from ...format.versions import CURRENT, is_older
from . import tables as t
from .database import ConcurrentWriteError, Database, insert_rows
from .migrations.older import OlderCatalog, read_source
from .settings import CatalogSettings

CREATED_BY = "dbt-ducklake"


class NoLakeError(ConfigurationError):
    """The catalog database has no lake, and the settings do not allow its creation."""


@dataclass(frozen=True)
class LakeFacts:
    """Properties of a lake that never change while it is open."""

    data_path: str
    created_by: str | None
    encrypted: bool
    """Whether the lake's files are encrypted."""
    is_new: bool = False
    """Whether opening the lake created it."""
    former_data_path: str | None = None
    """The data path that opening the lake replaced, because it had no tables yet."""


def attach(database: Database, settings: CatalogSettings, before_creation: Callable[[str], None]) -> LakeFacts:
    """Open a lake, creating it if necessary. A lake without tables gets the `data_path` of the settings.

    Args:
        database: the catalog database.
        settings: the settings of the lake.
        before_creation: called with the data path of a lake that is about to be created, or with a new data path; raises an error to
            refuse it.

    Raises:
        ConfigurationError: the catalog does not exist and must not be created, `data_path` is missing or different, or `encrypted` is
            different.
        LakeError: the lake's format version is not supported.
    """
    _require_file(database, settings.creates)
    facts = _read_facts(database)
    is_new = facts is None and _initialize(database, settings, before_creation)
    if facts is None:
        facts = _read_facts(database)
    if facts is None:
        raise LakeError(f"the catalog {database.location} could not be created")
    version = facts.get("version")
    if is_older(version):
        with database.reading() as connection:
            database.older_catalog = OlderCatalog.of(read_source(connection, database.schema, str(version)))
    stored = facts.get("data_path")
    if stored is None:
        raise LakeError(f"the catalog {database.location} has no entry 'data_path' in ducklake_metadata; it is not a usable lake")
    if not stored:
        raise LakeError(
            f"the catalog {database.location} has an empty 'data_path' in ducklake_metadata, so its files would be in the working "
            "directory of each process. Set it to the directory or URL of the lake's files"
        )
    if has_password(stored):
        raise LakeError(f"'data_path' in ducklake_metadata of {database.location} contains a password or a secret key; {WITHOUT_PASSWORD}")
    encrypted = truth(facts.get("encrypted"))
    _require_same_encryption(encrypted, settings.encrypted)
    data_path = data_path_with(database, stored, settings)
    if data_path != stored:
        before_creation(data_path)
        if not _replace_data_path(database, stored, data_path):
            return attach(database, settings, before_creation)  # another process has changed the lake
    return LakeFacts(with_separator(data_path), facts.get("created_by"), encrypted, is_new, stored if data_path != stored else None)


def _require_file(database: Database, creates: bool) -> None:
    """Require that the catalog file exists or may be created, because SQLite and DuckDB create an empty file for a mistyped name."""
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


def _read_facts(database: Database) -> dict[str, str] | None:
    """Return the lake-wide entries of `ducklake_metadata`; None if the catalog has none."""
    with database.reading() as connection:
        return _facts(connection, database) or None


def _facts(connection: Connection, database: Database) -> dict[str, str]:
    if not inspect(connection).has_table(t.metadata.name, schema=database.schema):
        return {}
    columns = {column["name"] for column in inspect(connection).get_columns(t.metadata.name, schema=database.schema)}
    query = select(t.metadata.c.key, t.metadata.c.value)
    if "scope" in columns:  # format 0.1 has no scopes
        query = query.where(t.metadata.c.scope.is_(None))
    return {row.key: row.value for row in connection.execute(query)}


def _initialize(database: Database, settings: CatalogSettings, before_creation: Callable[[str], None]) -> bool:
    """Create the lake; return whether no other process has created it in the meantime."""
    if database.read_only or not settings.creates:
        raise NoLakeError(
            f"the database {database.location} has no DuckLake catalog; correct 'path' or 'metadata_schema', "
            "or allow its creation with create_if_not_exists: true and read_only: false"
        )
    data_path = new_data_path(settings)
    try:
        with database.creating() as connection:
            if _facts(connection, database):
                return False  # another process has created the lake
            before_creation(data_path)
            create_tables(connection, database)
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


def create_tables(connection: Connection, database: Database) -> None:
    """Create the schema, the metadata tables and their indexes."""
    # CREATE SCHEMA IF NOT EXISTS needs the privilege to create schemas even if the schema exists.
    if database.schema is not None and not inspect(connection).has_schema(database.schema):
        connection.execute(CreateSchema(database.schema, if_not_exists=True))
    for table in t.METADATA.sorted_tables:
        database.dialect.create_table(connection, table)
    for index in t.INDEXES if database.dialect.indexes else ():
        connection.execute(CreateIndex(index))


def _write_first_rows(connection: Connection, data_path: str, encrypted: bool) -> None:
    insert_rows(
        connection,
        t.snapshot,
        [
            {
                "snapshot_id": 0,
                "snapshot_time": datetime.now(timezone.utc),
                "schema_version": 0,
                "next_catalog_id": 1,
                "next_file_id": 0,
            }
        ],
    )
    insert_rows(connection, t.snapshot_changes, [{"snapshot_id": 0, "changes_made": 'created_schema:"main"'}])
    insert_rows(
        connection,
        t.schema,
        [
            {
                "schema_id": 0,
                "schema_uuid": new_uuid(),
                "begin_snapshot": 0,
                "schema_name": "main",
                "path": "main/",
                "path_is_relative": True,
            }
        ],
    )
    entries = {"version": CURRENT, "created_by": CREATED_BY, "data_path": data_path, "encrypted": str(encrypted).lower()}
    insert_rows(connection, t.metadata, [{"key": key, "value": value} for key, value in entries.items()])


def _require_same_encryption(stored: bool, given: bool | None) -> None:
    if given is None or given is stored:
        return
    what, other = ("is encrypted", "false") if stored else ("is not encrypted", "true")
    raise ConfigurationError(
        f"the lake {what}, but the profile has `encrypted: {other}`; correct it, or remove it: it is needed only to create a lake. "
        "Existing files are never encrypted or decrypted: copy the tables into a new lake"
    )


def data_path_with(database: Database, stored: str, settings: CatalogSettings) -> str:
    """Return the data path that a lake has when it is opened with these settings: theirs if the lake has no tables, else the stored one.

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


_HAVE_PATHS = (t.table, t.files_scheduled_for_deletion)
"""The metadata tables whose rows are of files below the data path, now or in the past."""


def _has_files(database: Database) -> bool:
    with database.reading() as connection:
        return any(connection.execute(select(table.c[0]).limit(1)).first() is not None for table in _HAVE_PATHS)


def _replace_data_path(database: Database, stored: str, data_path: str) -> bool:
    """Replace the data path of a lake without tables; return False if another process has changed the lake in the meantime."""
    entry = t.metadata.c.key == "data_path", t.metadata.c.value == stored, t.metadata.c.scope.is_(None)
    unused = (~exists(select(table.c[0])) for table in _HAVE_PATHS)
    with database.creating() as connection:
        return bool(connection.execute(update(t.metadata).where(*entry, *unused).values(value=data_path)).rowcount)
