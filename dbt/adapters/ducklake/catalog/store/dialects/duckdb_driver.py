"""A minimal SQLAlchemy driver for DuckDB files.

duckdb-engine 0.17 returns no row counts, which commits need, and keeps the file open. This driver attaches the file with the first
connection and detaches it with the last, so that another process can open it in between. All files of a process are attached to one
instance of DuckDB, because starting an instance takes longer than a commit.
"""

from __future__ import annotations

import functools
import os
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import text
from sqlalchemy.engine import URL, Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import IdentifierPreparer
from sqlalchemy.types import NULLTYPE
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from ....format.identifiers import duckdb_literal

if TYPE_CHECKING:
    import duckdb

STORAGE_VERSION = "v1.5.0"
"""The format of a new file: the first with variants. DuckDB 1.5 reads no newer one, and its `ducklake` extension creates this one."""
BUSY_TIMEOUT_SECONDS = 10.0
"""How long a connection waits for another process to release the file."""

_IN_USE = ("could not set lock", "conflicting lock", "used by another process", "unique file handle", "different configuration")
_CHANGES = ("INSERT", "UPDATE", "DELETE")
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "(SELECT")


def is_in_use(error: BaseException) -> bool:
    """Whether an error means that the file is open in another process, or in another instance in this process."""
    words = str(error).lower()
    return any(each in words for each in _IN_USE)


class _Cursor:
    """The result of one statement, in memory. DuckDB's own cursors cannot be used, because each has its own transaction."""

    arraysize = 1

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid = None

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        result = self._connection.execute(statement, list(parameters))
        self.description, self.rowcount, self._rows = None, -1, []
        kind = statement.lstrip()[:7].upper()
        if kind.startswith(_CHANGES):
            changed = result.fetchone()
            self.rowcount = -1 if changed is None else changed[0]
        elif kind.startswith(_QUERIES):
            self.description = result.description
            self._rows = result.fetchall()[::-1]

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(statement, [list(row) for row in rows])
        self.description, self.rowcount, self._rows = None, -1, []

    def fetchone(self) -> Any:
        return self._rows.pop() if self._rows else None

    def fetchmany(self, size: int | None = None) -> list[Any]:
        return [self._rows.pop() for _ in range(min(size or self.arraysize, len(self._rows)))]

    def fetchall(self) -> list[Any]:
        return self.fetchmany(len(self._rows)) if self._rows else []

    def close(self) -> None:
        self._rows = []


@dataclass
class _Attached:
    name: str
    connections: int = 0


class _Files:
    """The files that this process has open. Thread-safe."""

    def __init__(self) -> None:
        import duckdb

        self._instance = duckdb.connect(":memory:", config={"threads": 1})  # the queries are small
        self._attached: dict[tuple[str, bool], _Attached] = {}
        self._lock = threading.Lock()

    def open(self, file: str, read_only: bool) -> _Connection:
        """Open a connection to a file, which is created if it does not exist."""
        key = os.path.realpath(file), read_only
        with self._lock:
            if key not in self._attached:
                self._attached[key] = _Attached(self._attach(*key))
            attached = self._attached[key]
            attached.connections += 1
        connection = self._instance.cursor()
        connection.execute(f"USE {attached.name}")
        connection.execute("SET TimeZone = 'UTC'")
        return _Connection(connection, functools.partial(self._release, key))

    def _attach(self, file: str, read_only: bool) -> str:
        name = f"file_{uuid.uuid4().hex}"  # a name that no schema or table has
        option = ""
        if read_only:
            option = "(READ_ONLY)"
        elif not os.path.exists(file):
            option = f"(STORAGE_VERSION '{STORAGE_VERSION}')"  # an existing file keeps its version
        self._instance.execute(f"ATTACH {duckdb_literal(file)} AS {name} {option}")
        return name

    def _release(self, key: tuple[str, bool]) -> None:
        with self._lock:
            attached = self._attached[key]
            attached.connections -= 1
            if not attached.connections:
                del self._attached[key]
                self._instance.execute(f"DETACH {attached.name}")


