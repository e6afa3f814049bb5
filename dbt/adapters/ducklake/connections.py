"""dbt's connections: one lake per process, one session per connection, one transaction per node. On-run hooks commit each statement."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any, cast

from dbt.adapters.contracts.connection import AdapterRequiredConfig, AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.events.types import AdapterEventWarning
from dbt.adapters.exceptions.connection import FailedToConnectError
from dbt.adapters.sql.connections import SQLConnectionManager
from dbt.flags import get_flags
from dbt_common.clients.agate_helper import empty_table
from dbt_common.events.functions import warn_or_error
from dbt_common.exceptions import DbtBaseException, DbtDatabaseError, DbtRuntimeError

from dbt import selected_resources

from .credentials import DuckLakeCredentials
from .cursor import CommitOutcome, LakeCursor, LakeHandle
from .errors import CancelledError, ConfigurationError, DuckLakeError
from .garbage import importing
from .provenance import provenance_of
from .publishing.plans import check_nodes, plans, require_hook
from .publishing.results import names, publish_run, publish_tested, thresholds_reached
from .publishing.settings import RUN, Publishing, builds_nodes
from .selection import retried

if TYPE_CHECKING:
    from agate.table import Table as AgateTable

    from .plan.bound import FilesRead
    from .run.result import FilesWritten, Result
    from .session import Lake
    from .spark.session.runtime import SparkRuntime

logger = AdapterLogger("DuckLake")

NO_SNAPSHOT = " (nothing changed, no snapshot)"
STAGED = " (staged)"
HOOKS = "master"
"""The connection for the hooks of a command."""
AUTOCOMMIT_CONNECTIONS = (HOOKS, "macro_")
"""Prefixes of the names of connections for hooks and operations. dbt never commits on these, so each statement is its own transaction."""
_PUBLISH = "publish the staged changes"
"""The statement of the hook at the end of a command."""
_RUN_AGAIN = "Run the command again; `dbt retry` would not rebuild these nodes"


@dataclass
class DuckLakeResponse(AdapterResponse):
    """The response to a statement. The commit of a transaction fills in the files that all its statements read and wrote."""

    snapshot_id: int | None = None
    """The snapshot that the statement or its transaction committed. None before the commit, if nothing changed, or if the changes are
    staged; after the commit of a transaction, the message says which."""
    files_read: int | None = None
    """Number of data files. The files of a table count once for each place in the statement that names the table."""
    bytes_read: int | None = None
    """Size of these files in bytes; Spark reads less if it does not need all columns or row groups."""
    files_written: int | None = None
    """Number of data files and delete files; few rows may be stored in the catalog database instead."""
    bytes_written: int | None = None
    """Size of these files in bytes."""

    def committed(self, outcome: CommitOutcome) -> None:
        """Fill in the outcome of the statement and its transaction."""
        if outcome.result is not None:
            self.set_result(outcome.result)
        self.snapshot_id = outcome.snapshot_id
        self.count_files(outcome.read, outcome.written)
        if outcome.snapshot_id is None:
            self._message += STAGED if outcome.staged else NO_SNAPSHOT

    def __getattribute__(self, name: str) -> Any:
        """Report that `rows_affected` is read, since a macro may use it for a decision; see `Result.unobserved`."""
        if name == "rows_affected":
            super().__getattribute__("_on_counts_read")()
        return super().__getattribute__(name)

    def _on_counts_read(self) -> None:
        """Do nothing; `set_result` replaces this with a function that records the read."""

    def set_result(self, result: Result) -> None:
        """Fill in the message and the number of changed rows."""
        result, on_counts_read = result.unobserved()
        object.__setattr__(self, "_on_counts_read", on_counts_read)
        self._message = result.message or "OK"
        self.code = self._message.split(" ", 1)[0]
        self.rows_affected = result.rowcount if result.rowcount >= 0 else None

    def count_files(self, read: Iterable[FilesRead], written: FilesWritten) -> None:
        """Fill in the number and size of the files that were read and written."""
        read = list(read)
        self.files_read, self.bytes_read = sum(files.read for files in read), sum(files.size_bytes for files in read)
        self.files_written, self.bytes_written = written.count, written.size_bytes


class DuckLakeConnectionManager(SQLConnectionManager):
    """Opens lake sessions and runs statements on them."""

    TYPE = "ducklake"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(profile, mp_context)
        self._lake: Lake | None = None
        self._runtime: SparkRuntime | None = None
        self.manifest: Any = None
        """dbt's manifest, when it is loaded."""
        self._has_opened_nodes = False
        self._results: Sequence[Any] = ()
        self._retried = retried()

    # -- opening and closing ---------------------------------------------------------------------------------------------------

    @property
    def credentials(self) -> DuckLakeCredentials:
        """The profile's output."""
        return cast(DuckLakeCredentials, self.profile.credentials)

    @property
    def publishing(self) -> Publishing:
        """The settings `publish` and `publish_on` of this command."""
        return Publishing.of(self.credentials, self.profile)

    @property
    def selected(self) -> Collection[str]:
        """The ids of the nodes and tests that this command runs."""
        return selected_resources.SELECTED_RESOURCES if self._retried is None else self._retried

    def publishing_statement(self, results: Sequence[Any]) -> str:
        """Return the statement that publishes the staged changes if the results allow it.

        A hook runs it, so that dbt reports its failure as that of the hook. dbt would take an error while it renders the hook for Ctrl-C.

        Args:
            results: dbt's results of the nodes, including tests.
        """
        self._results = results
        return _PUBLISH

    def _publish(self) -> None:
        """Publish the staged changes at the end of the command if its results allow it, and log the outcome.

        Raises:
            DbtRuntimeError: a concurrent writer's change prevents publishing, or a deferred maintenance statement failed.
        """
        if self._lake is not None:
            publishing = self.publishing
            if publishing.publish == RUN:
                lines = publish_run(self._lake, self.profile, self._results, publishing.publish_on, self.selected)
            else:
                lines = publish_tested(self._lake, self.profile, self._results, publishing.publish_on)
            for line in lines:
                logger.info(line)

    def test_ran(self, test: Mapping[str, Any], counted: Any, *, warnings_fail: bool) -> None:
        """Record the result of a test: publish the nodes that waited only for it, or keep them unpublished; see `Publishing.failure`.

        If dbt will reject the result as malformed, nothing is recorded, and the nodes wait until the end of the command.

        Args:
            test: the test's node, as a dict.
            counted: an agate table with one row: `failures`, `should_warn`, `should_error`.
            warnings_fail: whether dbt turns warnings into errors (`--warn-error`).
        """
        nodes = None if self._lake is None else self._lake.nodes
        reached = None if nodes is None else thresholds_reached(counted)
        if nodes is not None and reached is not None:
            warning, error = reached
            failure = self.publishing.failure(test, error=error, warning=warning, warnings_fail=warnings_fail)
            with self.exception_handler("COMMIT"):
                nodes.record_test(test["unique_id"], failure)

    def lake(self) -> Lake:
        """Return the lake of the profile; the first call opens it. This does not start Spark.

        Raises:
            FailedToConnectError: the lake cannot be opened; or the command stages its changes, and the manifest lacks the hook that
                publishes them. The message says what to correct.
            DbtRuntimeError: see `check_nodes`.
        """
        with self.lock:
            if self._lake is None:
                with importing():
                    from .session import Lake

                if builds_nodes(self.profile):
                    check_nodes(self.manifest, self.selected, self.publishing)
                stages = self.publishing.stages(self.profile)
                try:
                    if stages:
                        require_hook(self.manifest)
                    lake = Lake.open(self.credentials.lake_settings(), self._spark(), _warn)
                except DuckLakeError as error:
                    raise FailedToConnectError(str(error)) from error
                if stages:
                    try:
                        self._stage(lake)
                    except BaseException:
                        lake.close_catalogs()
                        raise
                self._lake = lake  # not before it stages: nodes of a later connection would commit directly
                for folder in map(os.path.abspath, self.credentials.module_paths):
                    if folder not in sys.path:
                        sys.path.append(folder)
            return self._lake

    def _stage(self, lake: Lake) -> None:
        if self.publishing.publish == RUN:
            lake.stage_run()
        else:
            lake.stage_nodes(plans(self.manifest, self.selected, self.publishing))

    def check_setup(self) -> None:
        """Check the lake, the attached lakes and Spark; log the result of each check.

        Raises:
            ConfigurationError: a check failed; the message lists all failures.
        """
        from .session.doctor import run_checks

        failures = []
        for found in run_checks(self.credentials.lake_settings(), self._spark()):
            logger.info(f"  {found.check}: {'failed' if found.error else 'ok'}{f' ({found.detail})' if found.detail else ''}")
            if found.error is not None:
                failures.append(f"{found.check}: failed, because {found.error}")
        if failures:
            raise ConfigurationError("\n  ".join(failures))

    def _project_root(self) -> str:
        """Return the project's folder. `dbt debug` passes the adapter only a profile, so the flags and the current folder are fallbacks."""
        root = getattr(self.profile, "project_root", None) or getattr(get_flags(), "PROJECT_DIR", None)  # type: ignore[no-untyped-call]  # dbt's flags have no types
        return os.path.realpath(root or os.curdir)

    def start_spark(self) -> None:
        """Start Spark in the background, for statements that will need it. An error is reported by the first of them."""
        with self.lock:
            self._spark().start_early()

    def _spark(self) -> SparkRuntime:
        from .spark.session.runtime import SparkRuntime

        if self._runtime is None:
            settings = self.credentials.spark_settings()
            if any(lake.encrypted for lake in (self.credentials.catalog_settings(), *self.credentials.attachments())):
                settings = settings.with_encrypted_files()
            self._runtime = SparkRuntime(settings, owner=self._project_root())
            self._runtime.application.notify = logger.warning
        return self._runtime

    def open(self, connection: Connection) -> Connection:  # type: ignore[override] # dbt calls it on the instance
        """Open a session for the connection."""
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            session = self.lake().session(self.credentials.schema)
            session.notify = logger.info
            session.warn = lambda message: _warn(f"{connection.name}: {message}")
            session.node = lambda: connection.name
        except BaseException:
            connection.handle = None
            connection.state = ConnectionState.FAIL
            raise
        connection.handle = LakeHandle(session, provenance_of(self.profile, connection.name))
        connection.state = ConnectionState.OPEN
        self._has_opened_nodes |= "." in (connection.name or "")  # the id of a node, such as model.project.name
        return connection

    def cleanup_all(self) -> None:
        """Close every session, then the catalogs. Spark keeps running for the next command of this process."""
        super().cleanup_all()
        with self.lock:
            lake, self._lake = self._lake, None
            self._has_opened_nodes = False
        if lake is not None:
            if lake.run is not None and lake.run.changes_catalog:
                logger.warning(
                    f"Nothing was published, because a hook failed or the run was stopped; its changes were discarded. {_RUN_AGAIN}"
                )
            if lake.nodes is not None and lake.nodes.unpublished:
                unpublished = names(lake.nodes.unpublished)
                logger.warning(
                    f"These nodes were not published, because a hook failed or the command was stopped: {unpublished}. {_RUN_AGAIN}"
                )
            lake.end_run()
            lake.close_catalogs()
            lake.runtime.release()

    def cancel(self, connection: Connection) -> None:
        """Stop the statement on another thread's connection."""
        logger.debug(f"Cancelling the work of connection {connection.name}")
        connection.handle.cancel()

    def handle(self) -> LakeHandle:
        """Return the handle of this thread's connection."""
        handle: LakeHandle = self.get_thread_connection().handle
        return handle

    # -- transactions ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction; do nothing if one is open."""
        connection = self.get_thread_connection()
        if not connection.transaction_open:
            with self.exception_handler("BEGIN"):
                connection.handle.begin()
            connection.transaction_open = True

    def commit(self) -> None:
        """Commit the staged changes as one snapshot; do nothing if no transaction is open."""
        connection = self.get_thread_connection()
        if not connection.transaction_open:
            return
        with self.exception_handler("COMMIT"):
            snapshot = connection.handle.commit()
        connection.transaction_open = False
        if snapshot is not None:
            logger.debug(f"{connection.name} committed snapshot {snapshot.snapshot_id}")

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Roll back an open transaction after an error, and translate the error to dbt's; dbt's own errors pass through unchanged."""
        try:
            yield
        except DbtBaseException:
            raise
        except Exception as error:
            logger.debug(f"Error while running:\n{sql}\n{type(error).__name__}: {error}")
            timeout = getattr(getattr(self.get_if_exists(), "handle", None), "timeout", None)
            self.rollback_if_open()
            match error:
                case CancelledError() if timeout is not None and timeout.passed.is_set():
                    raise timeout.error from error
                case ConfigurationError():
                    raise DbtRuntimeError(str(error)) from error
                case DuckLakeError():
                    raise DbtDatabaseError(f"{error}{self._unpublished_note()}") from error
                case _:
                    raise DbtRuntimeError(f"{type(error).__name__}: {error}") from error

    def _unpublished_note(self) -> str:
        """Return a note for the error of a failed on-run-end hook: dbt then skips the hook that publishes a run. Otherwise empty."""
        connection, run = self.get_if_exists(), None if self._lake is None else self._lake.run
        if connection is None or connection.name != HOOKS or run is None or not (self._has_opened_nodes and run.changes_catalog):
            return ""
        return f"\nNothing was published, because this hook failed. {_RUN_AGAIN}"

    # -- statements ------------------------------------------------------------------------------------------------------------

    def add_query(self, sql: str, auto_begin: bool = True, *args: Any, **kwargs: Any) -> tuple[Connection, Any]:
        """Run a statement; begin no transaction for it on the connections of hooks and operations."""
        name = self.get_thread_connection().name or ""
        return super().add_query(sql, auto_begin and not name.startswith(AUTOCOMMIT_CONNECTIONS), *args, **kwargs)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, AgateTable]:
        """Run a statement and fetch its rows if `fetch` is set; errors while fetching are translated too.

        Without `fetch`, a query still runs, because a hook may call `raise_error` in it.
        """
        if sql.strip() == _PUBLISH:
            self._publish()
            return DuckLakeResponse("PUBLISH"), empty_table()  # type: ignore[no-untyped-call]
        with self.exception_handler(sql), nullcontext() if fetch else self.handle().running_queries():
            response, table = super().execute(sql, auto_begin, fetch, limit)
            if isinstance(response, DuckLakeResponse):
                self.handle().on_commit(response.committed)
        return response, table

    @classmethod
    def get_response(cls, cursor: LakeCursor) -> DuckLakeResponse:
        """Return the response to the cursor's last statement."""
        result = cursor.result
        if result is None:
            return DuckLakeResponse("OK")
        for files in result.files:
            logger.debug(f"Reading {files}")
        response = DuckLakeResponse("OK", snapshot_id=result.snapshot.snapshot_id if result.snapshot else None)
        response.set_result(result)
        response.count_files(result.files, result.written)
        return response

    @classmethod
    def data_type_code_to_name(cls, type_code: int | str) -> str:
        """Return the name of a type, which a cursor's description already contains."""
        return str(type_code)


def _warn(message: str) -> None:
    warn_or_error(AdapterEventWarning(base_msg=message))
