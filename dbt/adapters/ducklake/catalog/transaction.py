"""A transaction: one pinned snapshot, the changes staged on top of it, and reading that sees both.

Nothing is written to the catalog before `commit`; files are written by the caller before they are staged. What it reads is in
`staged_reading.py`, what can be staged in `staging_objects.py` and `staging_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..errors import StatementError
from ..spec.objects import Macro, Snapshot, Table, View
from .commit import CommitProgress, RetrySettings, commit
from .reader import DefinitionCache
from .staged import CommitMessage, RowChanges, Staged, put
from .staging_objects import ObjectStaging
from .staging_rows import RowStaging

__all__ = ["RetrySettings", "Savepoint", "Transaction"]

Savepoint = Staged
"""What `savepoint` gives and `restore` takes."""


class Transaction(ObjectStaging, RowStaging):
    """Reads like a `SnapshotReader`, its own staged changes included. Not thread-safe: it has one owner."""

    def __init__(self, cache: DefinitionCache, snapshot: Snapshot, retry: RetrySettings, require_writable: Callable[[], None]) -> None:
        super().__init__(cache, snapshot, require_writable)
        self._retry = retry

    def return_to(self, then: Table | View | Macro, rows: RowChanges | None = None) -> None:
        """Stage what a table, view or macro was at an earlier snapshot, with the ids of then; a view or macro that was dropped comes back.

        The caller sees to it that no two have one name in the end. A table that was dropped is a new one: DuckDB looks for the schema that
        the first row of a table names, however old that row is.

        Args:
            rows: what becomes of the rows of the table; it goes on from the rows of the snapshot when the transaction began.
        """
        self._require_open()
        match then:
            case Macro():
                self._staged = replace(self._staged, returned_macros=put(self._staged.returned_macros, then.macro_id, then))
            case View():
                self._staged = replace(self._staged, views=put(self._staged.views, then.view_id, then))
            case Table() if then.table_id >= 0 and then != self.base.by_id(then.table_id):
                self._staged = replace(self._staged, tables=put(self._staged.tables, then.table_id, then))
        if rows is not None and isinstance(then, Table):
            for file in rows.written():
                self._seen[file.path] = None
            self._put_rows(then, rows)

    def set_commit_message(self, author: str | None, message: str | None, extra_info: str | None = None) -> None:
        """What the snapshot's entry in the log will say."""
        self._staged = replace(self._staged, commit_message=CommitMessage(author, message, extra_info))

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a snapshot."""
        return self._staged.has_changes

    @property
    def writes(self) -> bool:
        """Whether a commit would change the catalog at all: options make no snapshot."""
        return self._staged.has_changes or bool(self._staged.options)

    @property
    def staged(self) -> Staged:
        """All staged changes."""
        return self._staged

    def abandoned_files(self) -> list[str]:
        """Files that were staged and are not part of the lake: dropped again, or of a transaction that did not commit.

        Meaningful once the transaction is over; before that, `restore` may bring some back. Empty when the database failed in the very
        act of committing, so that nobody removes a file of a snapshot that exists after all.
        """
        kept = self._staged.written()
        return [path for path in self._seen if path not in kept]

    def written_files(self) -> dict[str, int]:
        """The files that are staged: path → bytes."""
        return self._staged.written()

    def changed_tables(self) -> list[Table]:
        """The committed tables whose definition or rows are changed, as they were."""
        found = (self.base.by_id(table_id) for table_id in {*self._staged.tables, *self._staged.rows} if table_id >= 0)
        return [each for each in found if isinstance(each, Table)]

    def savepoint(self) -> Savepoint:
        """The present state, for `restore`."""
        return self._staged

    def restore(self, savepoint: Savepoint) -> None:
        """Forget everything staged since a savepoint."""
        reserved = {table_id: changes.reserved_row_ids for table_id, changes in self._staged.rows.items()}
        rows = {
            table_id: replace(changes, reserved_row_ids=max(changes.reserved_row_ids, reserved.get(table_id, 0)))
            for table_id, changes in savepoint.rows.items()
        }
        self._staged = replace(savepoint, rows=rows)

    def commit(self) -> Snapshot | None:
        """Make the staged changes a snapshot; None if there is nothing to record.

        Raises:
            ConflictError: a rival committed a change that these depend on, or kept the catalog busy for too long.
            StatementError: the lake demands a commit message and there is none.
            EngineError: the catalog database failed.
        """
        if self._finished:
            raise StatementError("the transaction is over; begin another one")
        self._finished = True
        if not self.writes:
            self._staged = Staged()
            return None
        progress = CommitProgress()
        try:
            return commit(self._cache, self.base, self._with_reads(), self._retry, self._next_row_ids, progress)
        except BaseException:
            if not progress.uncertain:  # else the files may be part of the lake already
                self._staged = Staged()
            raise

    def rollback(self) -> None:
        """Forget everything."""
        self._finished = True
        self._staged = Staged()

    def _with_reads(self) -> Staged:
        """What is staged, where a change of a table that depends on some of its rows depends on what queries read of it, too."""
        staged = self._staged
        for table_id, changes in staged.rows.items():
            if changes.depends_on_rows:
                read = (*self._reads.get(table_id, ()), *self._reads.get(None, ()))
                staged = staged.with_rows(table_id, changes.depending_on(read))
        return staged
