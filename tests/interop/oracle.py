"""The reference implementation: DuckDB with its ducklake extension, both from PyPI."""

from __future__ import annotations

import multiprocessing
import time
import weakref
from typing import Any, Protocol

import duckdb
import pyarrow as pa
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tests.duckdb_instances import open_duckdb
from tests.places import ENCRYPTED

EXTENSIONS = ("ducklake", "sqlite_scanner", "postgres_scanner", "httpfs")
"""DuckDB writes encrypted files only with `httpfs`."""


class Place(Protocol):
    """The location of a lake."""

    @property
    def path(self) -> str:
        """An attach string `ducklake:…`, or the URL of a PostgreSQL database."""

    @property
    def data_path(self) -> str: ...

    @property
    def metadata_schema(self) -> str | None: ...


def attach_string(path: str) -> str:
    """Return the string that ATTACH expects."""
    return path if path.startswith("ducklake:") else f"ducklake:postgres:{path}"


def is_exclusive(place: Place) -> bool:
    """Return whether only one program at a time can open the catalog, as with a DuckDB file."""
    return place.path.startswith("ducklake:duckdb:")


def arrow_table(connection: duckdb.DuckDBPyConnection | ExclusiveConnection, query: str) -> pa.Table:
    """Return the rows of a query as an Arrow table."""
    return connection.arrow_table(query) if isinstance(connection, ExclusiveConnection) else connection.execute(query).to_arrow_table()


def connect(place: Place, *, alias: str = "lake", **options: Any) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection with the lake attached. The lake is created if it does not exist. The session's zone is UTC.

    Args:
        place: The location of the lake.
        alias: The name of the lake in DuckDB.
        options: Further options of ATTACH, such as `data_inlining_row_limit=0`.
    """
    connection = open_duckdb(*EXTENSIONS)
    connection.execute("SET TimeZone = 'UTC'")
    if is_exclusive(place):
        return ExclusiveConnection(connection, place, alias, options)  # type: ignore[return-value]
    attach(connection, place, alias=alias, **options)
    return connection


def attach(connection: duckdb.DuckDBPyConnection, place: Place, *, alias: str = "lake", **options: Any) -> None:
    """Attach a lake to an open connection."""
    settings = {"data_path": place.data_path, **({"encrypted": True} if ENCRYPTED else {}), **options}
    if place.metadata_schema is not None:
        settings["metadata_schema"] = place.metadata_schema
    listed = ", ".join(f"{name.upper()} {_literal(value)}" for name, value in settings.items())
    connection.execute(f"ATTACH '{attach_string(place.path)}' AS {alias} ({listed})")


def reattach(connection: duckdb.DuckDBPyConnection | ExclusiveConnection, place: Place, **options: Any) -> None:
    """Attach the lake again as `lake`, as a client with other options would."""
    if isinstance(connection, ExclusiveConnection):
        connection.reattach(options)
        return
    connection.execute("USE memory")
    connection.execute("DETACH lake")
    attach(connection, place, **options)
    connection.execute("USE lake")


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


_attached: weakref.WeakSet[ExclusiveConnection] = weakref.WeakSet()
"""The connections of this process that have a DuckDB file open."""


@event.listens_for(Engine, "do_connect")
def release_files(*_: object) -> None:
    """Release all DuckDB files that no transaction uses, before we open a catalog."""
    for each in list(_attached):
        each.release()


class ExclusiveConnection:
    """A connection to a catalog that DuckDB cannot share: attached when a statement needs it, released before we open the file.

    DuckDB refuses two instances on one file in one process. A connection of another process releases the file after each statement. The
    session's state (USE, settings, temporary tables) is kept.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, place: Place, alias: str, options: dict[str, Any]) -> None:
        self._connection, self._place, self._alias, self._options = connection, place, alias, options
        self._in_transaction = False
        self._current: str | None = None
        self._rows: list[Any] = []
        self.description: Any = None
        self.execute("SELECT 1")  # like a real connection, it creates the lake and fails if it cannot

    def execute(self, statement: str, parameters: Any = None) -> ExclusiveConnection:
        word = statement.split(None, 1)[0].upper().rstrip(";")
        self._attach()
        try:
            result = self._connection.execute(statement, parameters)
            self.description, self._rows = result.description, result.fetchall() if result.description else []
            if word == "USE":
                self._current = statement
            self._in_transaction = word == "BEGIN" or (self._in_transaction and word not in ("COMMIT", "ROLLBACK", "ABORT"))
        finally:
            if multiprocessing.parent_process() is not None:
                self.release()
        return self

    sql = execute

    def arrow_table(self, query: str) -> pa.Table:
        """Return the rows of a query as an Arrow table."""
        self._attach()
        return self._connection.execute(query).to_arrow_table()

    def executemany(self, statement: str, rows: Any) -> None:
        self._attach()
        self._connection.executemany(statement, rows)

    def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def reattach(self, options: dict[str, Any]) -> None:
        """Attach with other options from now on."""
        self.release()
        self._options = options

    def close(self) -> None:
        self._in_transaction = False
        self.release()
        self._connection.close()

    def release(self) -> None:
        """Release the file, unless a transaction is open."""
        if self in _attached and not self._in_transaction:
            try:
                self._connection.execute("USE memory")
            except duckdb.TransactionException:  # a failed statement has left its transaction open
                self._connection.execute("ROLLBACK")
                self._connection.execute("USE memory")
            self._connection.execute(f"DETACH {self._alias}")
            _attached.discard(self)

    def _attach(self) -> None:
        if self in _attached:
            return
        release_files()
        deadline = time.monotonic() + 30
        while True:
            try:
                attach(self._connection, self._place, alias=self._alias, **self._options)
                break
            except duckdb.IOException as error:  # another process has opened the file
                if "Could not set lock" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        _attached.add(self)
        if self._current is not None:
            self._connection.execute(self._current)

    def __enter__(self) -> ExclusiveConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
