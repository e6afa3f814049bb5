"""A transaction that several sessions share: each adds its changes, all see what was added, and one snapshot commits everything."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from ...errors import StatementError
from ...format.identifiers import fold
from ...format.objects import Relation, Snapshot
from ..read.reader import DefinitionCache
from ..staged import CommitMessage, Staged
from ..store.retries import RetrySettings
from .merging import changed_relations, difference, is_changed, merged
from .read_set import ReadSet
from .staging import Staging
from .transaction import Transaction


@dataclass(frozen=True)
class Part:
    """What one transaction added: its commit message, and schema.name of the tables and views that it changed."""

    message: CommitMessage
    changed: tuple[str, ...]


class SharedTransaction:
    """Collects the changes of the transactions that it begins. They may run in several threads.

    Args:
        cache: the definitions that readers share.
        snapshot: the snapshot to which all its transactions are pinned.
        retry: the retry settings of the commit.
        require_writable: raises an error if changes are not allowed.
        start: staged changes of other transactions, which its transactions see and its commit omits.
        ids: the ids of new objects; shared transactions that see each other's changes share them.
        serializable: as in `Transaction`, for everything that was added together.
    """

    def __init__(
        self,
        cache: DefinitionCache,
        snapshot: Snapshot,
        retry: RetrySettings,
        require_writable: Callable[[], None],
        start: Staged | None = None,
        ids: Iterator[int] | None = None,
        *,
        serializable: bool = False,
    ) -> None:
        self._begun = cache, snapshot, retry
        self._staging = Staging(require_writable, ids=ids)
        self._start = self._staging.changes = start or Staged()
        self._whole = Transaction(cache, snapshot, retry, self._staging, serializable=serializable)
        self._lock = threading.Lock()
        self._seen: frozenset[int] = frozenset()
        self._not_committed: Staged | None = None
        self.parts: list[Part] = []
        """The transactions that changed something, in the order of their commits."""

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

    def add(self, start: Staged, changed: Staged, files: Iterable[str], reads: ReadSet) -> None:
        """Add the changes of a transaction.

        Args:
            start: the staged changes that the transaction started from.
            changed: `start` with its own changes.
            files: the paths of all files that it staged.
            reads: its read set.

        Raises:
            ConflictError: another transaction added changes in the meantime that conflict with these.
            StatementError: the shared transaction is over, or the changes cannot be separated from those that it started from.
        """
        with self._lock:
            self._staging.require_open()
            current = self._staging.changes
            message = changed.commit_message
            changed = replace(changed, commit_message=None)
            together = changed if current is start else merged(start, changed, current, reads.table_ids())
            difference(self._start, together)
            self._staging.changes = together
            self._staging.files.update(dict.fromkeys(files))
            self._whole.reads.update(reads)
            names = self._names(changed, changed_relations(start, changed))
            self.parts.append(Part(message or CommitMessage(), tuple(names)))

    def add_reads(self, reads: ReadSet) -> None:
        """Add the read set of a transaction without changes; it matters only at the isolation level `serializable`."""
        if self._whole.serializable:
            with self._lock:
                self._whole.reads.update(reads)

    def own(self) -> Staged:
        """Return the staged changes without those of `start`; after a failed commit, those that it could not commit."""
        return difference(self._start, self._staging.changes) if self._not_committed is None else self._not_committed

    def changed_names(self) -> list[str]:
        """Return schema.name of each table and view that was created, changed or dropped."""
        own = self.own()
        return self._names(own, changed_relations(Staged(), own))

    def record_published(self, snapshot: Snapshot) -> None:
        """Record the snapshot that published changes of `start`, so that a commit does not treat it as a concurrent writer's."""
        with self._lock:
            self._seen |= {snapshot.snapshot_id}

    def commit(self, message: CommitMessage) -> Snapshot | None:
        """Commit the added changes, without those of `start`.

        Raises:
            ConflictError: a concurrent writer's change forbids it.
        """
        with self._lock:
            own = self.own()
            self._staging.changes = replace(own, commit_message=message, seen=self._seen)
        try:
            return self._whole.commit()
        except BaseException:
            self._not_committed = own
            raise

    def require_committable(self) -> None:
        """Require that a commit would find no conflict now.

        Raises:
            ConflictError: a concurrent writer's change forbids it.
        """
        self._whole.require_committable(replace(self.own(), seen=self._seen))

    def keep(self, names: Collection[tuple[str, str]]) -> None:
        """Discard everything but the tables with these names (schema, table), and the new schemas that they are in.

        What was read no longer counts: their rows describe changes that are discarded.
        """
        wanted = {(fold(schema), fold(name)) for schema, name in names}
        staged = self.own()

        def is_wanted(relation_id: int) -> bool:
            found = self._definitions(staged, relation_id)
            return any((fold(each.schema_name), fold(each.name)) in wanted for each in found)

        with self._lock:
            self._staging.changes = staged.only_tables({key for key in changed_relations(Staged(), staged) if is_wanted(key)})
            self._start = Staged()
            self._whole.reads = ReadSet()

    def _definitions(self, staged: Staged, relation_id: int) -> list[Relation]:
        """Return the definitions of a table or view, the committed and the staged one."""
        committed = self._whole.base.by_id(relation_id) if relation_id >= 0 else None
        found = (committed, staged.tables.get(relation_id), staged.views.get(relation_id))
        return [each for each in found if each is not None]

    def _names(self, staged: Staged, ids: Iterable[int]) -> list[str]:
        """Return schema.name of tables and views, the new name and the committed one if they differ."""
        return sorted({f"{each.schema_name}.{each.name}" for key in ids for each in self._definitions(staged, key)})

    @property
    def changes_catalog(self) -> bool:
        """Whether a commit changes the catalog."""
        own = self.own()
        return own.has_changes or bool(own.options)

    @property
    def whole(self) -> Transaction:
        """The transaction with everything that was added. Use it only when no other is open; when it ends, the shared transaction ends."""
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
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether the transaction has ended, and the shared transaction has its changes if it was committed."""
        return self._is_over

    @property
    def changes_catalog(self) -> bool:
        """Whether the transaction itself changed anything."""
        return is_changed(self._start, self.staged)

    def written_files(self) -> dict[str, int]:
        """Return the files that the transaction itself staged: path → size in bytes."""
        earlier = self._start.written()
        return {path: size for path, size in self.staged.written().items() if path not in earlier}

    def commit(self) -> None:
        """Add the changes, or the read set if there are none, to the shared transaction.

        Raises:
            ConflictError: another transaction changed the same object in the meantime.
            StatementError: this transaction or the shared one is over.
        """
        staging = self._staging
        if staging.finished:
            raise StatementError("the transaction is over; begin another one")
        staging.finished = True
        try:
            if self.changes_catalog:
                self._shared.add(self._start, self.staged, staging.files, self.reads)
            else:
                self._shared.add_reads(self.reads)
        except BaseException:
            staging.changes = Staged()
            raise
        finally:
            self._is_over = True

    def rollback(self) -> None:
        """See `Transaction`."""
        super().rollback()
        self._is_over = True
