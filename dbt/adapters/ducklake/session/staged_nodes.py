"""Publish the nodes of a command one by one, each as its own snapshot, once the tests that it waits for have passed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from ..catalog.lake import LakeCatalog
from ..catalog.staged import Staged
from ..catalog.transaction.merging import merged
from ..catalog.transaction.transaction import Transaction
from ..errors import ConflictError, DuckLakeError, StatementError
from .staged_run import StagedRun


@dataclass(frozen=True)
class NodePlan:
    """What a node of a command reads and waits for. Nodes are named by their ids."""

    reads: frozenset[str] = frozenset()
    """All nodes that it reads, directly or through others."""
    tests: frozenset[str] = frozenset()
    """The tests that must pass before it is published."""
    is_test: bool = False
    """Whether it is a test, whose own changes (the rows of failures) are published in any case."""


@dataclass
class _StagedNode:
    """A node that has begun and is not published."""

    run: StagedRun
    needs: set[str]
    """The nodes whose staged changes it, or one of its tests, has read; they are published before it."""
    started_from: frozenset[str] = frozenset()
    """The nodes whose staged changes it has seen itself."""
    pending_tests: set[str] = field(default_factory=set)
    """The tests that have not passed yet."""
    failure: str | None = None
    """Why it is not published, if that is decided. Its tests can still read it."""


class StagedNodes:
    """The nodes of a command that wait for their tests. Thread-safe.

    A node sees the newest snapshot and the staged changes of the nodes that it reads. It is published after these.

    Args:
        catalog_of: returns the catalog of a lake by its name.
        plans: the plan of each node. Work without a plan, such as the command's hooks, commits directly to the lake.
    """

    def __init__(self, catalog_of: Callable[[str], LakeCatalog], plans: Mapping[str, NodePlan]) -> None:
        self._catalog_of = catalog_of
        self._plans = plans
        self._staged: dict[str, _StagedNode] = {}
        self._tests: dict[str, StagedRun] = {}
        self._published: list[StagedRun] = []
        self._ids = count(-1, -1)
        self.deferred: list[str] = []
        """Maintenance statements that cannot run while changes are staged; the caller runs them at the end."""
        self._lock = threading.RLock()

    def begin(self, node: str | None, lake: str, allow: Callable[[], None]) -> Transaction:
        """Begin a transaction of a node. If the node waits for tests, its commit adds its changes to those that are not published yet.

        Args:
            node: the node; None for work outside of nodes.
            lake: the lake's name.
            allow: called before every change; raises an error to refuse it.

        Raises:
            StatementError: a node that it reads is not going to be published.
        """
        with self._lock:
            plan = self._plans.get(node) if node is not None else None
            run = None if node is None or plan is None else self._staged_run_of(node, plan)
            return self._catalog_of(lake).begin(allow) if run is None else run.begin(lake, allow)

    def deferred_of(self, node: str | None) -> list[str] | None:
        """Return the list that collects maintenance statements of a node, a test or a hook of the command; None if they can run now.

        As long as nodes are staged, the statements of work that is not staged itself wait for the end of the command: they would change
        or remove the files of these nodes.
        """
        with self._lock:
            staged = self._staged.get(node) if node is not None else None
            if staged is not None:
                return staged.run.deferred
            return self.deferred if self._staged else None

    def record_test(self, test: str, failure: str | None) -> None:
        """Record the result of a test, and publish the nodes that waited for it and for nothing else.

        Args:
            test: the test.
            failure: why its nodes must not be published; None if it passed.

        Raises:
            ConflictError: a concurrent writer changed what a node depends on; that node is not published.
        """
        with self._lock:
            run = self._tests.pop(test, None)
            if run is not None:
                self._published.append(run)
                run.publish_alone()
            for name, staged in self._staged.items():
                if test in staged.pending_tests:
                    staged.pending_tests.discard(test)
                    if failure is not None:
                        self._fail(name, failure)
            # a node without tests waits for the end of the command, which alone shows that it was built
            self._publish({name for name, staged in self._staged.items() if self._plans[name].tests and not staged.pending_tests})

    def finish(self, built: Collection[str], *, untested: bool = False) -> None:
        """Publish at the end of the command what can be published; `unpublished` then has the rest.

        Args:
            built: the nodes that succeeded.
            untested: publish nodes whose tests have no result, because they did not run or ended in an error.

        Raises:
            ConflictError: see `record_test`.
        """
        with self._lock:
            for name, staged in self._staged.items():
                if name not in built:
                    self._fail(name, "it failed")
                elif staged.pending_tests and not untested:
                    self._fail(name, f"{_node_name(min(staged.pending_tests))} has no result")
            self._publish(set(self._staged))

    def discard(self) -> None:
        """Discard what is not published, and remove its files and those that published nodes no longer need."""
        with self._lock:
            for run in self._published:
                run.remove_files()
            for run in (*(staged.run for staged in self._staged.values()), *self._tests.values()):
                run.discard()

    @property
    def unpublished(self) -> dict[str, str]:
        """The nodes that are not published, with the reason."""
        return {name: staged.failure or "the command ended before the node could be published" for name, staged in self._staged.items()}

    def _staged_run_of(self, node: str, plan: NodePlan) -> StagedRun | None:
        """Return the staged changes of a node or test; None if it need not wait."""
        known = self._staged[node].run if node in self._staged else self._tests.get(node)
        needs = {name for name in self._staged if name in plan.reads}
        if known is not None or not (needs or plan.tests):
            return known
        if not plan.is_test:
            self._require_publishable(needs)
        run = StagedRun(self._catalog_of, partial(self._changes, frozenset(needs)), self._ids)
        if not plan.is_test:
            self._staged[node] = _StagedNode(run, needs, frozenset(needs), set(plan.tests))
            return run
        self._tests[node] = run
        for name, staged in self._staged.items():
            if node in staged.pending_tests:
                staged.needs |= needs - {name}
                failed = min((need for need in staged.needs if need in self._staged and self._staged[need].failure), default=None)
                if failed is not None:
                    self._fail(name, f"{_node_name(failed)} was not published")
        return run

    def _require_publishable(self, needs: Collection[str]) -> None:
        """Require that none of these nodes has failed.

        Raises:
            StatementError: a node is not going to be published.
        """
        for name in sorted(needs):
            failure = self._staged[name].failure
            if failure is not None:
                raise StatementError(f"it reads {_node_name(name)}, which is not published, because {failure}")

    def _changes(self, nodes: Collection[str], lake: str) -> Staged:
        """Return the staged changes of nodes that are not published in the meantime."""
        combined = Staged()
        with self._lock:
            for name, staged in self._staged.items():
                if name in nodes:
                    combined = merged(Staged(), staged.run.own_changes(lake), combined)
        return combined

    def _fail(self, name: str, reason: str) -> None:
        """Decide that a node is not published, and so are all that have read it."""
        staged = self._staged[name]
        if staged.failure is None:
            staged.failure = reason
            for other, reader in self._staged.items():
                if name in reader.needs:
                    self._fail(other, f"{_node_name(name)} was not published")

    def _publish(self, ready: set[str]) -> None:
        """Publish the nodes of a set whose needs are published or in the set too, each after its needs.

        Raises:
            ConflictError: a node could not be published; the others were tried too.
        """
        ready = {name for name in ready if self._staged[name].failure is None}
        while waiting := {name for name in ready if (self._staged[name].needs & self._staged.keys()) - ready}:
            ready -= waiting
        errors: list[ConflictError] = []
        in_order = sorted((name for name in self._staged if name in ready), key=lambda name: len(self._all_needs(name)))
        for name in in_order:
            # a need that is not published yet: its tests read this node, so each waits for the other
            for other in sorted(self._all_needs(name) - {name}):
                errors += self._attempt(other, StagedRun.require_committable)
            errors += self._attempt(name, partial(self._publish_alone, name))
            if self._staged[name].failure is None:
                published = self._staged.pop(name).run
                self._published.append(published)
                self.deferred += published.deferred
        if errors:
            raise errors[0]

    def _publish_alone(self, name: str, run: StagedRun) -> None:
        """Publish a node, and tell the nodes that have seen its staged changes which snapshot has them now."""
        snapshot = run.publish_alone()
        if snapshot is not None:
            for reader in self._staged.values():
                if name in reader.started_from:
                    reader.run.record_published(run, snapshot)

    def _attempt(self, name: str, action: Callable[[StagedRun], object]) -> list[ConflictError]:
        """Call an action for a node that can still be published. If it fails, the node is not published; return the error then."""
        staged = self._staged[name]
        if staged.failure is None:
            try:
                action(staged.run)
            except DuckLakeError as error:
                self._fail(name, str(error))
                return [ConflictError(f"{_node_name(name)} was not published: {error}")]
        return []

    def _all_needs(self, name: str) -> set[str]:
        """Return the staged nodes that a node needs, directly or through others, and itself.

        Sorted by the number of their needs, nodes come after the nodes that they need, except nodes that need each other because their
        tests read both.
        """
        needed, left = {name}, [name]
        while left:
            new = (self._staged[left.pop()].needs & self._staged.keys()) - needed
            needed |= new
            left += new
        return needed


def _node_name(node: str) -> str:
    """Return the name of a node without its kind and project."""
    return node.split(".")[2] if node.count(".") > 1 else node
