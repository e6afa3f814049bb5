"""A transaction: one pinned snapshot, the changes staged on top of it, and reading that sees both.

Nothing is written to the catalog before `commit`; files are written by the caller before they are staged. `objects` stages definitions
(`staging_objects.py`), `rows` stages rows (`staging_rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...errors import StatementError
from ...format.files import ColumnFilter, Condition, DataFile, Filters, InlinedDeletes, ScanPlan, WriteOptions
from ...format.objects import Macro, Snapshot, Table, View
from ...format.options import Options
from ..commit.commit import CommitProgress, RetrySettings, commit
from ..commit.options import read_options
from ..read.definitions import Definitions
from ..read.overlay import staged_scan_plan
from ..read.reader import DefinitionCache, SnapshotReader
from ..read.row_state import next_row_id, row_bytes
from ..read.view import CatalogView
from ..staged import CommitMessage, RowChanges, Staged, put
from .objects import ObjectStaging
from .rows import RowStaging
from .staging import Staging

__all__ = ["RetrySettings", "Savepoint", "Transaction"]

Savepoint = Staged
"""What `savepoint` gives and `restore` takes."""


class Transaction(CatalogView):
    """Shows the lake as it was when the transaction began, with its own staged changes. Not thread-safe: it has one owner.

    Args:
        cache: the definitions that readers share.
        snapshot: the newest snapshot.
        retry: how often and how patiently a commit is tried.
        require_writable: raises what stands against any change.
    """

    def __init__(self, cache: DefinitionCache, snapshot: Snapshot, retry: RetrySettings, require_writable: Callable[[], None]) -> None:
        super().__init__(snapshot)
        self.base = SnapshotReader(cache, snapshot)
        """The lake without the staged changes."""
        self._cache = cache
        self._retry = retry
        self._staging = Staging(require_writable)
        self._next_row_ids: dict[int, int] = {}
        self._reads: dict[int | None, dict[Condition, None]] = {}
        self.objects = ObjectStaging(self, self.base, self._staging, cache.data_path)
        """Stages what the lake has beside rows."""
        self.rows = RowStaging(self, self._staging, cache.database, self._next_row_id)
        """Stages what becomes of rows."""

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
        """How to read a table with the changes staged so far; staged files are never left out by `within`."""
        changes = self._staging.rows_of(table)
        first = self._next_row_id(table) if changes.adds_rows else 0
        return staged_scan_plan(self.base, table, changes, within, first)

    def staged_files(self, table: Table) -> list[DataFile]:
        """The data files that this transaction adds to a table."""
        ids = self._staging.rows_of(table).staged_ids()
        return [each for each in self.scan_plan(table).files if each.data_file_id in ids]

    def inlined_deletes(self, table: Table) -> tuple[InlinedDeletes, ...]:
        """What the catalog holds of the deletes on the table's committed files; nothing once this transaction has truncated it."""
        if table.table_id < 0 or self._staging.rows_of(table).truncated:
            return ()
        return self.base.inlined_deletes(table)

    def reads_rows(self, table_id: int | None, within: Sequence[ColumnFilter] = ()) -> None:
        """Note that a query reads the rows of a table that pass all filters; None: it may read all rows of any table."""
        self._reads.setdefault(table_id, {})[tuple(within)] = None

    def row_bytes(self, table: Table) -> float | None:
        """What a row takes in the data files that the table has; None if that cannot be told."""
        return row_bytes(self._cache.database, table.table_id, self.snapshot.snapshot_id) if table.table_id >= 0 else None

    def options(self) -> Options:
        """The options of the lake as they are now, with the staged ones."""
        with self._cache.database.reading() as connection:
            return read_options(connection).with_rows(self.staged.options.values())

    def write_options(self, table: Table) -> WriteOptions:
        """How data files of a table are written."""
        schema = self.schema(table.schema_name)
        return self.options().write_options(schema_id=None if schema is None else schema.schema_id, table_id=table.table_id)

    def inlining_row_limit(self, table: Table, default: int) -> int:
        """Up to how many rows of one statement are kept in the catalog instead of in a file; 0: never any."""
        schema = self.schema(table.schema_name)
        return self.options().inlining_row_limit(default, schema_id=None if schema is None else schema.schema_id, table_id=table.table_id)

    def require_writable(self) -> None:
        """Raise what stands against any change; asked before files are written, and by every change that is staged."""
        self._staging.require_writable()

    # -- changes to everything -------------------------------------------------------------------------------------------------

    def return_to(self, then: Table | View | Macro, rows: RowChanges | None = None) -> None:
        """Stage what a table, view or macro was at an earlier snapshot, with its ids of that snapshot; what was dropped comes back.

        The caller sees to it that no two have one name in the end. A table that was dropped is a new one: DuckDB looks for the schema that
        the first row of a table names, however old that row is.

        Args:
            then: the earlier definition.
            rows: what becomes of the rows of the table; it goes on from the rows of the snapshot when the transaction began.
        """
        self._staging.require_open()
        match then:
            case Macro():
                self._staging.put(returned_macros=put(self.staged.returned_macros, then.macro_id, then))
            case View():
                self._staging.put(views=put(self.staged.views, then.view_id, then))
            case Table() if then.table_id >= 0 and then != self.base.by_id(then.table_id):
                self._staging.put(tables=put(self.staged.tables, then.table_id, then))
        if rows is not None and isinstance(then, Table):
            for file in rows.written():
                self._staging.files[file.path] = None
            self._staging.put_rows(then, rows)

    def roll_back_all(self, schema: str | None) -> None:
        """Declare that everything in a schema, or in the lake, is rolled back: what others change there meanwhile is then a conflict."""
        self._staging.require_open()
        self._staging.put(rolled_back=self.staged.rolled_back | {schema})

    def set_commit_message(self, author: str | None, message: str | None, extra_info: str | None = None) -> None:
        """Set what the snapshot's entry in the log will say."""
        self._staging.put(commit_message=CommitMessage(author, message, extra_info))

    # -- what is staged --------------------------------------------------------------------------------------------------------

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a snapshot."""
        return self.staged.has_changes

    @property
    def writes(self) -> bool:
        """Whether a commit would change the catalog at all: options make no snapshot."""
        return self.staged.has_changes or bool(self.staged.options)

    def abandoned_files(self) -> list[str]:
        """Files that were staged and are not part of the lake: dropped again, or of a transaction that did not commit.

        Meaningful once the transaction is over; before that, `restore` may bring some back. Empty when the database failed in the very
        act of committing, so that nobody removes a file of a snapshot that exists after all.
        """
        kept = self.staged.written()
        return [path for path in self._staging.files if path not in kept]

    def written_files(self) -> dict[str, int]:
        """The files that are staged: path → bytes."""
        return self.staged.written()

    def changed_tables(self) -> list[Table]:
        """The committed tables whose definition or rows are changed, as they were."""
        found = (self.base.by_id(table_id) for table_id in {*self.staged.tables, *self.staged.rows} if table_id >= 0)
        return [each for each in found if isinstance(each, Table)]

    def savepoint(self) -> Savepoint:
        """The present state, for `restore`."""
        return self.staged

    def restore(self, savepoint: Savepoint) -> None:
        """Forget everything staged since a savepoint."""
        reserved = {table_id: changes.reserved_row_ids for table_id, changes in self.staged.rows.items()}
        rows = {
            table_id: replace(changes, reserved_row_ids=max(changes.reserved_row_ids, reserved.get(table_id, 0)))
            for table_id, changes in savepoint.rows.items()
        }
        self._staging.changes = replace(savepoint, rows=rows)

    # -- the end ---------------------------------------------------------------------------------------------------------------

    def commit(self) -> Snapshot | None:
        """Make the staged changes a snapshot; None if there is nothing to record.

        Raises:
            ConflictError: a concurrent writer committed a change that these depend on, or kept the catalog busy for too long.
            StatementError: the lake demands a commit message and there is none.
            EngineError: the catalog database failed.
        """
        staging = self._staging
        if staging.finished:
            raise StatementError("the transaction is over; begin another one")
        staging.finished = True
        if not self.writes:
            staging.changes = Staged()
            return None
        progress = CommitProgress(self._with_reads())
        try:
            return commit(self._cache, self.base, self._retry, self._next_row_ids, progress)
        except BaseException:
            if not progress.uncertain:  # else the files may be part of the lake already
                progress.staged = Staged()
            raise
        finally:
            staging.files.update(dict.fromkeys(progress.rewritten))
            staging.changes = progress.staged

    def rollback(self) -> None:
        """Forget everything."""
        self._staging.finished = True
        self._staging.changes = Staged()

    def _with_reads(self) -> Staged:
        """What is staged, where a change of a table depends on what the transaction has read of that table."""
        staged = self.staged
        for table_id, changes in staged.rows.items():
            if changes.depends_on_rows or changes.has_changes:
                read = (*self._reads.get(table_id, ()), *self._reads.get(None, ()))
                staged = staged.with_rows(table_id, changes.depending_on(read))
        return staged

    def _next_row_id(self, table: Table) -> int:
        """The first row id of the staged files, if no concurrent writer inserts; a commit checks it when it matters."""
        if table.table_id not in self._next_row_ids:
            self._next_row_ids[table.table_id] = next_row_id(self._cache.database, table.table_id)
        return self._next_row_ids[table.table_id]
