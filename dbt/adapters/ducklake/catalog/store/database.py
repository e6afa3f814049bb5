"""The connection to the catalog database: an engine, reading and writing transactions, and the translation of driver errors.

All queries of a reading transaction see the same state of the catalog. A writing transaction first waits for all other writers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import ColumnElement, Delete, Select, Update, create_engine, event
from sqlalchemy import exc as sa_exc
from sqlalchemy.engine import Connection, Engine, make_url

from ...errors import ConfigurationError, EngineError
from ...format.objects import Snapshot
from ...format.versions import migration_required
from .dialects import BusyError, CatalogDialect, ReadOnlyError, dialect_of
from .location import CatalogLocation
from .retries import RetrySettings
from .row_rules import naming_damaged_rows

if TYPE_CHECKING:
    from .migrations.older import OlderCatalog

T = TypeVar("T")

_CACHED_STATEMENTS = 200
"""How many compiled statements SQLAlchemy caches. Most of its default of 500 would be for inlined-data tables that no longer exist."""


_STALE_READS = RetrySettings(max_retry_count=4, wait_ms=0)
"""How often a transaction is repeated after a `StaleReadError`. It does not wait: the new one sees the change that the earlier missed."""

BATCH_SIZE = 500
"""The maximum number of ids in one IN list, below every driver's limit on parameters."""


class ConcurrentWriteError(Exception):
    """A concurrent writer committed first, or held its lock for too long; a retry of the same transaction may succeed."""


class StaleReadError(EngineError):
    """An inlined-data table that a transaction uses was dropped meanwhile; a new transaction may succeed.

    It may also be a writing transaction: DuckDB drops empty inlined-data tables after its commit, when it no longer excludes other writers.
    """


class ReadOnlyDatabaseError(EngineError):
    """The catalog database is read-only."""


