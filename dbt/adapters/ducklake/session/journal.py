"""The steps of an open transaction, so that they can be replayed when a concurrent writer has committed a conflicting change.

A replay is right if the caller would ask for the same again. So every answer that the caller was given must be the same in the replay: the
rows of a query that were fetched, the columns of a relation, what SHOW and DESCRIBE say, the number of rows that a statement changed. What
cannot be repeated, such as a Python model, is an obstacle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConflictError
from ..format.objects import Snapshot
from ..plan.names import TemporaryView
from ..run.result import FilesWritten, Result

MOST_ROWS = 1000
"""Of a query of which more rows were fetched, the rows are not kept for comparison."""


@dataclass
class Step:
    """One action of a transaction, and its result."""

    action: Callable[[], Any]
    result: Any
    answer: Callable[[Any], Any]
    """What of the result the caller was given."""
    counts_given: bool = False
    """The caller was given how many rows the statement changed."""

    def give_counts(self) -> None:
        """Note that the caller has looked at how many rows the statement changed."""
        self.counts_given = True

    def replay(self, *, counts: bool = False) -> None:
        """Repeat the action.

        Args:
            counts: the number of changed rows must be the same even if the caller has not looked at it yet.

        Raises:
            ConflictError: the caller would be given another answer.
        """
        result = self.action()
        changed = self.answer(result) != self.answer(self.result)
        if (self.counts_given or counts) and isinstance(result, Result):
            changed = changed or result.counts != self.result.counts
        if changed:
            raise ConflictError("an answer that it was given has changed")
        self.result = result


@dataclass(frozen=True)
class Committed:
    """A transaction that was committed: the result of each step in the end, and the files that it wrote."""

    snapshot: Snapshot | None
    results: tuple[Result | None, ...] = ()
    """Of each step, None where it was no statement."""
    written: FilesWritten = field(default_factory=FilesWritten)


@dataclass
class Journal:
    """All steps of a transaction, and what the session was when it began."""

    lake: str
    schema: str
    temporary: Mapping[str, TemporaryView]
    steps: list[Step] = field(default_factory=list)
    obstacle: str | None = None
    """Why the transaction cannot be replayed."""

    def prevent(self, reason: str) -> None:
        """Note why the transaction cannot be replayed; the first reason stays."""
        self.obstacle = self.obstacle or reason

    def committed(self, snapshot: Snapshot | None, written: Mapping[str, int]) -> Committed:
        """The outcome."""
        results = tuple(step.result if isinstance(step.result, Result) else None for step in self.steps)
        return Committed(snapshot, results, FilesWritten(len(written), sum(written.values())))


def nothing(result: Any) -> None:
    """The result is not returned to the caller."""


def itself(result: Any) -> Any:
    """The result is returned to the caller."""
    return result


def of_statement(result: Result) -> Any:
    """The columns, and the rows that are at hand; those of a query are an answer when they are fetched."""
    return result.columns, None if result.rows is None else list(result.rows)
