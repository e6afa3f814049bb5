"""What a statement gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ..format.objects import Snapshot
from ..lake.context import RowCounts
from ..plan.bound import FilesRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _nobody() -> None:
    """Nobody needs to know that counts are looked at."""


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result: its name and its type as Spark names it."""

    name: str
    type: str


@dataclass(frozen=True)
class FilesWritten:
    """Data files and delete files that a statement, or a transaction, wrote for the lake."""

    count: int = 0
    size_bytes: int = 0


@dataclass(frozen=True)
class Result:
    """The outcome of one statement: rows, or what it changed.

    `message` is for people, such as `MERGE 3 inserted, 2 updated, 0 deleted`. `snapshot` is the one that the statement committed, if it
    committed by itself.
    """

    message: str
    columns: tuple[ResultColumn, ...] = ()
    counts: RowCounts | None = None
    rows: Sequence[tuple[Any, ...]] | None = None
    frame: DataFrame | None = None
    snapshot: Snapshot | None = None
    files: tuple[FilesRead, ...] = ()
    """What was read, or will be when the rows are fetched; a table once for each place that names it."""
    written: FilesWritten = FilesWritten()
    fetcher: Callable[[DataFrame, int | None], list[tuple[Any, ...]]] | None = field(default=None, repr=False)

    def quietly(self) -> tuple[Result, Callable[[], None]]:
        """The result for somebody who shows its counts to people only, and what to call when a program looks at them after all."""
        return self, _nobody

    @property
    def rowcount(self) -> int:
        """Rows changed, or rows at hand; -1 where only running the query would tell."""
        if self.counts is not None:
            return self.counts.total
        return len(self.rows) if self.rows is not None else -1

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """The rows, at most `limit` of them. A query runs now, each time it is fetched."""
        if self.frame is not None and self.fetcher is not None:
            return self.fetcher(self.frame, limit)
        rows = list(self.rows or ())
        return rows if limit is None else rows[:limit]


@dataclass(frozen=True)
class WatchedResult(Result):
    """A result that reports when its caller looks at how many rows the statement changed: from then on the number is an answer."""

    look: Callable[[], None] = field(default=_nobody, repr=False)

    def quietly(self) -> tuple[Result, Callable[[], None]]:
        """See `Result.quietly`."""
        values = {each.name: super(WatchedResult, self).__getattribute__(each.name) for each in fields(Result)}
        return Result(**values), self.look

    def __getattribute__(self, name: str) -> Any:
        if name in ("message", "counts", "rowcount"):
            super().__getattribute__("look")()
        return super().__getattribute__(name)


def watched(result: Result, look: Callable[[], None]) -> Result:
    """The same result, of which `look` hears when its counts are looked at."""
    return WatchedResult(**{each.name: getattr(result, each.name) for each in fields(result)}, look=look)


def local(message: str, columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]) -> Result:
    """A result whose rows are at hand."""
    return Result(message, columns=tuple(ResultColumn(*c) for c in columns), rows=rows)


def changed(verb: str, counts: RowCounts) -> Result:
    """The result of a statement that changed rows."""
    parts = [
        f"{number} {word}"
        for number, word in ((counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted"))
        if number
    ]
    return Result(f"{verb} {', '.join(parts) or '0 rows'}", counts=counts)
