"""The result of a statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ..format.objects import Snapshot
from ..lake.context import RowCounts
from ..plan.bound import FilesRead
from ..spark.rows.fetch import column_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _ignore() -> None:
    """Do nothing, as nobody observes the counts."""


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result: its name and Spark's name of its type."""

    name: str
    type: str


@dataclass(frozen=True)
class FilesWritten:
    """The data files and delete files that a statement or transaction wrote: their number and size in bytes."""

    count: int = 0
    size_bytes: int = 0


@dataclass(frozen=True)
class Result:
    """The outcome of one statement: rows, or the number of changed rows.

    `message` is for people, such as `MERGE 3 inserted, 2 updated`; counts of 0 are left out. `snapshot` is the snapshot that the statement
    created, if it was its own transaction.
    """

    message: str
    columns: tuple[ResultColumn, ...] = ()
    counts: RowCounts | None = None
    rows: Sequence[tuple[Any, ...]] | None = None
    """The rows, if they are already computed."""
    frame: DataFrame | None = None
    """The query whose rows `fetch` computes."""
    snapshot: Snapshot | None = None
    files: tuple[FilesRead, ...] = ()
    """The files that were read, or will be when the rows are fetched; those of a table once for each place that names it."""
    written: FilesWritten = FilesWritten()
    fetcher: Callable[[int | None], list[tuple[Any, ...]]] | None = field(default=None, repr=False)
    """Computes the rows of `frame`, at most as many as its argument; None for all. The session sets it."""
    runner: Callable[[], None] | None = field(default=None, repr=False)
    """Computes the rows of a query without keeping them. The session sets it."""

    def unobserved(self) -> tuple[Result, Callable[[], None]]:
        """Return the result for a caller that only displays its counts, and a function to call when a program reads them after all."""
        return self, _ignore

    @property
    def rowcount(self) -> int:
        """The number of rows changed or returned; -1 for a query that has not run, and for a statement that does neither."""
        if self.counts is not None:
            return self.counts.total
        return len(self.rows) if self.rows is not None else -1

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, at most `limit` of them. A query runs each time it is fetched."""
        if self.fetcher is not None:
            return self.fetcher(limit)
        rows = list(self.rows or ())
        return rows if limit is None else rows[:limit]

    def run(self) -> None:
        """Compute the rows of a query for a caller that does not fetch them, since computing them may fail: `raise_error(…)`."""
        if self.runner is not None:
            self.runner()


@dataclass(frozen=True)
class ObservedResult(Result):
    """A result that reports when the caller reads its counts, since a replay of the transaction must then return the same counts."""

    on_counts_read: Callable[[], None] = field(default=_ignore, repr=False)

    def unobserved(self) -> tuple[Result, Callable[[], None]]:
        """Return the plain result and the function to call; see `Result.unobserved`."""
        values = {each.name: super(ObservedResult, self).__getattribute__(each.name) for each in fields(Result)}
        return Result(**values), self.on_counts_read

    def __getattribute__(self, name: str) -> Any:
        if name in ("message", "counts", "rowcount"):
            super().__getattribute__("on_counts_read")()
        return super().__getattribute__(name)


def observed(result: Result, on_counts_read: Callable[[], None]) -> Result:
    """Return the result so that it calls `on_counts_read` when its counts are read."""
    return ObservedResult(**{each.name: getattr(result, each.name) for each in fields(result)}, on_counts_read=on_counts_read)


def queried(frame: DataFrame) -> Result:
    """Return a result whose rows Spark computes when they are fetched."""
    return Result("OK", columns=tuple(ResultColumn(*column) for column in column_types(frame)), frame=frame)


def local(message: str, columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]) -> Result:
    """Return a result whose rows are already computed."""
    return Result(message, columns=tuple(ResultColumn(*c) for c in columns), rows=rows)


def changed(verb: str, counts: RowCounts) -> Result:
    """Return the result of a statement that changed rows."""
    parts = [
        f"{number} {word}"
        for number, word in ((counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted"))
        if number
    ]
    return Result(f"{verb} {', '.join(parts) or '0 rows'}", counts=counts)
