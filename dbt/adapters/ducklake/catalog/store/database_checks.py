"""Try what a lake needs of its catalog database, and undo it: the rights to create and to change a lake, and the server's clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

from sqlalchemy import Column, Integer, MetaData, Table, delete, false, insert, select
from sqlalchemy.engine import Connection

from ...errors import ConfigurationError, EngineError
from . import tables as t
from .attach import create_tables, require_directory
from .database import ConcurrentWriteError, Database, ReadOnlyDatabaseError
from .settings import CatalogSettings

_TRIED = Table("dbt_ducklake_debug", MetaData(), Column("tried", Integer))
"""A table such as those of inlined rows, which a commit may create."""
_RIGHTS = (
    "the user of 'path' needs the rights to create and drop tables in the schema of the catalog, and to select, insert, update and "
    "delete in them, as the documentation (access control) describes; a user who only reads sets read_only: true"
)


class _Undo(Exception):
    """Rolls a transaction back."""


def try_creation(settings: CatalogSettings) -> None:
    """Try to create a lake where there is none, and undo it.

    Raises:
        ConfigurationError: it cannot be created; the message says what to correct.
        EngineError: the database cannot be reached.
    """
    file = settings.location.file
    if file is not None:
        _require_writable(file)
        return
    database = Database(settings.location, lake=settings.database)
    try:
        with _undone(database) as connection:
            if database.dialect.rolls_back_tables:
                create_tables(connection)
    finally:
        database.close()


def try_writing(database: Database) -> None:
    """Try the changes of a commit on the tables of a lake, and undo them.

    Raises:
        ConfigurationError: the user has not the rights.
        EngineError: the database failed, or is read-only.
    """
    if database.location.file is not None:
        _require_writable(database.location.file)
    with _undone(database) as connection:
        database.dialect.begin_commit(connection, database.schema)
        for table in t.METADATA.sorted_tables:
            connection.execute(insert(table).from_select(list(table.columns.keys()), select(table).where(false())))
            connection.execute(delete(table).where(false()))
        if database.dialect.rolls_back_tables:
            database.dialect.create_table(connection, _TRIED)


def clock_ahead(database: Database) -> timedelta | None:
    """Return how far the server's clock is ahead of this machine's; None if the database runs on this machine."""
    if database.dialect.clock is None:
        return None
    with database.reading() as connection:
        connection.scalar(select(database.dialect.clock))  # connecting takes time
        before = datetime.now(timezone.utc)
        found: Any = connection.scalar(select(database.dialect.clock))
        after = datetime.now(timezone.utc)
    ahead: timedelta = (found if found.tzinfo else found.replace(tzinfo=timezone.utc)) - (before + (after - before) / 2)
    return ahead


@contextmanager
def _undone(database: Database) -> Iterator[Connection]:
    """Open a writing transaction that is rolled back at the end.

    Raises:
        ConfigurationError: the database refuses a statement.
        EngineError: the database cannot be reached, is read-only, or other writers keep it busy.
    """
    connected = False
    try:
        with database.writing_without_tables() as connection:
            connected = True
            yield connection
            raise _Undo
    except _Undo:
        return
    except ConcurrentWriteError as error:
        raise database.busy(error) from error
    except ReadOnlyDatabaseError:
        raise
    except EngineError as error:
        if not connected:
            raise
        raise ConfigurationError(f"{error}; {_RIGHTS}") from error


def _require_writable(file: str) -> None:
    """Require that a file can be written or created, and that other files can be created beside it, such as a journal.

    Raises:
        ConfigurationError: this is not so.
    """
    directory = os.path.dirname(file)
    require_directory(directory)
    for path in (directory, file):
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise ConfigurationError(
                f"{path} of the catalog cannot be written by this user; change its rights, or set read_only: true if dbt only reads "
                "the lake"
            )
