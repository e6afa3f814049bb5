"""A run with `publish: run`: every transaction adds its changes to a shared transaction, which becomes one snapshot at the end."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Sequence

from ..catalog.lake import LakeCatalog
from ..catalog.staged import CommitMessage, Staged
from ..catalog.transaction.shared import Part, SharedTransaction
from ..catalog.transaction.transaction import Transaction
from ..errors import StatementError
from ..format.objects import Snapshot
from .transactions import remove_abandoned_files


class StagedRun:
    """The shared transactions of a run, one for each lake that it uses. Only one of the lakes may be changed. Thread-safe.

    Args:
        catalog_of: returns the catalog of a lake by its name.
        start: returns staged changes of other runs in a lake, which this run sees but does not publish.
        ids: the ids for new objects, shared with these other runs.
    """

    def __init__(
        self,
        catalog_of: Callable[[str], LakeCatalog],
        start: Callable[[str], Staged | None] = lambda _: None,
        ids: Iterator[int] | None = None,
    ) -> None:
        self._catalog_of = catalog_of
        self._start, self._ids = start, ids
        self._shared: dict[str, SharedTransaction] = {}
        self._writers: dict[str, list[Transaction]] = {}
        """The transactions that change a lake, by its name. Those that are over are removed when the next one begins to change it."""
        self._published_lake: str | None = None
        self.deferred: list[str] = []
        """Maintenance statements, which cannot run on staged changes; the caller runs them after it has published the run."""
        self._lock = threading.Lock()

    def begin(self, lake: str, allow: Callable[[], None]) -> Transaction:
        """Begin a transaction of the run; its commit adds its changes to the run.

        Args:
            lake: the lake's name.
            allow: called before every change; raises an error to refuse it.
        """

        def allow_and_claim() -> None:
            allow()
            self._claim_lake(lake, transaction)

        with self._lock:
            if lake not in self._shared:
                self._shared[lake] = self._catalog_of(lake).begin_shared(self._start(lake), self._ids)
            shared = self._shared[lake]
        transaction = shared.begin(allow_and_claim)
        return transaction

    @property
    def changes_catalog(self) -> bool:
        """Whether the run has changes to publish."""
        return any(shared.changes_catalog for shared in self._shared.values())

    def changed_names(self) -> list[str]:
        """Return `schema.name` of each table and view that the run creates, changes or drops."""
        return [name for shared in self._shared.values() for name in shared.changed_names()]

    def publish(
        self, author: str | None, message: str, extra_info: str, *, only: Collection[tuple[str, str]] | None = None
    ) -> Snapshot | None:
        """Commit everything as one snapshot, and end the run.

        Args:
            author: the author of the snapshot.
            message: its commit message.
            extra_info: a JSON object; the list `nodes` is added, with the message, the extra information and the changed relations
                of each transaction.
            only: discard everything but the tables with these names (schema, table).

        Returns:
            The snapshot, or None if nothing changed.

        Raises:
            ConflictError: a concurrent writer changed what the run depends on; nothing was published.
        """
        snapshot = None
        try:
            for shared in self._shared.values():
                if only is not None:
                    shared.keep(only)
                snapshot = shared.commit(CommitMessage(author, message, _with_nodes(extra_info, shared.parts))) or snapshot
        finally:
            self.remove_files()
        return snapshot

    def publish_alone(self) -> Snapshot | None:
        """Commit everything as the snapshot of the node that made the last change.

        Files that the commit has replaced stay until `remove_files`, because runs that started from this one may still read them.

        Raises:
            ConflictError: see `publish`.
        """
        published = None
        for lake, shared in self._shared.items():
            snapshot = shared.commit(shared.parts[-1].message if shared.parts else CommitMessage())
            if snapshot is not None:
                published, self._published_lake = snapshot, lake
        return published

    def record_published(self, run: StagedRun, snapshot: Snapshot) -> None:
        """Record the snapshot of another run whose changes this run started from, so that it is no concurrent writer's."""
        lake = run._published_lake
        if lake in self._shared:
            self._shared[lake].record_published(snapshot)

    def require_committable(self) -> None:
        """Require that publishing would find no conflict now.

        Raises:
            ConflictError: a concurrent writer changed what the run depends on.
        """
        for shared in self._shared.values():
            shared.require_committable()

    def own_changes(self, lake: str) -> Staged:
        """Return the changes of the run in a lake."""
        return self._shared[lake].own() if lake in self._shared else Staged()

    def discard(self) -> None:
        """Discard all changes, remove their files, and end the run."""
        for shared in self._shared.values():
            shared.whole.rollback()
        self.remove_files()

    def remove_files(self) -> None:
        """Remove the files that no commit needs, and no reader any more."""
        for shared in self._shared.values():
            remove_abandoned_files(shared.whole)

    def _claim_lake(self, lake: str, transaction: Transaction) -> None:
        """Record that a transaction changes a lake.

        Raises:
            StatementError: the run has changed another lake, or an open transaction of it changes one.
        """
        with self._lock:
            for other, shared in self._shared.items():
                if other != lake and (shared.changes_catalog or any(not each.is_over for each in self._writers.get(other, ()))):
                    raise StatementError(
                        f"the lake {lake} cannot be changed in this run, because the run publishes its changes of the lake {other} "
                        "at once, as one snapshot. Run the models of the two lakes separately, or set publish: node"
                    )
            writers = self._writers.setdefault(lake, [])
            if transaction not in writers:
                self._writers[lake] = [*(each for each in writers if not each.is_over), transaction]


def _with_nodes(extra_info: str, parts: Sequence[Part]) -> str:
    """Return the JSON object with the list `nodes`, an entry for each transaction without values that are the same for the whole run."""
    whole = json.loads(extra_info)
    nodes = [{"message": part.message.message, **_json_object(part.message.extra_info), "changed": part.changed} for part in parts]
    own = [{key: value for key, value in node.items() if key not in whole or whole[key] != value} for node in nodes]
    return json.dumps({**whole, "nodes": own})


def _json_object(text: str | None) -> dict[str, object]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"info": text}
