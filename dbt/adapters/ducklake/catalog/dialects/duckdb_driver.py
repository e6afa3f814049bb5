"""A driver of SQLAlchemy for DuckDB files, no larger than the catalog needs.

duckdb-engine, measured at 0.17, gives no row counts, of which a commit makes its decisions. Here a connection is a database that was
opened: it is released with the connection, so that DuckDB in another process can have the file in between. Within a process DuckDB shares
one instance of a file among its connections, and refuses a second instance.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import text
from sqlalchemy.engine import URL, Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.types import NULLTYPE

if TYPE_CHECKING:
    import duckdb

BUSY_TIMEOUT_SECONDS = 10.0
"""How long a connection waits for another process to release the file."""

_IN_USE = ("could not set lock", "conflicting lock", "used by another process", "unique file handle", "different configuration")
_CHANGES = ("INSERT", "UPDATE", "DELETE")
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "(SELECT")


def is_in_use(error: BaseException) -> bool:
    """Whether somebody else has the file open: another process, or another instance in this one."""
    words = str(error).lower()
    return any(each in words for each in _IN_USE)


class _Cursor:
    """The result of one statement, complete in memory: DuckDB's own cursors are connections with transactions of their own."""

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


class _Connection:
    """A DuckDB connection with the manners of the Python database interface."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
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
        if self._in_transaction:  # a COMMIT that fails has rolled back
            self._in_transaction = False
            self._connection.execute(statement)

    def close(self) -> None:
        self._connection.close()


class DuckDBFile(DefaultDialect):
    """DuckDB files for SQLAlchemy: `duckdb+ducklake:///` and the file's name."""

    name = "duckdb"
    driver = "ducklake"
    default_paramstyle = "qmark"
    default_schema_name = "main"
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
        import duckdb

        return duckdb

    def create_connect_args(self, url: URL) -> Any:
        return (url.database,), {}

    def connect(self, file: str, *, read_only: bool = False) -> Any:
        """Open the file, waiting a while for whoever else has it."""
        deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
        while True:
            try:
                return _Connection(self._open(file, read_only))
            except self.dbapi.Error as error:  # type: ignore[union-attr]
                if not is_in_use(error):
                    raise
                if time.monotonic() > deadline:
                    raise self.dbapi.IOException(  # type: ignore[union-attr]
                        f"{str(error).partition(' See also')[0]} A DuckDB file can be open in one process at a time; close it there, "
                        "or DETACH the lake, then run this again"
                    ) from error
                time.sleep(random.uniform(0.002, 0.02))

    def _open(self, file: str, read_only: bool) -> duckdb.DuckDBPyConnection:
        import duckdb

        if not read_only and not os.path.exists(file):
            with duckdb.connect() as maker:  # as the reference creates its catalogs; an existing file keeps its version
                quoted = file.replace("'", "''")
                maker.execute(f"ATTACH '{quoted}' AS made (STORAGE_VERSION 'latest')")
        connection = duckdb.connect(file, read_only=read_only)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def do_begin(self, dbapi_connection: Any) -> None:
        dbapi_connection.begin()

    # What SQLAlchemy's inspect() asks.

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> bool:
        return table_name in self.get_table_names(connection, schema)

    def get_table_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        query = text("SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = :schema")
        return [row[0] for row in connection.execute(query, {"schema": schema or self.default_schema_name})]

    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        query = text(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = :schema "
            "AND table_name = :table ORDER BY column_index"
        )
        rows = connection.execute(query, {"schema": schema or self.default_schema_name, "table": table_name})
        return [{"name": row[0], "type": NULLTYPE} for row in rows]
