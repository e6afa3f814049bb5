"""What a statement gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..lake.context import RowCounts
from ..spec.files import ScanPlan
from ..spec.objects import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result: its name and its type as Spark names it."""

    name: str
    type: str


@dataclass(frozen=True)
class FilesRead:
    """How many files a statement reads of a table at a snapshot; the others cannot hold a row that it needs."""

    name: str
    read: int
    of: int
    size_bytes: int = 0
    """Of those that are read."""

    @classmethod
    def by(cls, name: str, plan: ScanPlan) -> FilesRead:
        """What a plan reads."""
        return cls(name, len(plan.files), len(plan.files) + plan.pruned_files, sum(file.size_bytes for file in plan.files))

    @property
    def is_pruned(self) -> bool:
        """Whether some files are left out."""
        return self.read < self.of

    def __str__(self) -> str:
        return f"{self.name}: {self.read} of {self.of} files"


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
