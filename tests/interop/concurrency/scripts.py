"""Creates a random script from a seed. It never reads a lake, so a script can be shortened and run again."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .history import BEGIN, COMMIT, ROLLBACK, Actor, Kind, Script, Statement, Step
from .statements import EXTRA, TABLES, TEMPORARY_VIEW, THEMES, VIEW, Words

MAX_COMMITS = 6
OURS: tuple[Actor, Actor] = ("A", "B")
FLUSH, MERGE_FILES, REWRITE, EXPIRE = "flush_inlined_data", "merge_adjacent_files", "rewrite_data_files", "expire_snapshots"
FEATURES = ("temporary views", "views", "definitions", "maintenance", "duckdb")
"""Features that a run may leave out (`CONCURRENCY_WITHOUT`), to search for other failures."""


@dataclass
class _Open:
    """An open transaction of an actor."""

    statements: int = 0
    inserted_into: set[str] = field(default_factory=set)
    """The tables to which it may have added rows."""
    merged_later: set[str] = field(default_factory=set)
    """Those into which it then merged."""


@dataclass
class Writer:
    """Generates a script step by step.

    Args:
        rng: The source of randomness.
        spanning: Whether others can commit while DuckDB has a transaction open.
        without: Features to leave out.
    """

    rng: random.Random
    spanning: bool
    without: frozenset[str] = frozenset()
    steps: list[Step] = field(default_factory=list)
    commits: int = 0
    _open: dict[Actor, _Open] = field(default_factory=dict)
    _has_temporary: set[Actor] = field(default_factory=set)
    _altered: set[str] = field(default_factory=set)
    _deleted_from: set[str] = field(default_factory=set)
    """The tables that may have delete files."""
    _dropped: bool = False
    _rewritten: bool = False
    _moving: float = 0.0
    """How often a statement beside an open transaction is the maintenance that moves its rows."""

    def script(self) -> Script:
        """Return the whole script."""
        self.inlining = self.rng.choice([0, 10])
        hot = self.rng.choice([("t",), ("t",), ("t", "t", "u"), ("t", "u"), ("t", "u", EXTRA)])
        hot = hot if "definitions" not in self.without else tuple(name for name in hot if name in TABLES)
        self.words = Words(self.rng, hot, self.rng.choice(list(THEMES)))
        self._moving = self.rng.choice([0.0, 0.0, 0.6])
        setup = self._setup()
        self._views = () if "views" in self.without else (VIEW,)
        length = self.rng.randint(10, 16)
        while len(self.steps) < length and self.commits < MAX_COMMITS:
            self._step(self._actor())
        for actor in sorted(self._open, key=lambda actor: (self.spanning or actor != "duckdb", self.rng.random())):
            self._end(actor)
        return Script(self.inlining, setup, tuple(self.steps))

    def _setup(self) -> tuple[str, ...]:
        """Return the statements for two tables of one or two small files each, some with deleted rows, and for the view of the lake.

        Where rows are inlined, a flush often makes files of them, so that deletes from files are inlined too.
        """
        statements = [f"CREATE TABLE {table} (id INTEGER, n INTEGER)" for table in TABLES]
        largest = self.rng.choice([3, 7])
        for table in TABLES:
            for first in (1, 1 + largest)[: self.rng.randint(1, 2)]:
                rows = ", ".join(f"({first + i}, {self.words.small()})" for i in range(self.rng.randint(1, largest)))
                statements.append(f"INSERT INTO {table} VALUES {rows}")
        if self.inlining and self.rng.random() < 0.5:
            statements.append(f"CALL ducklake_{FLUSH}('lake')")
        if self.rng.random() < 0.5:
            statements.append(f"DELETE FROM t WHERE id = {self.words.rng.choice([1, 2, 4])}")
            self._deleted_from.add("t")
        if "views" not in self.without:
            statements.append(self.words.create_view().text)
        return tuple(statements)

    def _actor(self) -> Actor:
        if not self.spanning and "duckdb" in self._open:
            return "duckdb"
        actors: list[Actor] = ["A", "A", "B", "B"]
        theirs: list[Actor] = [] if "duckdb" in self.without else ["duckdb"] * (2 if self.spanning else 1)
        return self.rng.choice([*actors, *theirs])

    def _step(self, actor: Actor) -> None:
        chance = self.rng.random()
        if actor not in self._open:
            if chance < (0.6 if actor in OURS or self.spanning else 0.3) and not (self._open and self._moving):
                self._open[actor] = _Open()
                self._add_step(actor, BEGIN)
            else:
                statement = self._statement(actor)
                self._add_step(actor, statement)
                self.commits += statement.kind not in (Kind.QUERY, Kind.TEMPORARY)
            return
        done = self._open[actor].statements
        if chance < (0, 0.15, 0.35, 0.6)[min(done, 3)]:
            self._end(actor)
        else:
            self._open[actor].statements += 1
            self._add_step(actor, self._statement(actor))

    def _end(self, actor: Actor) -> None:
        del self._open[actor]
        self._add_step(actor, ROLLBACK if self.rng.random() < 0.08 else COMMIT)
        self.commits += 1

    def _add_step(self, actor: Actor, statement: Statement) -> None:
        self.steps.append(Step(actor, statement))
        if actor in self._open and statement.text.startswith(("INSERT", "MERGE")):
            changed = self._open[actor]
            if statement.text.startswith("MERGE"):
                changed.merged_later |= statement.writes & changed.inserted_into
            changed.inserted_into |= statement.writes
        if statement.temporary:
            self._has_temporary.add(actor)
        if statement.text.startswith("ALTER"):
            self._altered |= statement.writes
        if statement.kind is Kind.CHANGE and not statement.text.startswith("INSERT"):
            self._deleted_from |= statement.writes
        self._dropped |= statement.text.startswith(("DROP TABLE", "CREATE OR REPLACE TABLE"))
        self._rewritten |= statement.text == REWRITE

    def _statement(self, actor: Actor) -> Statement:
        while True:
            statement = self._drawn(actor)
            if actor in OURS or self._duckdb_handles(statement):
                return statement

    def _drawn(self, actor: Actor) -> Statement:
        if self._open and self._can_maintain(actor) and self.rng.random() < self._moving:
            return self.words.maintenance([FLUSH if self.inlining else MERGE_FILES, REWRITE])
        views = [*self._views, *([TEMPORARY_VIEW] * 2 if actor in self._has_temporary else [])]
        chance = self.rng.random()
        if chance < 0.24:
            return self.words.query(views)
        if chance < 0.34 and actor in OURS and "temporary views" not in self.without:
            return self.words.create_temporary_view(views)
        if chance < 0.42 and "definitions" not in self.without:
            kind = self.rng.random()
            if kind < 0.5:
                return self.words.define_table(views)
            return self.words.add_column() if kind < 0.75 or not self._views else self.words.create_view()
        if chance < 0.5 and self._can_maintain(actor):
            # DuckDB does not see the changes of snapshots that have expired before it commits.
            return self.words.maintenance([FLUSH, MERGE_FILES, REWRITE, *([] if "duckdb" in self._open else [EXPIRE, EXPIRE])])
        return self.words.change(views)

    def _can_maintain(self, actor: Actor) -> bool:
        return actor not in self._open and "maintenance" not in self.without and ("duckdb" not in self._open or self.spanning)

    def _duckdb_handles(self, statement: Statement) -> bool:
        """Return whether DuckDB handles the statement correctly. For the others see `test_found_faults` and decision 0007."""
        text = statement.text
        if self.inlining and (text.startswith("ALTER") or (statement.kind is Kind.CHANGE and statement.writes & self._altered)):
            return False  # DuckDB loses columns of inlined rows
        if self.inlining and "duckdb" in self._open and statement.writes & self._open["duckdb"].merged_later:
            return False  # DuckDB loses rows that it has inlined by an INSERT and then by a MERGE
        if statement.text in (MERGE_FILES, REWRITE) and self._dropped:
            return False  # DuckDB forgets dropped tables after a compaction
        if statement.text == FLUSH and self.inlining and self._rewritten:
            return False  # DuckDB gives a file that has been rewritten a second delete file
        if "duckdb" in self._open and self.spanning:
            # DuckDB's rules allow a definition change with concurrent row changes, and it gives the rows of a delete file that replaces
            # another the snapshot after the one at which it began.
            deletes_again = not self.inlining and not text.startswith("INSERT") and bool(statement.writes & self._deleted_from)
            return statement.kind is Kind.QUERY or (statement.kind is Kind.CHANGE and not deletes_again)
        return True


def script_of(seed: int, *, spanning: bool, without: frozenset[str] = frozenset()) -> Script:
    """Return the script of a seed."""
    return Writer(random.Random(seed), spanning, without).script()
