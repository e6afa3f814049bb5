"""Checks whether a serial order of the committed transactions explains all answers and all rows.

The checker searches for an order: it places one transaction after the other, and the model computes the answers and the state that each
would have produced. A transaction that ended before another began comes first. The rows of each snapshot must be the state after the
transaction that committed it, so only transactions that changed nothing can move freely.

Under snapshot isolation a transaction reads all tables at one snapshot, and what it read from the tables that it changes must still hold
when it commits. Two transactions may then each read what the other changes (write skew). `Verdict` distinguishes such histories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from .history import Actor, History, State, TableRows, Transaction
from .model import Model


class Verdict(Enum):
    """How well a history is isolated, best first."""

    SERIALIZABLE = "serializable"
    REORDERED = "serializable, but the snapshots in between are those of another order"
    WRITE_SKEW = "write skew"
    VIOLATION = "violation"


class Isolation(Enum):
    """The isolation that a search requires."""

    STRICT = "strict"
    """Each transaction runs as if alone at its commit, and each snapshot is the state after its transaction."""
    SNAPSHOT = "snapshot"
    """It may have read tables that it does not change at one earlier snapshot."""
    FINAL = "final"
    """Strict, but only the last snapshot counts."""


OURS: frozenset[Actor] = frozenset({"A", "B"})


@dataclass
class Finding:
    """A verdict and the reasons why it is not better."""

    verdict: Verdict
    reasons: list[str] = field(default_factory=list)


def check(history: History, model: Model) -> Finding:
    """Return the verdict on a history."""
    reasons = [*history.faults, *_unexplained_aborts(history, model)]
    if reasons:
        return Finding(Verdict.VIOLATION, reasons)
    strict = _Search(history, model, Isolation.STRICT)
    if strict.succeeds():
        return Finding(Verdict.SERIALIZABLE)
    snapshot = _Search(history, model, Isolation.SNAPSHOT)
    if not snapshot.succeeds():
        return Finding(Verdict.VIOLATION, snapshot.reasons)
    reordered = _Search(history, model, Isolation.FINAL).succeeds()
    return Finding(Verdict.REORDERED if reordered else Verdict.WRITE_SKEW, strict.reasons)


def _unexplained_aborts(history: History, model: Model) -> Iterator[str]:
    """Return rolled-back transactions with answers that no snapshot of their time explains. The rows show whether they had an effect."""
    for transaction in history.transactions:
        if transaction.committed:
            continue
        pins = history.pins(transaction)
        found = [model.run(transaction.work, history.states[pin]).mismatch(transaction.work) for pin in pins]
        if None not in found:
            yield f"{transaction}, which was rolled back: {found[0]}, if it read at snapshot {pins[0]}"


class _Search:
    """Places the committed transactions one after the other."""

    def __init__(self, history: History, model: Model, isolation: Isolation) -> None:
        self._history, self._model, self._isolation = history, model, isolation
        self._failed: set[tuple[frozenset[int], State]] = set()
        self._deepest = -1
        self.reasons: list[str] = []
        """The reason why the longest order ends."""

    def succeeds(self) -> bool:
        """Return whether an order exists."""
        remaining = [each for each in self._history.transactions if each.committed]
        return self._place(remaining, self._history.states[min(self._history.states)], 0)

    def _place(self, remaining: list[Transaction], state: State, depth: int) -> bool:
        if not remaining:
            return state == self._history.states[max(self._history.states)]
        key = (frozenset(each.number for each in remaining), state)
        if key in self._failed:
            return False
        for next_one in remaining:
            if any(other.ended < next_one.begun for other in remaining):
                continue
            rest = [other for other in remaining if other is not next_one]
            for after in self._after(next_one, state, depth):
                if self._place(rest, after, depth + 1):
                    return True
        self._failed.add(key)
        return False

    def _after(self, transaction: Transaction, state: State, depth: int) -> Iterator[State]:
        """Yield the states that the transaction may produce if it can come next."""
        for after in self._outcomes(transaction, state, depth):
            if not transaction.snapshots:
                if after == state:
                    yield after
                else:
                    self._fail(depth, f"{transaction} committed nothing, but should leave {after} where {state} was")
            elif self._isolation is Isolation.FINAL or all(self._history.states[each] == after for each in transaction.snapshots):
                yield after
            else:
                wrong = next(each for each in transaction.snapshots if self._history.states[each] != after)
                self._fail(depth, f"{transaction}: snapshot {wrong} is {self._history.states[wrong]}, it should be {after}")

    def _outcomes(self, transaction: Transaction, state: State, depth: int) -> Iterator[State]:
        may_read_earlier = transaction.explicit and (self._isolation is Isolation.SNAPSHOT or transaction.actor not in OURS)
        alone = self._model.run(transaction.work, state)
        mismatch = alone.mismatch(transaction.work)
        if mismatch is None:
            yield alone.state
        elif not may_read_earlier:
            self._fail(depth, f"{transaction}: {mismatch}")
        for pin in self._history.pins(transaction) if may_read_earlier else ():
            after = self._pinned(transaction, self._history.states[pin], state)
            if isinstance(after, State):
                yield after
            else:
                self._fail(depth, f"{transaction}, if it read at snapshot {pin}: {after}")

    def _pinned(self, transaction: Transaction, pinned: State, state: State) -> State | str:
        """Return the state that the transaction produces if it read at an earlier snapshot, or the reason why it cannot have done so.

        Our transactions must find the tables that they change as if they read them now; a statement that changed no row changed no table.
        DuckDB's own rules do not require that.
        """
        outcome = self._model.run(transaction.work, pinned)
        mismatch = outcome.mismatch(transaction.work)
        if mismatch is not None:
            return mismatch
        changed = [name for name in transaction.writes if pinned.get(name) != outcome.state.get(name)]
        after = state
        for name in changed:
            was, is_now, current = pinned.get(name), outcome.state.get(name), state.get(name)
            if was == current:
                after = after.with_relations_of([name], outcome.state)
            elif isinstance(was, TableRows) and isinstance(is_now, TableRows) and isinstance(current, TableRows):
                combined = current.with_changes(was, is_now)
                if combined is None:
                    return f"rows of {name} that it removed, or columns, were no longer there when it committed"
                after = after.with_relations_of([name], State.of({name: combined}))
            else:
                return f"{name} was made, dropped or replaced meanwhile"
        if transaction.actor in OURS:
            mixed = self._model.run(transaction.work, pinned.with_relations_of(changed, state))
            mismatch = mixed.mismatch(transaction.work)
            if mismatch is not None:
                return f"{mismatch}, in the tables that it changes as they are when it commits"
            if after.with_relations_of(changed, mixed.state) != after:
                return f"it leaves {after}, it should be {after.with_relations_of(changed, mixed.state)}"
        return after

    def _fail(self, depth: int, reason: str) -> None:
        if depth > self._deepest:
            self._deepest, self.reasons = depth, []
        if depth == self._deepest and reason not in self.reasons:
            self.reasons.append(reason)
