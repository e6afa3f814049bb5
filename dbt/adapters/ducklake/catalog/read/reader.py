"""Read one snapshot of a lake, with a cache of definitions that readers of the same schema version share."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...errors import LakeError
from ...format.compaction import Candidate
from ...format.files import ChangePlan, DataFile, Filters, InlinedDeletes, ScanPlan
from ...format.objects import Snapshot, Table
from ..staged import Staged
from ..store import tables as t
from ..store.database import Database, rows_with_ids
from .change_plan import read_changes
from .column_history import TableHistory, read_history
from .definitions import Definitions
from .flush_plan import FlushPlan, read_flush_plan, read_inlined_deletes
from .history import require_not_expired
from .net_changes import read_net_changes
from .rollback_plan import RollbackPlan, read_rollback_plan
from .row_state import has_rows
from .scan_plan import CommittedRows, read_files, read_rows
from .view import CatalogView

T = TypeVar("T")

_CACHED_VERSIONS = 16


@dataclass
class DefinitionCache:
    """A cache of definitions by schema version, shared by all readers of a lake. Thread-safe."""

    database: Database
    data_path: str
    _definitions: OrderedDict[int, Definitions] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def definitions(self, snapshot: Snapshot) -> Definitions:
        """Return the definitions at a snapshot, which are the same at every snapshot of its schema version."""
        with self._lock:
            found = self._definitions.get(snapshot.schema_version)
            if found is None:
                earlier = [each for version, each in self._definitions.items() if version < snapshot.schema_version and each.is_loaded]
                found = Definitions(self.database, self.data_path, snapshot, max(earlier, key=lambda each: each.snapshot_id, default=None))
                self._definitions[snapshot.schema_version] = found
            self._definitions.move_to_end(snapshot.schema_version)
            while len(self._definitions) > _CACHED_VERSIONS:
                self._definitions.popitem(last=False)
            return found


_NOTHING = Staged()


class SnapshotReader(CatalogView):
    """Reads the lake at one snapshot, which never changes. Thread-safe."""

    def __init__(self, cache: DefinitionCache, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self._cache = cache

    @property
    def definitions(self) -> Definitions:
        """See `CatalogView`."""
        return self._cache.definitions(self.snapshot)

    @property
    def staged(self) -> Staged:
        """No changes: a reader has none."""
        return _NOTHING

    def scan_plan(self, table: Table, within: Filters = ()) -> ScanPlan:
        """Return the plan for reading a table.

        Args:
            table: the table.
            within: files that provably have no row that passes all of these filters are left out.
        """
        rows, history = self.committed_rows(table, within)
        return replace(history.plan(table), files=rows.files, inlined=rows.inlined, pruned_files=rows.pruned_files)

    def committed_rows(self, table: Table, within: Filters = ()) -> tuple[CommittedRows, TableHistory]:
        """Return the files and inlined rows of a table and the history of its columns, read in one transaction."""

        def read(connection: Connection) -> tuple[CommittedRows, TableHistory]:
            # Not cached: a compaction may have rewritten files of older snapshots with the names and types of a later schema version.
            history = read_history(connection, table.table_id)
            return read_rows(connection, self._cache.database, table, history, self.snapshot.snapshot_id, within), history

        return self._read(read)

    def has_files(self, table: Table, file_ids: Collection[int]) -> bool:
        """Return whether all these data files belong to a table at this snapshot; merging files removes them from their snapshots."""
        data = t.data_file
        query = select(data.c.data_file_id).where(data.c.table_id == table.table_id, t.visible(data, self.snapshot.snapshot_id))
        return self._read(lambda connection: len(rows_with_ids(connection, query, data.c.data_file_id, file_ids)) == len(file_ids))

    def change_plan(self, table: Table, start: int) -> ChangePlan:
        """Return the plan for reading the changes of a table's rows from the snapshot `start` to this one, both included.

        Raises:
            LakeError: the lake has an older format, which has no change feed.
        """
        database = self._database_with_feed()

        def read(connection: Connection) -> ChangePlan:
            require_not_expired(connection, database, start)
            return read_changes(connection, table, read_history(connection, table.table_id), start, self.snapshot.snapshot_id)

        return self._read(read)

    def net_changes(self, table: Table, earlier: int, after: ScanPlan) -> ChangePlan:
        """Return the plan for reading the rows of a table that differ between the snapshot `earlier` and `after`.

        Args:
            table: the table.
            earlier: the earlier snapshot.
            after: the plan for reading the table at this snapshot, or with changes that are staged on top of it.

        Raises:
            LakeError: the lake has an older format, which has no change feed.
        """
        database = self._database_with_feed()

        def read(connection: Connection) -> ChangePlan:
            require_not_expired(connection, database, earlier)
            return read_net_changes(connection, database, table, earlier, self.snapshot.snapshot_id, after)

        return self._read(read)

    def _database_with_feed(self) -> Database:
        database = self._cache.database
        if database.older_catalog is not None:
            raise LakeError(
                f"the lake has format version {database.older_catalog.version}, which has no change feed; migrate it: CALL ducklake_migrate"
            )
        return database

    def compaction_plan(self, table: Table) -> CompactionPlan:
        """Return the files of a table that a compaction can merge or rewrite."""
        return self._read(lambda connection: read_compaction_plan(connection, self._cache.database, table, self.snapshot.snapshot_id))

    def flush_plan(self, table: Table) -> FlushPlan:
        """Return the rows and deletes that a flush of a table must write."""
        return self._read(lambda connection: read_flush_plan(connection, table, self.snapshot.snapshot_id))

    def rows_to_end(self, table: Table) -> RowsToEnd:
        """Return what ends if all rows of a table are deleted."""
        snapshot_id = self.snapshot.snapshot_id

        def read(connection: Connection) -> RowsToEnd:
            return RowsToEnd(has_rows(connection, table.table_id, snapshot_id), read_inlined_deletes(connection, table, snapshot_id))

        return self._read(read)

    def rollback_plan(self, table: Table, until: Snapshot | None = None) -> RollbackPlan:
        """Return the plan for restoring this snapshot of a table after the snapshot `until`; with None as a new table."""

        def read(connection: Connection) -> RollbackPlan:
            if until is not None:
                require_not_expired(connection, self._cache.database, until.snapshot_id)
            current = None if until is None else until.snapshot_id
            return read_rollback_plan(connection, self._cache.database, table, self.snapshot.snapshot_id, current)

        return self._read(read)

    def _read(self, work: Callable[[Connection], T]) -> T:
        """Call `work` with a reading transaction in which the snapshot has not expired, and return its result; see `Database.read_plan`."""

        def read(connection: Connection) -> T:
            require_not_expired(connection, self._cache.database, self.snapshot.snapshot_id)
            return work(connection)

        return self._cache.database.read_plan(read)


@dataclass(frozen=True)
class RowsToEnd:
    """What ends if all rows of a table are deleted."""

    exist: bool = False
    """Whether the table has a data file or an inlined row."""
    inlined_deletes: tuple[InlinedDeletes, ...] = ()
    """The inlined deletes of its files."""


@dataclass(frozen=True)
class CompactionPlan:
    """The live files of a table in the order of their rows, and the column layouts of their schema versions."""

    candidates: tuple[Candidate, ...]
    layouts: Mapping[int, ScanPlan]
    """Schema version → a plan without files that has the columns of that version."""


def read_compaction_plan(connection: Connection, database: Database, table: Table, snapshot_id: int) -> CompactionPlan:
    """Return the compaction plan of a committed table."""
    history = read_history(connection, table.table_id)
    files = sorted(read_files(connection, database, table, snapshot_id), key=_order)
    values = t.file_partition_value
    keys: dict[int, list[str | None]] = defaultdict(list)
    query = select(values.c.data_file_id, values.c.partition_value).where(values.c.table_id == table.table_id)
    for row in connection.execute(query.order_by(values.c.data_file_id, values.c.partition_key_index)):
        keys[row.data_file_id].append(row.partition_value)
    candidates = tuple(
        Candidate(
            file,
            history.version_at(row.begin_snapshot),
            row.partition_id,
            tuple(keys.get(row.data_file_id, ())),
            max(row.begin_snapshot, row.partial_max or 0),
        )
        for row, file in files
    )
    versions = {each.schema_version for each in candidates}
    return CompactionPlan(candidates, {version: history.plan(table, history.layout(version)) for version in versions})


def _order(found: tuple[Any, DataFile]) -> tuple[int, bool, int, int]:
    """Return the sort key of a file, in the order of the reference implementation: files without a first row id are last."""
    file = found[1]
    return file.begin_snapshot, file.row_id_start is None, file.row_id_start or 0, file.data_file_id
