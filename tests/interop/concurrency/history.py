"""What was done on a lake, by whom, and what they were told: the values that the checker looks at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

Actor = Literal["A", "B", "duckdb"]
"""Two sessions of ours, and DuckDB."""
Row = tuple[Any, ...]


class Kind(Enum):
    """What a statement is to the checker."""

    QUERY = "query"
    CHANGE = "change"
    DEFINITION = "definition"
    TEMPORARY = "temporary view"
    MAINTENANCE = "maintenance"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"


@dataclass(frozen=True)
class Statement:
    """A statement in the words that Spark, DuckDB and the model have in common.

    `writes` are the relations of the lake that it changes. `temporary` is the name of the temporary view that it makes.
    """

    kind: Kind
    text: str
    writes: frozenset[str] = frozenset()
    temporary: str | None = None


BEGIN = Statement(Kind.BEGIN, "BEGIN")
COMMIT = Statement(Kind.COMMIT, "COMMIT")
ROLLBACK = Statement(Kind.ROLLBACK, "ROLLBACK")


@dataclass(frozen=True)
class Step:
    """One statement of one actor."""

    actor: Actor
    statement: Statement


@dataclass(frozen=True)
class Script:
    """A lake to begin with, and what is done on it in turn; all that a history is made of.

    `setup` is run by DuckDB, a snapshot for each statement. `inlining` is the row limit of all clients.
    """

    inlining: int
    setup: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Answer:
    """What a caller is told: rows of a query, how many rows changed, or that the statement was refused."""

    rows: tuple[Row, ...] | None = None
    count: int | None = None
    refused: bool = False
    message: str = ""
    """For people; two answers with different messages are the same one."""

    def same(self, other: Answer) -> bool:
        """Whether the two say the same; a count that is not known says nothing."""
        counts = self.count == other.count or self.count is None or other.count is None
        return self.refused == other.refused and self.rows == other.rows and counts

    def __str__(self) -> str:
        if self.refused:
            return f"refused: {self.message}"
        if self.rows is not None:
            return f"rows {list(self.rows)}"
        return "done" if self.count is None else f"{self.count} rows changed"


@dataclass(frozen=True)
class Done:
    """A statement, the temporary views of its session when it was run, and its answer."""

    statement: Statement
    answer: Answer
    views: tuple[tuple[str, str], ...] = ()
    """(name, the statement that made it) pairs."""


@dataclass(frozen=True)
class TableRows:
    """The columns of a table, and its rows in a fixed order."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, columns: Iterable[str], rows: Iterable[Row]) -> TableRows:
        """The rows in whatever order they come."""
        return cls(tuple(columns), in_order(rows))

    def moved(self, before: TableRows, after: TableRows) -> TableRows | None:
        """What somebody who saw `before` and left `after` makes of this; None if rows that he removed are not here."""
        if not self.columns == before.columns == after.columns:
            return None
        here, was, is_now = Counter(self.rows), Counter(before.rows), Counter(after.rows)
        removed = was - is_now
        if removed - here:
            return None
        return TableRows.of(self.columns, (here - removed + (is_now - was)).elements())


@dataclass(frozen=True)
class ViewText:
    """A view, by the number of its text in `statements.VIEWS`."""

    number: int


Relation = TableRows | ViewText


@dataclass(frozen=True)
class State:
    """All tables and views of a lake at one snapshot, sorted by name."""

    relations: tuple[tuple[str, Relation], ...]

    @classmethod
    def of(cls, relations: Mapping[str, Relation]) -> State:
        """From a dictionary."""
        return cls(tuple(sorted(relations.items(), key=lambda item: item[0])))

    def get(self, name: str) -> Relation | None:
        """The relation of that name, if there is one."""
        return dict(self.relations).get(name)

    def with_those(self, names: Iterable[str], other: State) -> State:
        """This state, but with some relations as they are, or are not, in another one."""
        mixed = dict(self.relations)
        for name in names:
            found = other.get(name)
            mixed.pop(name, None)
            if found is not None:
                mixed[name] = found
        return State.of(mixed)

    def __str__(self) -> str:
        parts = (
            f"{name}: view {each.number}" if isinstance(each, ViewText) else f"{name}{each.columns}: {list(each.rows)}"
            for name, each in self.relations
        )
        return "; ".join(parts)


@dataclass(frozen=True)
class Transaction:
    """What an actor did between BEGIN and COMMIT, or in one statement outside them.

    Attributes:
        begun, ended: numbers of steps; one that ended before another began comes first.
        committed: false if it was rolled back, by a conflict or by its user.
        seen: the newest snapshot when it began, and the newest before it ended.
        snapshots: those that it committed.
        explicit: it was opened by BEGIN.
        replays: how often it was planned again.
    """

    number: int
    actor: Actor
    begun: int
    ended: int
    committed: bool
    work: tuple[Done, ...]
    seen: tuple[int, int]
    snapshots: tuple[int, ...] = ()
    explicit: bool = False
    replays: int = 0

    @property
    def writes(self) -> frozenset[str]:
        """The relations that its statements changed."""
        return frozenset().union(*(done.statement.writes for done in self.work if not done.answer.refused))

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.actor} (steps {self.begun} to {self.ended})"


@dataclass(frozen=True)
class History:
    """A script that was played.

    Attributes:
        lines: the script with the answers, for people.
        states: the rows of each snapshot, read by DuckDB right after it was committed; the first is the one that the script began with.
        faults: what is wrong whatever the order: errors of no known kind, snapshots that read differently later or by us.
    """

    script: Script
    lines: tuple[str, ...]
    transactions: tuple[Transaction, ...]
    states: Mapping[int, State]
    faults: tuple[str, ...] = ()

    def pins(self, transaction: Transaction) -> list[int]:
        """The snapshots at which a transaction may have read."""
        first, last = transaction.seen
        return [snapshot for snapshot in sorted(self.states) if first <= snapshot <= last]


def in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows in one order, NULL or not."""
    return tuple(sorted((tuple(row) for row in rows), key=repr))
