"""The catalog of an open lake: its readers, transactions, history, options and maintenance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any

from sqlalchemy.engine import Connection

from ..errors import ConfigurationError
from ..format.objects import Column, Snapshot, Table
from ..format.options import DEFAULTS, Options
from ..format.versions import CURRENT, MergedFile, RewrittenFile
from .commit.inlined import can_inline_rows, only_duckdb_inlines
from .commit.options import read_options
from .maintenance.maintenance import Maintenance
from .read.history import SnapshotRecord, resolve, snapshot_at, snapshot_records
from .read.integrity import faults_of_defaults, faults_of_statistics
from .read.lake_metrics import FileTotals, LakeMetrics, read_lake_metrics, read_written
from .read.reader import DefinitionCache, SnapshotReader
from .read.table_log import TableLogEntry, creation_time, read_table_log
from .read.table_summaries import TableSummary, read_table_summaries
from .store.attach import AttachedLake, NoLakeError, attach, effective_data_path
from .store.database import Database
from .store.database_checks import clock_ahead, try_writing
from .store.inlined import registered
from .store.known_files import schema_uuids
from .store.location import CatalogLocation
from .store.migrations.migrate import migrate
from .store.retries import RetrySettings
from .store.settings import CatalogSettings
from .transaction.shared import SharedTransaction
from .transaction.staging import Staging
from .transaction.transaction import Savepoint, Transaction


class LakeCatalog:
    """The catalog of a lake. The catalog and its readers are thread-safe; its transactions are not."""

    def __init__(self, database: Database, attached: AttachedLake, settings: CatalogSettings, retry: RetrySettings) -> None:
        self._database = database
        self._attached = attached
        self._settings = settings
        self._retry = retry
        self._cache = DefinitionCache(database, attached.data_path)

    @classmethod
    def open(
        cls, settings: CatalogSettings, retry: RetrySettings | None = None, before_creation: Callable[[str], None] = lambda _: None
    ) -> LakeCatalog:
        """Open a lake; create it if it does not exist and the settings allow it. A lake of an older format is not migrated.

        Args:
            settings: the location and options of the lake.
            retry: the retry settings of commits; None for the defaults.
            before_creation: called with the data path of a lake that is about to be created; raises an error to refuse it.

        Raises:
            ConfigurationError: the catalog does not exist, or contradicts the settings.
            LakeError: the lake is damaged, or its format version is not supported.
            NotFoundError: the snapshot in the settings does not exist.
            EngineError: the database cannot be reached.
        """
        retry = retry or RetrySettings()
        database = Database(settings.location, read_only=settings.only_reads, lake=settings.database, retry=retry)
        try:
            attached = attach(database, settings, before_creation)
            database.opened_at_snapshot = (
                resolve(database, retry, settings.snapshot_version, settings.snapshot_time) if settings.is_past else None
            )
        except BaseException:
            database.close()
            raise
        return cls(database, attached, settings, retry)

    @classmethod
    def find(cls, settings: CatalogSettings) -> LakeCatalog | None:
        """Open a lake if it exists, without changing it; return None if it does not exist and the settings allow its creation.

        The data path of the settings is not compared with that of the lake; see `effective_data_path`.

        Raises:
            DuckLakeError: as in `open`.
        """
        try:
            return cls.open(replace(settings, create_if_not_exists=False, data_path=None))
        except NoLakeError:
            if not settings.creates:
                raise
            return None

    def effective_data_path(self, settings: CatalogSettings) -> str:
        """Return the data path that the lake has when it is opened with these settings; see `attach.effective_data_path`.

        Raises:
            ConfigurationError: the lake cannot be opened with the data path of the settings.
        """
        return effective_data_path(self._database, self.data_path, settings)

    def try_writing(self) -> None:
        """Try the changes of a commit, and undo them; see `database_checks.try_writing`."""
        try_writing(self._database)

    def clock_ahead(self) -> timedelta | None:
        """Return how far the clock of the catalog's server is ahead of this machine's; None if there is no server."""
        return clock_ahead(self._database)

    def faults(self, *, with_statistics: bool = True) -> list[str]:
        """Return what is wrong in the catalog for DuckDB, and how to repair it; nothing if DuckDB cannot use the database.

        Args:
            with_statistics: check the statistics of tables too, which reads those of all files: about a minute for 100,000 files.
        """
        if not self._database.dialect.read_by_duckdb or self.format_version != CURRENT:
            return []
        reader = self.reader()
        tables = [each for each in reader.relations() if isinstance(each, Table)]

        def found(connection: Connection) -> list[str]:
            faults = list(faults_of_defaults(connection, tables))
            if with_statistics:
                faults += faults_of_statistics(connection, tables, reader.snapshot.snapshot_id)
            return faults

        return self._database.read_plan(found)

    @property
    def data_path(self) -> str:
        """The directory or URL to which the paths of schemas are relative, with a trailing `/`."""
        return self._attached.data_path

    @property
    def encrypted(self) -> bool:
        """Whether the lake's files are encrypted."""
        return self._attached.encrypted

    @property
    def is_new(self) -> bool:
        """Whether opening the lake created it."""
        return self._attached.is_new

    @property
    def earlier_data_path(self) -> str | None:
        """The data path that opening the lake replaced, because it had no tables yet."""
        return self._attached.earlier_data_path

    def identities(self) -> list[str]:
        """Return the UUIDs of all schemas in the catalog, oldest first. They identify the lake, because no other lake has them."""
        with self._database.reading() as connection:
            return schema_uuids(connection)

    @property
    def read_only(self) -> bool:
        """Whether the lake was opened read-only."""
        return self._database.read_only

    @property
    def format_version(self) -> str:
        """The lake's format version. Until a lake of an older version is migrated, it can only be read."""
        older = self._database.older_catalog
        return CURRENT if older is None else older.version

    def require_writable(self) -> None:
        """Raise if the lake cannot be changed; see `Database.require_writable`."""
        self._database.require_writable()

    def migrate(self, rewrite: Callable[[MergedFile], RewrittenFile]) -> str:
        """Migrate a lake of an older format version to the current one, in one transaction; open readers stay valid.

        Args:
            rewrite: rewrites a merged file so that it contains the snapshot id of each row.

        Returns:
            The format version before the migration.

        Raises:
            ConfigurationError: the lake was opened read-only.
            ConflictError: concurrent writers changed the lake or kept the catalog busy for too long.
            LakeError: the tables do not match the format version.
        """
        if self.read_only:
            raise ConfigurationError(f"{self._database.title} is open read-only; set read_only: false to migrate it")
        before = self.format_version
        migrate(self._database, self.data_path, rewrite)
        return before

    @property
    def location(self) -> CatalogLocation:
        """The catalog database."""
        return self._database.location

    @property
    def database_kind(self) -> str:
        """The kind of the catalog database, such as `sqlite`."""
        return self._database.dialect.name

    def begin(self, allow: Callable[[], None] | None = None) -> Transaction:
        """Begin a transaction on the newest snapshot; on a read-only lake it can only read.

        Args:
            allow: called before every change, after the lake's own check; raises an error to refuse the change.
        """

        def require_writable() -> None:
            self.require_writable()
            if allow is not None:
                allow()

        return Transaction(self._cache, self.latest(), self._retry, Staging(require_writable), serializable=self._settings.is_serializable)

    def begin_shared(self, start: Savepoint | None = None, ids: Iterator[int] | None = None) -> SharedTransaction:
        """Begin a shared transaction on the newest snapshot; other transactions add their changes to it, and it commits them together.

        Args:
            start: staged changes of other transactions, which this one sees but does not commit.
            ids: the source of ids for new objects; transactions that see each other's changes must share it.
        """
        return SharedTransaction(
            self._cache, self.latest(), self._retry, self.require_writable, start, ids, serializable=self._settings.is_serializable
        )

    def latest(self) -> Snapshot:
        """Return the newest snapshot, or the one at which the lake was opened."""
        return self.resolve()

    def resolve(self, *, version: int | None = None, timestamp: datetime | None = None) -> Snapshot:
        """Return the snapshot of a version or of a timestamp (UTC if it has no zone); the newest if neither is given.

        Raises:
            NotFoundError: the snapshot does not exist.
        """
        return resolve(self._database, self._retry, version, timestamp)

    def first_snapshot_from(self, timestamp: datetime) -> Snapshot:
        """Return the first snapshot at or after a timestamp.

        Raises:
            NotFoundError: every snapshot is earlier.
        """
        with self._database.reading() as connection:
            return snapshot_at(connection, timestamp, or_later=True)

    def reader(self, snapshot: Snapshot | None = None) -> SnapshotReader:
        """Return a reader of a snapshot, by default the newest."""
        return SnapshotReader(self._cache, self.latest() if snapshot is None else snapshot)

    def snapshots(self, *, after: int | None = None, until: int | None = None, limit: int | None = None) -> list[SnapshotRecord]:
        """Return snapshots with their logged changes, oldest first: the newest `limit` of those after `after` and up to `until`."""
        with self._database.reading() as connection:
            return snapshot_records(connection, after=after, until=until, limit=limit)

    def table_log(self, table: Table, until: Snapshot, limit: int | None = None) -> list[TableLogEntry]:
        """Return at most `limit` snapshots up to `until` that changed a table, newest first; none if the table is not committed."""
        if table.table_id < 0:
            return []
        return self._database.read_plan(lambda connection: read_table_log(connection, table.table_id, until.snapshot_id, limit))

    def creation_time(self, table: Table) -> datetime | None:
        """Return when a table was created; None if it is not committed, or if the snapshot that created it has expired."""
        with self._database.reading() as connection:
            return creation_time(connection, table.table_id)

    def metrics(self, snapshot: Snapshot, bounds: Sequence[int], small_below: int) -> LakeMetrics:
        """Return the numbers for a report on the whole lake.

        Args:
            snapshot: the snapshot.
            bounds: ascending sizes in bytes that divide files into classes.
            small_below: a file with fewer bytes counts as small.
        """
        return self._database.read_plan(lambda connection: read_lake_metrics(connection, snapshot.snapshot_id, bounds, small_below))

    def files_written_by(self, snapshots: Mapping[int, Collection[int]]) -> dict[int, FileTotals | None]:
        """Return snapshot id → number and size of the data files that it added; None if unknown because files were merged or flushed.

        Args:
            snapshots: snapshot id → ids of the tables that it changed.
        """
        with self._database.reading() as connection:
            return read_written(connection, snapshots)

    def table_summaries(self, snapshot: Snapshot, tables: Collection[Table] | None = None) -> dict[int, TableSummary]:
        """Return table id → rows, files, bytes and last change; for all tables if `tables` is None. A damaged table is left out."""
        if tables is None:
            ids = [name.relation_id for name in self.reader(snapshot).names() if name.is_table]
        else:
            ids = [table.table_id for table in tables if table.table_id >= 0]
        return self._database.read_plan(lambda connection: read_table_summaries(connection, snapshot.snapshot_id, ids))

    def table_summary(self, snapshot: Snapshot, table: Table) -> TableSummary | None:
        """Return rows, files, bytes and last change of one table; None if it is not committed.

        Raises:
            LakeError: a row that belongs to it is damaged.
        """
        found = self.table_summaries(snapshot, [table]).get(table.table_id)
        if found is None:
            with self._database.reading() as connection:
                registered(connection, table.table_id)
        return found

    def options(self) -> Options:
        """Return all stored options. They are not part of a snapshot, so these are always the current ones."""
        with self._database.reading() as connection:
            return read_options(connection)

    def option(self, key: str) -> str | None:
        """Return the value of an option for the whole lake; the default if none is stored."""
        return self.options().get(key)

    @property
    def inlining_row_limit(self) -> int:
        """The largest number of rows that is inlined in a table without a stored option `data_inlining_row_limit`."""
        limit = self._settings.data_inlining_row_limit
        return int(DEFAULTS["data_inlining_row_limit"]) if limit is None else limit

    def can_inline(self, columns: Sequence[Column], rows: Sequence[tuple[Any, ...]] = ()) -> bool:
        """Whether the catalog database can store rows with these columns and values so that DuckDB reads them back."""
        return can_inline_rows(self._database.dialect, columns, rows)

    def only_duckdb_inlines(self, columns: Sequence[Column]) -> bool:
        """Whether DuckDB would inline rows with these columns although the catalog database cannot store them."""
        return only_duckdb_inlines(self._database.dialect, columns)

    @property
    def maintenance(self) -> Maintenance:
        """The maintenance operations of the catalog: expiring snapshots and listing files."""
        return Maintenance(self._database, self.data_path, self._retry)

    def close(self) -> None:
        """Close all connections; open readers and transactions can no longer be used."""
        self._database.close()

    def __enter__(self) -> LakeCatalog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
