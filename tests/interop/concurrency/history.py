"""The history of a lake that the checker examines: the statements, their actors and their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

Actor = Literal["A", "B", "duckdb"]
"""Two of our sessions, and DuckDB."""
Row = tuple[Any, ...]


class Kind(Enum):
    """The kind of a statement, for the checker."""

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
    """A statement in the SQL that Spark, DuckDB and `model.Model` have in common.

    `writes` are the relations of the lake that it changes. `temporary` is the name of the temporary view that it creates.
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
    """The initial lake and the sequence of steps: everything that determines a history.

    `setup` is run by DuckDB, one snapshot per statement. `inlining` is the `data_inlining_row_limit` of all clients.
    """

    inlining: int
    setup: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Answer:
    """The answer to the caller: rows of a query, how many rows changed, or that the statement was refused."""

    rows: tuple[Row, ...] | None = None
    count: int | None = None
    refused: bool = False
    message: str = ""
    """For the report only; it is not compared."""

    def same(self, other: Answer) -> bool:
        """Return whether two answers are equal. An unknown count equals every count."""
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
    """A statement, the temporary views of its session when it ran, and its answer."""

    statement: Statement
    answer: Answer
    views: tuple[tuple[str, str], ...] = ()
    """Pairs of a name and the statement that created it."""


@dataclass(frozen=True)
class TableRows:
    """The columns of a table, and its rows in a fixed order."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, columns: Iterable[str], rows: Iterable[Row]) -> TableRows:
        """Create it from columns and rows in any order."""
        return cls(tuple(columns), in_order(rows))

    def with_changes(self, before: TableRows, after: TableRows) -> TableRows | None:
        """Apply the changes between `before` and `after` to these rows. Return None if removed rows are missing."""
        if not self.columns == before.columns == after.columns:
            return None
        current, was, is_now = Counter(self.rows), Counter(before.rows), Counter(after.rows)
        removed = was - is_now
        if removed - current:
            return None
        return TableRows.of(self.columns, (current - removed + (is_now - was)).elements())


@dataclass(frozen=True)
class ViewText:
    """A view, represented by the index of its text in `statements.VIEWS`."""

    number: int


Relation = TableRows | ViewText


@dataclass(frozen=True)
class State:
    """All tables and views of a lake at one snapshot, sorted by name."""

    relations: tuple[tuple[str, Relation], ...]

    @classmethod
    def of(cls, relations: Mapping[str, Relation]) -> State:
        """Create a state from a dictionary."""
        return cls(tuple(sorted(relations.items(), key=lambda item: item[0])))

    def get(self, name: str) -> Relation | None:
        """Return the relation of that name, if it exists."""
        return dict(self.relations).get(name)

    def with_relations_of(self, names: Iterable[str], other: State) -> State:
        """Return this state with some relations replaced by those of another state, or removed if it does not have them."""
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
    """The work of an actor between BEGIN and COMMIT, or one statement outside a transaction.

    Attributes:
        begun, ended: numbers of steps; a transaction that ended before another began comes first.
        committed: false if it was rolled back, by a conflict or by its user.
        seen: the newest snapshot when it began, and the newest before it ended.
        snapshots: those that it committed.
        explicit: whether it was opened by BEGIN.
        replays: how often it was planned again or replayed.
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
        """Return the relations that its statements changed."""
        return frozenset().union(*(done.statement.writes for done in self.work if not done.answer.refused))

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.actor} (steps {self.begun} to {self.ended})"


@dataclass(frozen=True)
class History:
    """The result of a script.

    Attributes:
        lines: the script with the answers, for the report.
        states: the rows of each snapshot, read by DuckDB right after its commit; the first is the initial one.
        faults: errors that do not depend on the order: unknown errors, and snapshots that change later or that we read differently.
    """

    script: Script
    lines: tuple[str, ...]
    transactions: tuple[Transaction, ...]
    states: Mapping[int, State]
    faults: tuple[str, ...] = ()

    def pins(self, transaction: Transaction) -> list[int]:
        """Return the snapshots at which a transaction may have read."""
        first, last = transaction.seen
        return [snapshot for snapshot in sorted(self.states) if first <= snapshot <= last]


def in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Sort rows by their text, because Python cannot compare None with other values."""
    return tuple(sorted((tuple(row) for row in rows), key=repr))
