"""A transaction: a pinned snapshot, the changes staged on top of it, and reads that see both.

Nothing is written to the catalog before `commit`; the caller writes files before it stages them. `objects` stages definitions
(`objects.py`), `rows` stages rows (`rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import StatementError
from ...format.files import ColumnFilter, Filters, ScanPlan, WriteOptions
from ...format.objects import Macro, Relation, Snapshot, Table, View
from ...format.options import Options
from ..commit.commit import CommitProgress, commit, require_committable
from ..commit.options import read_options
from ..read.definitions import Definitions
from ..read.overlay import staged_scan_plan
from ..read.reader import DefinitionCache, RowsToEnd, SnapshotReader
from ..read.row_state import next_row_id, row_bytes
from ..read.view import CatalogView
from ..staged import CommitMessage, RowChanges, Staged, put
from ..store.retries import RetrySettings
from .objects import ObjectStaging
from .read_set import ReadSet
from .rows import RowStaging
from .staging import Staging

__all__ = ["Savepoint", "Transaction"]

Savepoint = Staged
"""The staged changes that `savepoint` returns and `restore` takes."""


class Transaction(CatalogView):
    """The lake at the pinned snapshot with the transaction's own staged changes. Not thread-safe.

    Args:
        cache: the definitions that readers share.
        snapshot: the newest snapshot, to which the transaction is pinned.
        retry: the retry settings of the commit.
        staging: the staged changes.
        serializable: whether a concurrent change of anything that the transaction has read is a conflict, and not only one of what it
            changes itself.
    """

    def __init__(
        self, cache: DefinitionCache, snapshot: Snapshot, retry: RetrySettings, staging: Staging, *, serializable: bool = False
    ) -> None:
        super().__init__(snapshot)
        self.base = SnapshotReader(cache, snapshot)
        """The lake without the staged changes."""
        self._cache = cache
        self._retry = retry
        self._staging = staging
        self._stored_options: Options | None = None
        self.serializable = serializable
        self.reads = ReadSet()
        """What the transaction has read."""
        self.objects = ObjectStaging(self, self.base, self._staging, cache.data_path)
        """Stages changes to definitions and options."""
        self.rows = RowStaging(self, self._staging, self._next_row_id, self.record_read)
        """Stages changes to rows."""

    is_shared = False
    """Whether a commit adds the changes to a shared transaction, without a snapshot."""

    @property
    def is_over(self) -> bool:
        """Whether the transaction has ended."""
        return self._staging.finished

    # -- reading ---------------------------------------------------------------------------------------------------------------

    @property
    def definitions(self) -> Definitions:
        """See `CatalogView`."""
        return self.base.definitions

    @property
    def staged(self) -> Staged:
        """All staged changes."""
        return self._staging.changes

    def scan_plan(self, table: Table, within: Filters = ()) -> ScanPlan:
        """Return the plan for reading a table with the staged changes; `within` does not prune staged files."""
        self._staging.require_readable(table)
        changes = self._staging.rows_of(table)
        first = self._next_row_id(table) if changes.adds_rows else 0
        return staged_scan_plan(self.base, table, changes, within, first)

    def rows_to_end(self, table: Table) -> RowsToEnd:
        """Return what ends if all committed rows of a table are deleted; nothing if this transaction has truncated it."""
        if table.table_id < 0 or self._staging.rows_of(table).truncated:
            return RowsToEnd()
        return self.base.rows_to_end(table)

    def record_read(self, table_id: int | None, within: Sequence[ColumnFilter] = ()) -> None:
        """Record that a query reads the rows of a table that pass all filters; if the id is None, all rows of all tables."""
        self.reads.add_rows(table_id, within)

    def find(self, schema_name: str, name: str) -> Relation | None:
        """Return the table or view with a name, or None."""
        self.reads.add_name(schema_name, name)
        return super().find(schema_name, name)

    def row_bytes(self, table: Table) -> float | None:
        """Return the average size of a row in the table's data files, in bytes; None if it is not known."""
        return row_bytes(self._cache.database, table.table_id, self.snapshot.snapshot_id) if table.table_id >= 0 else None

    def options(self) -> Options:
        """Return the options of the lake when the transaction first needed them, with the staged ones."""
        if self._stored_options is None:
            with self._cache.database.reading() as connection:
                self._stored_options = read_options(connection)
        return self._stored_options.with_rows(self.staged.options.values())

    def write_options(self, table: Table) -> WriteOptions:
        """Return the options for writing data files of a table."""
        return self.options().write_options(**self._scope(table))

    def inlining_row_limit(self, table: Table, default: int) -> int:
        """Return the maximum number of rows of one statement that are inlined in the catalog; 0 for none."""
        return self.options().inlining_row_limit(default, **self._scope(table))

    def _scope(self, table: Table) -> dict[str, int | None]:
        """Return the ids of a table and its schema, for `Options`."""
        schema = self.schema(table.schema_name)
        return {"schema_id": None if schema is None else schema.schema_id, "table_id": table.table_id}

    def require_writable(self) -> None:
        """Raise an error if changes are not allowed; called before files are written, and by every staged change."""
        self._staging.require_writable()

    # -- changes to all kinds of objects ---------------------------------------------------------------------------------------

    def restore_object(self, earlier: Table | View | Macro, rows: RowChanges | None = None) -> None:
        """Stage a definition from an earlier snapshot, with the ids that it had there, even if the object was dropped since.

        The caller must ensure that names stay unique. A dropped table must be restored as a new table, because DuckDB takes a table's
        schema from the oldest row that `ducklake_table` has for its id.

        Args:
            earlier: the earlier definition.
            rows: the changes of the table's rows, relative to the snapshot to which the transaction is pinned.
        """
        self._staging.require_open()
        match earlier:
            case Macro():
                self._staging.put(restored_macros=put(self.staged.restored_macros, earlier.macro_id, earlier))
            case View():
                self._staging.put(views=put(self.staged.views, earlier.view_id, earlier))
            case Table() if earlier.table_id >= 0 and earlier != self.base.by_id(earlier.table_id):
                self._staging.put(tables=put(self.staged.tables, earlier.table_id, earlier))
        if rows is not None and isinstance(earlier, Table):
            for file in rows.written():
                self._staging.files[file.path] = None
            self._staging.put_rows(earlier, rows)

    def declare_rollback(self, schema: str | None) -> None:
        """Record that this transaction rolls back a whole schema (None: the lake), so that every concurrent change in it is a conflict."""
        self._staging.require_open()
        self._staging.put(rolled_back=self.staged.rolled_back | {schema})

    def set_commit_message(self, author: str | None, message: str | None, extra_info: str | None = None) -> None:
        """Set the author, message and extra information of the snapshot."""
        self._staging.put(commit_message=CommitMessage(author, message, extra_info))

    # -- staged changes --------------------------------------------------------------------------------------------------------

    @property
    def has_changes(self) -> bool:
        """Whether a commit creates a snapshot."""
        return self.staged.has_changes

    @property
    def changes_catalog(self) -> bool:
        """Whether a commit changes the catalog; options do so without a snapshot."""
        return self.staged.has_changes or bool(self.staged.options)

    def abandoned_files(self) -> list[str]:
        """Return the staged files that are not part of the lake: those that were discarded, and all if the commit failed.

        The result is final only when the transaction is over, because `restore` can stage files again. If the database failed during the
        commit, the snapshot may exist, so its files are left out.
        """
        kept = self.staged.written()
        return [path for path in self._staging.files if path not in kept]

    def written_files(self) -> dict[str, int]:
        """Return the files that the transaction staged: path → size in bytes."""
        return self.staged.written()

    def changed_tables(self) -> list[Table]:
        """Return the committed definitions of the tables whose definition or rows are changed."""
        found = (self.base.by_id(table_id) for table_id in {*self.staged.tables, *self.staged.rows} if table_id >= 0)
        return [each for each in found if isinstance(each, Table)]

    def savepoint(self) -> Savepoint:
        """Return the current staged changes, for `restore`."""
        return self.staged

    def restore(self, savepoint: Savepoint) -> None:
        """Discard everything staged since a savepoint; what was read stays in the read set."""
        for table_id, changes in self.staged.rows.items():
            for within in changes.depends_on_rows:
                self.record_read(table_id, within)
        reserved = {table_id: changes.reserved_row_ids for table_id, changes in self.staged.rows.items()}
        rows = {
            table_id: replace(changes, reserved_row_ids=max(changes.reserved_row_ids, reserved.get(table_id, 0)))
            for table_id, changes in savepoint.rows.items()
        }
        self._staging.changes = replace(savepoint, rows=rows)

    # -- the end ---------------------------------------------------------------------------------------------------------------

    def commit(self) -> Snapshot | None:
        """Commit the staged changes.

        Returns:
            The new snapshot, or None if there was nothing to commit or only options changed.

        Raises:
            ConflictError: a concurrent writer's change forbids the commit, or other writers kept the catalog busy for too long.
            StatementError: the transaction is over, or the lake requires a commit message and none was set.
            EngineError: the catalog database failed.
        """
        staging = self._staging
        if staging.finished:
            raise StatementError("the transaction is over; begin another one")
        staging.finished = True
        if not self.changes_catalog:
            staging.changes = Staged()
            return None
        progress = CommitProgress(self._with_reads(self.staged))
        try:
            return commit(self._cache, self.base, self._retry, self._staging.next_row_ids, progress)
        except BaseException:
            if not progress.uncertain:  # if uncertain, the files may be part of the lake
                progress.staged = Staged()
            raise
        finally:
            staging.changes = progress.staged
            staging.files.update(dict.fromkeys(progress.rewritten))

    def require_committable(self, staged: Staged) -> None:
        """Require that a commit of these changes would find no conflict now.

        Raises:
            ConflictError: a concurrent writer's change forbids the commit.
        """
        require_committable(self._cache, self.base, self._with_reads(staged))

    def rollback(self) -> None:
        """Discard all staged changes and end the transaction; do nothing if it has ended, because its files may be live."""
        if not self._staging.finished:
            self._staging.finished = True
            self._staging.changes = Staged()

    def _with_reads(self, staged: Staged) -> Staged:
        """Return staged changes with what the isolation level requires of what was read."""
        return self.reads.of_all_tables(staged) if self.serializable else self.reads.of_changed_tables(staged)

    def _next_row_id(self, table: Table) -> int:
        """Return the first row id that staged rows get if no concurrent writer inserts rows.

        The commit checks this if a read depended on it.
        """
        known = self._staging.next_row_ids
        if table.table_id not in known:
            known[table.table_id] = next_row_id(self._cache.database, table.table_id)
        return known[table.table_id]
