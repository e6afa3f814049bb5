"""SQLite as a catalog database: one file, one writer at a time.

SQLite has no types for timestamps, uuids and booleans. DuckDB stores them as text, text and 0/1, and refuses other values in these columns.
"""

from __future__ import annotations

import os
import re
import sqlite3
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, case, cast, event, func, type_coerce
from sqlalchemy.dialects.sqlite import BLOB
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.types import BIGINT, NUMERIC, VARCHAR, Double

from .dialect import CatalogDialect, ReadOnlyError, inlined_types_for

BUSY_TIMEOUT_SECONDS = 5.0
"""How long a commit, or the first read of a transaction, waits for a lock before it is retried; the reference implementation's
default."""
READ_TIMEOUT_SECONDS = 30.0
"""How long another read waits. It is not retried, and a reader can lose the race for the lock several times while many writers commit."""

_TIMESTAMP_TEXT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?\s*(Z|[+-]\d\d(?::?\d\d)?)?")


class _FileState(NamedTuple):
    """Which file a path names, and whether it can be written."""

    device: int
    inode: int
    writable: bool


def write_timestamp(value: datetime) -> str:
    """Format a timestamp in UTC with a space, `+00` and no trailing zeros, as DuckDB does, because it sometimes compares these strings."""
    timestamp = value.astimezone(timezone.utc)
    fraction = f".{timestamp.microsecond:06d}".rstrip("0") if timestamp.microsecond else ""
    return f"{timestamp.replace(microsecond=0, tzinfo=None).isoformat(' ')}{fraction}+00"


def read_timestamp(value: Any) -> datetime:
    """Parse a timestamp in any form that DuckDB reads; without an offset it is in UTC.

    Raises:
        ValueError: the value is not a timestamp.
    """
    match = _TIMESTAMP_TEXT.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"not a timestamp: {value!r}")
    offset = match[4] or "+00"
    offset = "+00:00" if offset == "Z" else offset if ":" in offset else f"{offset[:3]}:{offset[3:] or '00'}"
    text = f"{match[1]}T{match[2]}.{(match[3] or '0').ljust(6, '0')}{offset}"
    return datetime.fromisoformat(text).astimezone(timezone.utc)


def _in_utc(stored: Any) -> Any:
    """Return a stored timestamp as `write_timestamp` writes it, so that texts compare by time; other values are unchanged.

    DuckDB writes timestamps in the time zone of its process.
    """
    text = str(stored)
    if text.endswith("+00") and text[10:11] == " ":
        return stored
    try:
        return write_timestamp(read_timestamp(text))
    except (ValueError, OverflowError):
        return stored


def _prepare(engine: Engine, read_only: bool) -> None:
    """Set up the connections of an engine: pragmas, functions, how long they wait for locks, and an explicit BEGIN.

    The driver's own transactions begin too late to take the write lock first.
    """

    def file_state() -> _FileState | None:
        """Return the state of the file; None if there is none."""
        try:
            found = os.stat(str(engine.url.database))
        except OSError:
            return None
        can_write = os.access(str(engine.url.database), os.W_OK, effective_ids=os.access in os.supports_effective_ids)
        return _FileState(found.st_dev, found.st_ino, can_write)

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        record.info["file"] = file_state()
        connection.isolation_level = None
        connection.create_function("ducklake_in_utc", 1, _in_utc, deterministic=True)
        connection.execute("PRAGMA cache_spill = OFF")  # a spill would block this process's own readers before the commit
        if read_only:
            connection.execute("PRAGMA query_only = ON")

    @event.listens_for(engine, "checkout")
    def _reopen(_connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
        """Replace a connection to a file that was replaced, or was write-protected when it was opened: SQLite never writes through it."""
        if record.info["file"] != file_state():
            raise DisconnectionError

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        writes = options.get("ducklake_writes", False)
        file = connection.info["file"]
        if writes and file is not None and not file.writable:
            raise ReadOnlyError("the file is write-protected")
        seconds = BUSY_TIMEOUT_SECONDS if writes or options.get("ducklake_retried", False) else READ_TIMEOUT_SECONDS
        if connection.info.get("busy_timeout") != seconds:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            connection.info["busy_timeout"] = seconds
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_write_conflict(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, sqlite3.OperationalError) and ("locked" in text or "busy" in text)


def _parse_number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """Convert a string that equals its number; a cast alone would use the leading digits of any string."""
    number = cast(text, NUMERIC)
    return case((number == type_coerce(text, NUMERIC), cast(text, Double)))


SQLITE = CatalogDialect(
    name="sqlite",
    default_schema=None,
    uuid_type=VARCHAR(),
    boolean_type=BIGINT(),
    timestamp_type=VARCHAR(),
    write_boolean=int,
    write_timestamp=write_timestamp,
    read_timestamp=read_timestamp,
    comparable_timestamp=func.ducklake_in_utc,
    engine_options=MappingProxyType({"connect_args": {"timeout": BUSY_TIMEOUT_SECONDS}, "pool_size": 16, "max_overflow": 32}),
    prepare_engine=_prepare,
    is_write_conflict=_is_write_conflict,
    inlined_types=inlined_types_for(BIGINT(), VARCHAR(), BLOB()),
    max_inlined_columns=1997,  # SQLITE_MAX_COLUMN is 2000, and an inlined-data table has 3 columns of its own
    parse_number=_parse_number,
)
