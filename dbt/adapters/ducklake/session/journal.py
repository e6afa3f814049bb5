"""Record the steps of an open transaction, so that they can be replayed after a conflict with a concurrent writer.

A replay is right only if the caller would send the same statements again. So every result that the caller received must be the same in
the replay: the fetched rows of a query, the columns of a relation, the output of SHOW and DESCRIBE, the number of changed rows that the
caller has read. A step that cannot be repeated, such as a Python model, is an obstacle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConflictError
from ..format.objects import Snapshot
from ..plan.names import TemporaryView
from ..run.result import FilesWritten, Result

MAX_ROWS = 1000
"""The rows of a query are kept for comparison only if at most this many were fetched."""


@dataclass
class Step:
    """One action of a transaction, and its result."""

    action: Callable[[], Any]
    result: Any
    """The result of the latest execution."""
    received: Callable[[Any], Any]
    """Returns the part of the result that the caller received."""
    counts_read: bool = False
    """Whether the caller has read how many rows the statement changed."""

    def mark_counts_read(self) -> None:
        """Record that the caller has read how many rows the statement changed."""
        self.counts_read = True

    def replay(self, *, counts: bool = False) -> None:
        """Repeat the action.

        Args:
            counts: the number of changed rows must be the same even if the caller has not read it yet.

        Raises:
            ConflictError: the caller would receive a different result.
        """
        result = self.action()
        now, before = self.received(result), self.received(self.result)
        changed = now != before and repr(now) != repr(before)  # NaN differs from NaN, and its text does not
        if (self.counts_read or counts) and isinstance(result, Result):
            changed = changed or result.counts != self.result.counts
        if changed:
            raise ConflictError("a result that the caller received has changed")
        self.result = result


@dataclass(frozen=True)
class Committed:
    """A committed transaction: its snapshot, the final result of each step, and the files that it wrote."""

    snapshot: Snapshot | None
    results: tuple[Result | None, ...] = ()
    """The result of each step; None for a step that was not a statement."""
    written: FilesWritten = field(default_factory=FilesWritten)
    staged: bool = False
    """Whether the changes were added to a staged run."""


@dataclass
class Journal:
    """All steps of a transaction, and the session's state when it began."""

    lake: str
    """The current lake at the beginning."""
    schema: str
    """The current schema at the beginning."""
    temporary: Mapping[str, TemporaryView]
    """The temporary views at the beginning, by folded name."""
    steps: list[Step] = field(default_factory=list)
    obstacle: str | None = None
    """The reason why the transaction cannot be replayed, if any."""

    def prevent(self, reason: str) -> None:
        """Record why the transaction cannot be replayed; the first reason is kept."""
        self.obstacle = self.obstacle or reason

    def committed(self, snapshot: Snapshot | None, written: Mapping[str, int], *, staged: bool) -> Committed:
        """Return the outcome of the committed transaction.

        Args:
            snapshot: the snapshot that it committed; None if it has none.
            written: path → size in bytes of the files that it wrote.
            staged: whether the changes were added to a staged run.
        """
        results = tuple(step.result if isinstance(step.result, Result) else None for step in self.steps)
        return Committed(snapshot, results, FilesWritten(len(written), sum(written.values())), staged)


def not_received(_result: Any) -> None:
    """For `Step.received`: return None, because the caller does not receive the result."""


def whole_result(result: Any) -> Any:
    """For `Step.received`: return the result, which the caller receives."""
    return result


def columns_and_rows(result: Result) -> Any:
    """For `Step.received`: return the columns and the computed rows; the rows of a query are a separate step when they are fetched."""
    return result.columns, None if result.rows is None else list(result.rows)
