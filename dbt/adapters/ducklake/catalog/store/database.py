"""The connection to the catalog database: an engine, two kinds of transaction, and foreign errors translated.

Reading transactions see one state of the catalog in all their queries; writing ones have waited for every other writer first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine, event
from sqlalchemy import exc as sa_exc
from sqlalchemy.engine import Connection, Engine, make_url

from ...errors import ConfigurationError, EngineError
from ...format.objects import Snapshot
from ...format.versions import migration_required
from .dialects import BusyError, CatalogDialect, dialect_of
from .location import CatalogLocation

if TYPE_CHECKING:
    from .migrations.older import OlderCatalog

T = TypeVar("T")


class ConcurrentWriteError(Exception):
    """Another writer was faster, or holds its lock too long; the same transaction may succeed when tried again."""


class Database:
    """An SQLAlchemy engine with the facts of its dialect. Thread-safe: every transaction has a connection of its own."""

    def __init__(self, location: CatalogLocation, *, read_only: bool = False, lake: str | None = None) -> None:
        self.location = location
        self.read_only = read_only
        self.title = "the lake" if lake is None else f"the lake {lake}"
        """What errors call it."""
        self.at: Snapshot | None = None
        """The snapshot that is the newest as far as this process is concerned, where the lake was opened at one."""
        url = make_url(location.url)
        self._url = url if location.file is None else url.set(database=location.file)
        self.dialect: CatalogDialect = dialect_of(url.get_backend_name())
        self.schema = location.metadata_schema or self.dialect.default_schema
        self.older: OlderCatalog | None = None
        """Set while the lake has an older format: queries of the current tables are answered from what is there, nothing is written."""
        self._engine = self._create_engine()
        self.dialect.prepare_engine(self._engine, read_only)
        event.listen(self._engine, "before_execute", self._as_it_is, retval=True)

    def _create_engine(self) -> Engine:
        try:
            engine = create_engine(self._url, **self.dialect.engine_options)
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"the catalog {self.location} needs the Python package {error.name}; pip install 'dbt-ducklake[{self.dialect.package}]'"
            ) from error
        return engine.execution_options(schema_translate_map={None: self.schema}) if self.schema else engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction whose queries all see the same state.

        Raises:
            EngineError: the database failed; the text has the driver's words but no address.
        """
        try:
            with self._translated(), self._engine.connect() as connection, connection.begin():
                self.dialect.begin_read(connection)
                yield connection
        except ConcurrentWriteError as error:
            raise EngineError(f"the catalog database {self.location} is kept busy by other writers: {error}") from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that has waited for the other writers; committed at the end, rolled back by an exception.

        Raises:
            ConcurrentWriteError: try again.
            EngineError: the database failed.
            LakeError: the lake has an older format.
        """
        if self.older is not None:
            raise migration_required(self.older.version)
        with self.migrating() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """The same, also for a lake of an older format."""
        with self.creating() as connection:
            self.dialect.begin_commit(connection, self.schema)
            yield connection

    @contextmanager
    def creating(self) -> Iterator[Connection]:
        """A transaction that writes while the metadata tables do not exist yet."""
        with self._translated(), self._engine.connect() as plain:
            connection = plain.execution_options(ducklake_writes=True)
            with self.dialect.writers_turn(connection), connection.begin():
                yield connection

    def require_writable(self) -> None:
        """Refuse to go on where nothing can be written.

        Raises:
            ConfigurationError: the lake was opened read-only or at a snapshot; LakeError: it has an older format version.
        """
        if self.at is not None:
            raise ConfigurationError(
                f"{self.title} is opened at its snapshot {self.at.snapshot_id}, where it can only be read; "
                "remove snapshot_version and snapshot_time to change it"
            )
        if self.read_only:
            raise ConfigurationError(f"{self.title} is opened read-only; set read_only: false to change it")
        if self.older is not None:
            raise migration_required(self.older.version)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _as_it_is(self, _connection: Connection, statement: Any, many: Any, one: Any, _options: Any) -> tuple[Any, Any, Any]:
        return (statement if self.older is None else self.older.shown(statement)), many, one

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except BusyError as error:
            raise ConcurrentWriteError(str(error)) from error
        except sa_exc.DBAPIError as error:
            cause = error.orig if error.orig is not None else error
            if self.dialect.is_write_conflict(cause):
                raise ConcurrentWriteError(str(cause).strip()) from error
            hint = (
                "" if self.older is None else f" (the lake had format version {self.older.version}; open it again if it was migrated since)"
            )
            raise EngineError(f"the catalog database {self.location} failed: {str(cause).strip()}{hint}") from error
        except sa_exc.SQLAlchemyError as error:
            raise EngineError(f"the catalog database {self.location} failed: {error}") from error


def batches(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    """Lists of at most `size` items."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def insert_rows(connection: Connection, table: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows as one batch; no rows are no statement."""
    if rows:
        connection.execute(table.insert(), list(rows))
