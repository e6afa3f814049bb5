"""dbt's connections: one lake per process, one session per connection, one transaction per node, errors and answers in dbt's terms."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any, cast

from dbt.adapters.contracts.connection import AdapterRequiredConfig, AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions.connection import FailedToConnectError
from dbt.adapters.sql.connections import SQLConnectionManager
from dbt_common.exceptions import DbtBaseException, DbtDatabaseError, DbtRuntimeError

from .credentials import DuckLakeCredentials
from .cursor import LakeCursor, LakeHandle, Outcome
from .errors import ConfigurationError, DuckLakeError
from .provenance import of_connection

if TYPE_CHECKING:
    from agate.table import Table as AgateTable

    from .plan.bound import FilesRead
    from .run.result import FilesWritten, Result
    from .session import Lake

logger = AdapterLogger("DuckLake")

NO_SNAPSHOT = " (nothing changed, no snapshot)"
NOBODY_COMMITS = ("master", "macro_")
"""How the connections begin on which dbt runs hooks and operations: nothing commits there at the end, so each statement does."""


@dataclass
class DuckLakeResponse(AdapterResponse):
    """What a statement did. In a transaction, what the whole of it read and wrote is filled in when it commits."""

    snapshot_id: int | None = None
    """None also if nothing changed, which the message then says."""
    files_read: int | None = None
    """Data files, a table once for each place that names it."""
    bytes_read: int | None = None
    """The size of these files; Spark reads less where it needs not all columns or row groups."""
    files_written: int | None = None
    """Data files and delete files; few rows may be kept in the catalog database instead."""
    bytes_written: int | None = None

    def committed(self, outcome: Outcome) -> None:
        """Say what became of the statement and its transaction."""
        if outcome.result is not None:
            self.say(outcome.result)
        self.snapshot_id = outcome.snapshot_id
        self.count_files(outcome.read, outcome.written)
        if outcome.snapshot_id is None:
            self._message += NO_SNAPSHOT

    def __getattribute__(self, name: str) -> Any:
        """A macro that reads `rows_affected` may decide by it; see `Result.unwatched`."""
        if name == "rows_affected":
            super().__getattribute__("_look")()
        return super().__getattribute__(name)

    def _look(self) -> None:
        """Replaced by what notes that the count was read."""

    def say(self, result: Result) -> None:
        """Say what a statement did to rows."""
        result, look = result.unwatched()
        object.__setattr__(self, "_look", look)
        self._message = result.message or "OK"
        self.code = self._message.split(" ", 1)[0]
        self.rows_affected = result.rowcount if result.rowcount >= 0 else None

    def count_files(self, read: Iterable[FilesRead], written: FilesWritten) -> None:
        """Say how many files were read and written."""
        read = list(read)
        self.files_read, self.bytes_read = sum(files.read for files in read), sum(files.size_bytes for files in read)
        self.files_written, self.bytes_written = written.count, written.size_bytes


class DuckLakeConnectionManager(SQLConnectionManager):
    """Opens lake sessions and runs statements on them."""

    TYPE = "ducklake"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(profile, mp_context)
        self._lake: Lake | None = None

    # -- opening and closing ---------------------------------------------------------------------------------------------------

    @property
    def credentials(self) -> DuckLakeCredentials:
        """The profile's output."""
        return cast(DuckLakeCredentials, self.profile.credentials)

    def lake(self) -> Lake:
        """The lake of the profile, opened on the first call. Starts no Spark.

        Raises:
            FailedToConnectError: the text says what to mend.
        """
        with self.lock:
            if self._lake is None:
                from .session import Lake

                try:
                    self._lake = Lake.open(self.credentials.lake_settings())
                except DuckLakeError as error:
                    raise FailedToConnectError(str(error)) from error
                for folder in map(os.path.abspath, self.credentials.module_paths):
                    if folder not in sys.path:
                        sys.path.append(folder)
            return self._lake

    def open(self, connection: Connection) -> Connection:  # type: ignore[override] # dbt calls it on the instance
        """Give the connection a session of its own."""
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            session = self.lake().session(self.credentials.schema)
            session.notify = logger.info
        except BaseException:
            connection.handle = None
            connection.state = ConnectionState.FAIL
            raise
        connection.handle = LakeHandle(session, of_connection(self.profile, connection.name))
        connection.state = ConnectionState.OPEN
        return connection

    def cleanup_all(self) -> None:
        """Close every session, then the catalogs. A Spark that runs stays for the next command of this process."""
        super().cleanup_all()
        with self.lock:
            lake, self._lake = self._lake, None
        if lake is not None:
            lake.close_catalogs()

    def cancel(self, connection: Connection) -> None:
        """Stop what runs on another thread's connection."""
        logger.debug(f"Cancelling the work of connection {connection.name}")
        connection.handle.cancel()

    def handle(self) -> LakeHandle:
        """The handle of this thread's connection."""
        handle: LakeHandle = self.get_thread_connection().handle
        return handle

    # -- transactions ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Open a transaction; nothing happens if one is open."""
        connection = self.get_thread_connection()
        if not connection.transaction_open:
            with self.exception_handler("BEGIN"):
                connection.handle.begin()
            connection.transaction_open = True

    def commit(self) -> None:
        """Commit what is staged as one snapshot; nothing happens if no transaction is open."""
        connection = self.get_thread_connection()
        if not connection.transaction_open:
            return
        with self.exception_handler("COMMIT"):
            snapshot = connection.handle.commit()
        connection.transaction_open = False
        if snapshot is not None:
            logger.debug(f"{connection.name} is snapshot {snapshot.snapshot_id}")

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """The one place where our errors become dbt's; a transaction that is open is rolled back."""
        try:
            yield
        except DbtBaseException:
            raise
        except Exception as error:
            logger.debug(f"Error while running:\n{sql}\n{type(error).__name__}: {error}")
            self.rollback_if_open()
            match error:
                case ConfigurationError():
                    raise DbtRuntimeError(str(error)) from error
                case DuckLakeError():
                    raise DbtDatabaseError(str(error)) from error
                case _:
                    raise DbtRuntimeError(f"{type(error).__name__}: {error}") from error

    # -- statements ------------------------------------------------------------------------------------------------------------

    def add_query(self, sql: str, auto_begin: bool = True, *args: Any, **kwargs: Any) -> tuple[Connection, Any]:
        """Run a statement; on the connections of hooks and operations no transaction is begun for it."""
        name = self.get_thread_connection().name or ""
        return super().add_query(sql, auto_begin and not name.startswith(NOBODY_COMMITS), *args, **kwargs)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, AgateTable]:
        """Run a statement and fetch its rows if wanted; errors while fetching are translated too."""
        with self.exception_handler(sql):
            response, table = super().execute(sql, auto_begin, fetch, limit)
            if isinstance(response, DuckLakeResponse):
                self.handle().on_commit(response.committed)
        return response, table

    @classmethod
    def get_response(cls, cursor: LakeCursor) -> DuckLakeResponse:
        """What the cursor's last statement did."""
        result = cursor.result
        if result is None:
            return DuckLakeResponse("OK")
        for files in result.files:
            logger.debug(f"Reading {files}")
        response = DuckLakeResponse("OK", snapshot_id=result.snapshot.snapshot_id if result.snapshot else None)
        response.say(result)
        response.count_files(result.files, result.written)
        return response

    @classmethod
    def data_type_code_to_name(cls, type_code: int | str) -> str:
        """A cursor's description holds the types' names."""
        return str(type_code)