@functools.cache
def _files(_process: int) -> _Files:
    """Return the open files of a process; a forked process must not use its parent's."""
    return _Files()


class _Connection:
    """A DuckDB connection with the interface of Python's DB-API."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, release: Callable[[], None]) -> None:
        self._connection = connection
        self._release: Callable[[], None] | None = release
        self._in_transaction = False

    def cursor(self) -> _Cursor:
        return _Cursor(self._connection)

    def begin(self) -> None:
        self._connection.execute("BEGIN TRANSACTION")
        self._in_transaction = True

    def commit(self) -> None:
        self._end("COMMIT")

    def rollback(self) -> None:
        self._end("ROLLBACK")

    def _end(self, statement: str) -> None:
        if self._in_transaction:  # a failed COMMIT has already rolled back
            self._in_transaction = False
            self._connection.execute(statement)

    def close(self) -> None:
        """Close the connection, and release the file if no other connection uses it."""
        release, self._release = self._release, None
        if release is not None:
            self._connection.close()
            release()


class _Preparer(IdentifierPreparer):
    """Quotes all names, because DuckDB has more reserved words than SQLAlchemy knows."""

    def quote(self, ident: str, *_: Any, **__: Any) -> str:
        """Quote a name, unless it is a placeholder of SQLAlchemy."""
        return ident if getattr(ident, "quote", None) is False else self.quote_identifier(ident)


class DuckDBFile(DefaultDialect):
    """An SQLAlchemy dialect for DuckDB files; the URL is `duckdb+ducklake:///` and the file name."""

    name = "duckdb"
    driver = "ducklake"
    default_paramstyle = "qmark"
    preparer = _Preparer
    supports_statement_cache = True
    supports_native_boolean = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = False
    supports_multivalues_insert = True
    use_insertmanyvalues = True
    use_insertmanyvalues_wo_returning = True
    insertmanyvalues_page_size = 500

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the driver's module."""
        import duckdb

        return duckdb

    def create_connect_args(self, url: URL) -> Any:
        """Return the arguments of `connect`."""
        return (url.database,), {}

    def connect(self, file: str, *, read_only: bool = False) -> Any:
        """Open the file, waiting up to `BUSY_TIMEOUT_SECONDS` for another process that has it open."""
        waiting = Retrying(
            retry=retry_if_exception(is_in_use), stop=stop_after_delay(BUSY_TIMEOUT_SECONDS), wait=wait_random(0.002, 0.02), reraise=True
        )
        try:
            return waiting(_files(os.getpid()).open, file, read_only)
        except self.dbapi.Error as error:  # type: ignore[union-attr]
            if not is_in_use(error):
                raise
            raise self.dbapi.IOException(  # type: ignore[union-attr]
                f"{str(error).partition(' See also')[0]} A DuckDB file can be open in one process at a time; close it there, "
                "or DETACH the lake, then run this again"
            ) from error

    def do_begin(self, dbapi_connection: Any) -> None:
        """Begin a transaction."""
        dbapi_connection.begin()

    # SQLAlchemy's inspect() calls the methods below.

    def _get_default_schema_name(self, _connection: Connection) -> str:
        return "main"

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """Return the names of all schemas."""
        return list(connection.scalars(text("SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()")))

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """Whether a table exists."""
        return table_name in self.get_table_names(connection, schema)

    def get_table_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """Return the names of all tables in a schema."""
        query = text("SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = :schema")
        return [row[0] for row in connection.execute(query, {"schema": schema or self.default_schema_name})]

    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return the names of a table's columns, without their types."""
        query = text(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = :schema "
            "AND table_name = :table ORDER BY column_index"
        )
        rows = connection.execute(query, {"schema": schema or self.default_schema_name, "table": table_name})
        return [{"name": row[0], "type": NULLTYPE} for row in rows]
