"""What was done in an open transaction, so that all of it can be done again when a rival's commit has overtaken it.

That is right if whoever asked for it would ask for the same again. So every answer that the transaction gave must then be the same one: the
rows of a query that were fetched, the columns of a relation, what SHOW and DESCRIBE say. How many rows a statement changed is no such
answer: it is told anew. What cannot be done again, such as a Python model, prevents it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ConflictError
from ..spark.temporary import drop_temporary_view, is_temporary_view
from ..spec.identifiers import backquoted
from ..spec.objects import Snapshot
from ..statements.result import FilesWritten, Result
from ..statements.temporary_views import made_temporary_view
from ..statements.values import DropRelation, PassThrough, Statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_ROWS = 1000
"""Of a query of which more were fetched, the rows are not kept for comparison."""


@dataclass
class Step:
    """One thing that was done, where it was done, and what came of it."""

    action: Callable[[], Any]
    place: tuple[str, str]
    """The current lake and schema."""
    result: Any
    answer: Callable[[Any], Any]
    """What of the result the caller was told, who may have decided by it."""

    def again(self) -> None:
        """Do it again.

        Raises:
            ConflictError: the caller would be told something else now.
        """
        result = self.action()
        if self.answer(result) != self.answer(self.result):
            raise ConflictError("what was asked in it has another answer now")
        self.result = result


@dataclass(frozen=True)
class Done:
    """A transaction that is committed: what came of each step in the end, and the files that it wrote."""

    snapshot: Snapshot | None
    results: tuple[Result | None, ...] = ()
    """Of each step, None where it was no statement."""
    written: FilesWritten = field(default_factory=FilesWritten)


@dataclass
class Journal:
    """All steps of a transaction, and the temporary views as they were before it."""

    steps: list[Step] = field(default_factory=list)
    obstacle: str | None = None
    """Why it cannot be done again."""
    _views: dict[str, DataFrame | None] = field(default_factory=dict)

    def prevent(self, reason: str) -> None:
        """Say why the transaction cannot be done again; the first reason stays."""
        self.obstacle = self.obstacle or reason

    def expect(self, statement: Statement, spark: Callable[[], SparkSession | None]) -> None:
        """Told before a statement runs: keep the temporary view that it replaces or drops.

        Args:
            spark: the session, if it is started.
        """
        match statement:
            case PassThrough(query):
                name = made_temporary_view(query.text)
                if name is None:
                    self.prevent("a statement such as SET changed the Spark session in it")
            case DropRelation(name=name_of) if len(name_of.parts) == 1:
                name = name_of.parts[0]
            case _:
                return
        session = spark()
        if name is not None and session is not None and name.casefold() not in self._views:
            is_there = is_temporary_view(session, name)
            self._views[name.casefold()] = session.table(backquoted(name)) if is_there else None

    def restore_views(self, spark: Callable[[], SparkSession]) -> None:
        """Bring the temporary views back to what they were."""
        for name, frame in self._views.items():
            if frame is None:
                drop_temporary_view(spark(), name)
            else:
                frame.createOrReplaceTempView(backquoted(name))

    def done(self, snapshot: Snapshot | None, written: Mapping[str, int]) -> Done:
        """How it ended."""
        results = tuple(step.result if isinstance(step.result, Result) else None for step in self.steps)
        return Done(snapshot, results, FilesWritten(len(written), sum(written.values())))


def nothing(result: Any) -> None:
    """The caller is told nothing that he decides by."""


def itself(result: Any) -> Any:
    """The caller is told the result."""
    return result


def of_statement(result: Result) -> Any:
    """Columns, and the rows that are at hand; those of a query count when they are fetched."""
    return result.columns, None if result.rows is None else list(result.rows)
