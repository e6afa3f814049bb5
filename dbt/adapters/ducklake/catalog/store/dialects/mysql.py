"""MySQL 8 and MariaDB as a catalog database: our own mapping (docs/mysql.md), because the reference implementation has none.

Tables use InnoDB, strings are utf8mb4 and compared byte by byte, timestamps are DATETIME(6) in UTC. CREATE TABLE commits the open
transaction, so it uses a separate connection. Writers exclude each other by a named lock of the server, which a commit does not release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

from sqlalchemy import Table, delete, event, func, inspect, literal, select, text
from sqlalchemy.dialects.mysql import CHAR, DATETIME, LONGBLOB, LONGTEXT
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.schema import CreateTable, DropTable
from sqlalchemy.types import BIGINT

from ....errors import ConfigurationError
from ....format.inlined import base_type
from ....format.objects import Column
from .dialect import BusyError, CatalogDialect, inlined_types_for

BUSY_TIMEOUT_SECONDS = 10
"""How long a writer waits for the write lock, and a statement for a lock."""

_RETRYABLE = frozenset({1020, 1050, 1062, 1205, 1213, 1412, 3572})
"""Server error codes, in this order: record changed since last read (MariaDB's snapshot isolation), table exists, duplicate key, lock wait
timeout, deadlock (also a certification failure of a cluster), table definition changed, NOWAIT."""

_SESSION = (
    "SET SESSION sql_mode = 'TRADITIONAL,NO_ENGINE_SUBSTITUTION'",  # values that do not fit are errors
    "SET SESSION default_storage_engine = InnoDB",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    f"SET SESSION innodb_lock_wait_timeout = {BUSY_TIMEOUT_SECONDS}",
)


def _prepare(engine: Engine, _read_only: bool) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)


def _begin_read(connection: Connection) -> None:
    connection.execute(text("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"))


@contextmanager
def _write_lock(connection: Connection) -> Iterator[None]:
    """Take the lock before the first statement of the transaction, because that statement fixes the snapshot that it reads."""
    name = "ducklake:" + hashlib.sha256((connection.engine.url.database or "").encode()).hexdigest()[:40]
    acquired = connection.scalar(text("SELECT GET_LOCK(:name, :seconds)"), {"name": name, "seconds": BUSY_TIMEOUT_SECONDS})
    connection.rollback()
    if acquired != 1:
        raise BusyError("another writer held the lock of the catalog for too long")
    try:
        yield
    finally:
        if not connection.invalidated:  # an invalidated connection has released the lock
            connection.scalar(text("SELECT RELEASE_LOCK(:name)"), {"name": name})
            connection.rollback()


def _create_table(connection: Connection, table: Table) -> None:
    """Create a table. An empty one that a failed attempt has left is replaced.

    Raises:
        ConfigurationError: the table exists and has rows, as in a catalog that is being restored.
    """
    with connection.engine.begin() as separate:
        if inspect(separate).has_table(table.name):
            if separate.execute(select(literal(1)).select_from(table).limit(1)).first() is not None:
                raise ConfigurationError(
                    f"the table {table.name} of the catalog database has rows, but ducklake_metadata does not describe a lake; "
                    "restore the database completely, or use another one"
                )
            separate.execute(DropTable(table))
        separate.execute(CreateTable(table))


def _empty_table(connection: Connection, table: Table) -> None:
    """Delete all rows of a table instead of dropping it: DROP TABLE would commit the open transaction."""
    connection.execute(delete(table))


def _is_write_conflict(error: BaseException) -> bool:
    return bool(error.args) and error.args[0] in _RETRYABLE


def _write_timestamp(value: datetime) -> datetime:
    return value.astimezone(timezone.utc).replace(tzinfo=None)


_TEXT = LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
_TYPES = inlined_types_for(BIGINT(), _TEXT, LONGBLOB())
_OWN_COLUMNS = ("row_id", "begin_snapshot", "end_snapshot")
_RESERVED_COLUMNS = frozenset({"db_row_id", "db_trx_id", "db_roll_ptr", "fts_doc_id"})
"""InnoDB's own columns."""


def _column_bytes(column: Column) -> int:
    """Return how many bytes a column needs in the row's page: InnoDB stores up to 40 bytes of a string or blob there, and their number."""
    return 8 if isinstance(_TYPES[base_type(column.type)], BIGINT) else 41


def _storable_names(names: Sequence[str]) -> bool:
    """Whether the server accepts the names: it compares them case-insensitively, letter by letter, and only up to U+FFFF."""
    folded = ["".join(letter.lower()[0] for letter in name) for name in (*_OWN_COLUMNS, *names)]
    accepted = all(name and name[-1] not in " \t\n\v\f\r" and max(name) <= "\uffff" for name in names)
    return accepted and len(set(folded)) == len(folded) and _RESERVED_COLUMNS.isdisjoint(folded)


MYSQL = CatalogDialect(
    name="mysql",
    default_schema=None,
    uuid_type=CHAR(36, charset="ascii", collation="ascii_bin"),
    timestamp_type=DATETIME(fsp=6),
    write_timestamp=_write_timestamp,
    engine_options=MappingProxyType({"pool_pre_ping": True, "pool_recycle": 1800, "pool_size": 16, "max_overflow": 32}),
    prepare_engine=_prepare,
    begin_read=_begin_read,
    is_write_conflict=_is_write_conflict,
    inlined_types=_TYPES,
    read_by_duckdb=False,
    text_type=_TEXT,
    write_lock=_write_lock,
    create_table=_create_table,
    drop_table=_empty_table,
    max_identifier_bytes=64,
    storable_names=_storable_names,
    # A row has 8126 bytes, of which up to 175 are the header, InnoDB's own columns and those of an inlined-data table. The limit of 1017
    # columns is never reached.
    max_inlined_row_bytes=7950,
    inlined_column_bytes=_column_bytes,
    # A statement has up to max_allowed_packet, by default 16 MB in MariaDB, and escapes can double a value. InnoDB also limits the size of
    # a blob to a tenth of its log.
    max_inlined_bytes=4_000_000,
    rolls_back_tables=False,
    clock=func.utc_timestamp(6),
    extra="mysql",
)