class Database:
    """A SQLAlchemy engine with its dialect. Thread-safe: every transaction has its own connection.

    Args:
        location: where the catalog database is.
        read_only: never write.
        lake: the lake's name for error messages; None for "the lake".
        retry: how often to connect again to a server that was reached before, and refuses connections while it restarts; None: never.

    Raises:
        ConfigurationError: the database driver is not installed, or rejects an option of the connection URL.
    """

    def __init__(
        self, location: CatalogLocation, *, read_only: bool = False, lake: str | None = None, retry: RetrySettings | None = None
    ) -> None:
        self.location = location
        self.read_only = read_only
        self.title = "the lake" if lake is None else f"the lake {lake}"
        """The lake's name in errors."""
        self.opened_at_snapshot: Snapshot | None = None
        """The snapshot at which the lake was opened, which readers treat as the newest; None if it was opened without one."""
        url = make_url(location.url)
        self._url = url if location.file is None else url.set(database=location.file)
        self.dialect: CatalogDialect = dialect_of(url)
        self.schema = location.metadata_schema or self.dialect.default_schema
        self.older_catalog: OlderCatalog | None = None
        """Set while the lake has an older format: queries are translated to the older tables, and nothing is written."""
        self._engine = self._create_engine()
        self._retry = RetrySettings(max_retry_count=0) if retry is None or location.file is not None else retry
        self._was_reached = False

    def _create_engine(self) -> Engine:
        try:
            engine = create_engine(self._url, query_cache_size=_CACHED_STATEMENTS, hide_parameters=True, **self.dialect.engine_options)
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"the catalog {self.location} needs the Python package {error.name}; run: pip install 'dbt-ducklake[{self.dialect.extra}]'"
            ) from error
        except (TypeError, ValueError) as error:
            raise self._refused_option(error) from None
        if self.schema:
            engine = engine.execution_options(schema_translate_map={None: self.schema})
        self.dialect.prepare_engine(engine, self.read_only)
        event.listen(engine, "before_execute", self._translate_statement, retval=True)
        return engine

    def _connect(self) -> Connection:
        """Open a connection.

        Raises:
            ConfigurationError: the driver rejects a connection option.
            EngineError: the catalog file has been removed since the database was reached; SQLite and DuckDB would create an empty one.
        """
        file = self.location.file
        if self._was_reached and file is not None and not os.path.exists(file):
            raise EngineError(f"the catalog file {file} is missing, although it was there before; restore it and run this again")
        attempts = None if self._was_reached else 1
        try:
            connection = self._retry.policy(sa_exc.OperationalError, attempts)(self._engine.connect)
        except (TypeError, ValueError, OSError) as error:
            raise self._refused_option(error) from None
        self._was_reached = file is None or os.path.exists(file)  # the first query of SQLite creates a new file
        return connection

    def _refused_option(self, error: Exception) -> ConfigurationError:
        """Return the error for a connection option that the driver rejects, without the text of a ValueError: it may contain a secret."""
        reason = "" if isinstance(error, ValueError) else f": {error}"
        return ConfigurationError(f"the driver of the catalog database rejects a connection option of {self.location}{reason}")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction whose queries all see the same state.

        Raises:
            ConfigurationError: the driver rejects a connection option.
            EngineError: the database failed; the message contains the driver's message but no password.
            LakeError: a row of a metadata table is damaged.
        """
        try:
            with self._read_transaction() as connection:
                yield connection
        except ConcurrentWriteError as error:
            raise self.busy(error) from error

    def read(self, work: Callable[[Connection], T], retry: RetrySettings) -> T:
        """Call `work` with a reading transaction and return its result. While other writers keep the database busy, wait and retry.

        Raises:
            ConfigurationError, EngineError, LakeError: as in `reading`.
        """

        def attempt() -> T:
            with self._read_transaction(ducklake_retried=True) as connection:
                return work(connection)

        try:
            return retry.policy(ConcurrentWriteError)(attempt)
        except ConcurrentWriteError as error:
            raise self.busy(error) from error

    def read_plan(self, work: Callable[[Connection], T]) -> T:
        """Call `work`, which reads inlined-data tables, with a reading transaction, and return its result.

        If another writer has dropped such a table since the transaction began, as a flush does, `work` is called again with a new one.

        Raises:
            ConfigurationError, EngineError, LakeError: as in `reading`.
        """

        def attempt() -> T:
            with self.reading() as connection:
                return work(connection)

        return repeat_if_stale(attempt)

    @contextmanager
    def _read_transaction(self, **options: bool) -> Iterator[Connection]:
        """Open a reading transaction on a connection with these execution options."""
        with self._translated(), self._connect() as plain:
            connection = plain.execution_options(**options)
            with connection.begin():
                self.dialect.begin_read(connection)
                with naming_damaged_rows(connection):
                    yield connection

    def busy(self, error: ConcurrentWriteError) -> EngineError:
        """Return the error for a database that other writers kept busy in all attempts."""
        return EngineError(
            f"other writers keep the catalog database {self.location} busy ({error}). Try again when they have finished, "
            "or stop the program that has it locked"
        )

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Wait for other writers and open a writing transaction; it commits at the end and rolls back after an exception.

        Raises:
            ConcurrentWriteError: a concurrent writer interfered; retry.
            StaleReadError: an inlined-data table was dropped meanwhile; retry.
            EngineError: the database failed.
            LakeError: the lake has an older format.
        """
        if self.older_catalog is not None:
            raise migration_required(self.older_catalog.version)
        with self.writing_any_format() as connection:
            yield connection

    @contextmanager
    def writing_any_format(self) -> Iterator[Connection]:
        """Open a writing transaction like `writing`, but also for a lake with an older format version."""
        with ExitStack() as opened:
            try:
                connection = opened.enter_context(self._begun_commit())
            except ReadOnlyDatabaseError:
                self._engine.dispose()  # connections from a time when the database was read-only stay so
                connection = opened.enter_context(self._begun_commit())
            yield connection

    @contextmanager
    def _begun_commit(self) -> Iterator[Connection]:
        """Open a writing transaction like `writing_any_format`, on a connection that perhaps cannot write."""
        with self.writing_without_tables() as connection:
            self.dialect.begin_commit(connection, self.schema)
            yield connection

    @contextmanager
    def writing_without_tables(self) -> Iterator[Connection]:
        """Open a writing transaction that neither needs nor locks the metadata tables, for a database that does not have them yet."""
        with self._translated(), self._connect() as plain:
            connection = plain.execution_options(ducklake_writes=True)
            with self.dialect.write_lock(connection), connection.begin(), naming_damaged_rows(connection):
                yield connection

    def require_writable(self) -> None:
        """Raise if the lake cannot be changed.

        Raises:
            ConfigurationError: the lake was opened read-only or at a snapshot.
            LakeError: the lake has an older format version.
        """
        if self.opened_at_snapshot is not None:
            raise ConfigurationError(
                f"{self.title} is open at snapshot {self.opened_at_snapshot.snapshot_id}, so it is read-only; "
                "remove snapshot_version or snapshot_time to write to it"
            )
        if self.read_only:
            raise ConfigurationError(f"{self.title} is open read-only; set read_only: false to write to it")
        if self.older_catalog is not None:
            raise migration_required(self.older_catalog.version)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _translate_statement(
        self, _connection: Connection, statement: Any, multiparams: Any, params: Any, _options: Any
    ) -> tuple[Any, Any, Any]:
        return (statement if self.older_catalog is None else self.older_catalog.translate(statement)), multiparams, params

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except BusyError as error:
            raise ConcurrentWriteError(str(error)) from error
        except ReadOnlyError as error:
            raise ReadOnlyDatabaseError(
                f"the catalog database {self.location} is read-only ({error}); nothing was written. Make it writable and run this again, "
                "or set read_only: true if dbt only reads the lake"
            ) from error
        except sa_exc.DBAPIError as error:
            cause = error.orig if error.orig is not None else error
            if self.dialect.is_write_conflict(cause):
                raise ConcurrentWriteError(str(cause).strip()) from error
            older = self.older_catalog
            hint = "" if older is None else f" (the lake had format version {older.version}; if it has been migrated since, open it again)"
            kind = StaleReadError if self.dialect.is_stale_read(cause) else EngineError
            raise kind(f"the catalog database {self.location} failed: {str(cause).strip()}{hint}") from error
        except sa_exc.SQLAlchemyError as error:
            raise EngineError(f"the catalog database {self.location} failed: {error}") from error


def repeat_if_stale(work: Callable[[], T]) -> T:
    """Call `work`, which uses a transaction of its own, and return its result; after a `StaleReadError`, call it again."""
    return _STALE_READS.policy(StaleReadError)(work)


def batches(items: Iterable[T], size: int = BATCH_SIZE) -> Iterator[Sequence[T]]:
    """Yield lists of at most `size` items."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def rows_with_ids(connection: Connection, query: Select[Any], key: ColumnElement[Any], ids: Iterable[int]) -> list[Any]:
    """Return the rows of a query in which `key` is one of the ids, by one query for each batch of them."""
    return [row for batch in batches(ids) for row in connection.execute(query.where(key.in_(batch)))]


def change_with_ids(connection: Connection, statement: Update | Delete, key: ColumnElement[Any], ids: Iterable[int]) -> int:
    """Update or delete the rows in which `key` is one of the ids, and return the number of affected rows."""
    return sum(connection.execute(statement.where(key.in_(batch))).rowcount for batch in batches(ids))


def insert_rows(connection: Connection, table: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows as one batch; without rows, nothing is executed."""
    if rows:
        connection.execute(table.insert(), list(rows))
