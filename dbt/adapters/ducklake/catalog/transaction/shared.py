"""A transaction that several sessions share: each adds its changes, all see what was added, and one snapshot commits everything."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from ...errors import StatementError
from ...format.files import Condition
from ...format.identifiers import fold
from ...format.objects import Relation, Snapshot
from ..read.reader import DefinitionCache
from ..staged import CommitMessage, Staged
from ..store.retries import RetrySettings
from .merging import merged
from .staging import Staging
from .transaction import Transaction


class SharedTransaction:
    """Collects the changes of the transactions that it begins. They may run in several threads.

    Args:
        cache: the definitions that readers share.
        snapshot: the snapshot to which all its transactions are pinned.
        retry: the retry settings of the commit.
        require_writable: raises an error if changes are not allowed.
    """

    def __init__(self, cache: DefinitionCache, snapshot: Snapshot, retry: RetrySettings, require_writable: Callable[[], None]) -> None:
        self._begun = cache, snapshot, retry
        self._staging = Staging(require_writable)
        self._whole = Transaction(cache, snapshot, retry, self._staging)
        self._lock = threading.Lock()
        self.messages: list[CommitMessage] = []
        """The commit messages of the transactions that changed something, in the order of their commits."""

    def begin(self, allow: Callable[[], None]) -> Transaction:
        """Begin a transaction that sees all changes added so far. Its commit adds its own changes and creates no snapshot.

        Args:
            allow: called before every change; raises an error to refuse it.
        """

        def require_writable() -> None:
            self._staging.require_open()
            allow()

        with self._lock:
            return _Branch(self, *self._begun, Staging(require_writable, self._staging))

    def add(self, start: Staged, changed: Staged, files: Iterable[str], reads: Iterable[tuple[int | None, Condition]]) -> None:
        """Add the changes of a transaction.

        Args:
            start: the staged changes that the transaction started from.
            changed: the same with its own changes.
            files: the paths of all files that it staged.
            reads: table id (None: any table) and condition of the rows that its queries read.

        Raises:
            ConflictError: another transaction added changes meanwhile that conflict with these.
            StatementError: the shared transaction is over.
        """
        with self._lock:
            self._staging.require_open()
            current = self._staging.changes
            message = changed.commit_message
            changed = replace(changed, commit_message=None)
            self._staging.changes = changed if current is start else merged(start, changed, current)
            self._staging.files.update(dict.fromkeys(files))
            for table_id, condition in reads:
                self._whole.reads_rows(table_id, condition)
            if message is not None:
                self.messages.append(message)

    def changed_names(self) -> list[str]:
        """Return schema.name of each table and view that was created, changed or dropped."""
        return sorted({f"{each.schema_name}.{each.name}" for ids in self._changed().values() for each in ids})

    def keep(self, names: Collection[tuple[str, str]]) -> None:
        """Discard everything but the tables with these names (schema, table), and the new schemas that they are in."""
        wanted = {(fold(schema), fold(name)) for schema, name in names}
        ids = {key for key, found in self._changed().items() if wanted & {(fold(each.schema_name), fold(each.name)) for each in found}}
        with self._lock:
            self._staging.changes = self._staging.changes.only_tables(ids)

    def _changed(self) -> dict[int, list[Relation]]:
        """Return the id of each changed table and view with its definitions, the committed and the staged one."""
        staged = self._staging.changes
        ids = {*staged.tables, *staged.views, *(key for key, rows in staged.rows.items() if rows.has_changes)}
        found = {key: (self._whole.base.by_id(key) if key >= 0 else None, self._whole.by_id(key)) for key in ids}
        return {key: [each for each in both if each is not None] for key, both in found.items()}

    @property
    def writes(self) -> bool:
        """Whether a commit changes the catalog."""
        return self._whole.writes

    @property
    def whole(self) -> Transaction:
        """The transaction with everything that was added. It may be used only when no other is open; its end is the end of all."""
        return self._whole


class _Branch(Transaction):
    """A transaction whose commit adds its changes to a shared transaction."""

    is_shared = True

    def __init__(
        self, shared: SharedTransaction, cache: DefinitionCache, snapshot: Snapshot, retry: RetrySettings, staging: Staging
    ) -> None:
        super().__init__(cache, snapshot, retry, staging)
        self._shared = shared
        self._start = staging.changes

    @property
    def writes(self) -> bool:
        """Whether its own changes are not empty."""
        return replace(self.staged, commit_message=self._start.commit_message) != self._start

    def commit(self) -> None:
        """Add the changes to the shared transaction.

        Raises:
            ConflictError: another transaction changed the same object meanwhile.
            StatementError: this transaction or the shared one is over.
        """
        staging = self._staging
        if staging.finished:
            raise StatementError("the transaction is over; begin another one")
        staging.finished = True
        if not self.writes:
            return
        reads = [(table_id, condition) for table_id, conditions in self._reads.items() for condition in conditions]
        try:
            self._shared.add(self._start, self.staged, staging.files, reads)
        except BaseException:
            staging.changes = Staged()
            raise
