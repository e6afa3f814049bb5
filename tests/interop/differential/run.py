"""One random run: the sides take turns, and after every step they are asked what they see."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from dbt.adapters.ducklake.session import LakeSession
from tests.catalogs import CatalogUnderTest

from .invariants import Invariants
from .refusals import is_expected
from .shape import Shape, TableShape
from .sides import DuckDB, Ours, Plain, RefusedError, Rows, Side
from .statements import Statements
from .words import Statement

LIMITS = (None, None, 0, 0, 3, 10, 30)
SOMETIMES = 0.25
"""How often we are asked what we have no special reason to be asked: each answer is a Spark job."""
STATES = 60
"""How many states of tables we are asked at the end."""


class Difference(AssertionError):
    """The sides disagree, or an invariant is broken."""


@dataclass(frozen=True)
class Said:
    """One statement of the script: who said it."""

    side: str
    text: str


@dataclass
class Seen:
    """The rows of the tables of one snapshot, by key: how the table is named and what its rows were, without their ids."""

    tables: dict[str, tuple[TableShape, int]] = field(default_factory=dict)


class Run:
    """A run with its seed. `script` is all that was said so far."""

    def __init__(self, place: CatalogUnderTest, session: LakeSession, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.ours, self.duck, self.plain = Ours(session), DuckDB(place), Plain()
        self.statements = Statements(self.rng)
        self.invariants = Invariants(session.catalog, self.plain.connection)
        self.script: list[Said] = []
        self.seen: dict[int, Seen] = {0: Seen()}
        self.refused: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.said_by = "duckdb"

    def close(self) -> None:
        self.duck.connection.close()
        self.plain.connection.close()

    # -- steps ----------------------------------------------------------------------------------------------------------------

    def steps(self, number: int) -> None:
        """Take `number` steps and compare everything at the end.

        Raises:
            Difference: with the seed, the step and the script.
        """
        for step in range(number):
            try:
                self.step()
            except Exception as error:
                raise Difference(self.report(step, error)) from error
        try:
            self.compare_everything()
        except Exception as error:
            raise Difference(self.report(number, error)) from error

    def report(self, step: int, error: Exception) -> str:
        """All that is needed to see the difference again."""
        said = "\n".join(f"    ({s.side!r}, {s.text!r})," for s in self.script)
        return f"seed {self.seed}, step {step}: {error}\nScript, of {len(self.script)} statements:\n{said}"

    def step(self) -> None:
        before = self.latest()
        shape = self.ours.shape()
        dice = self.rng.random()
        if dice < 0.03:
            limit = self.rng.choice(LIMITS)
            self.script.append(Said("attach", str(limit)))
            self.duck.reattach(limit)
            return
        if dice < 0.11 and shape.tables:
            self.maintain()
            concerned, rows_changed = set(), False
        else:
            side: Side = self.ours if self.rng.random() < 0.5 else self.duck
            concerned, rows_changed = self.act(side, shape)
        self.check(before, shape, concerned, rows_changed)

    def act(self, side: Side, shape: Shape) -> tuple[set[str], bool]:
        """A statement or a transaction of several, of one side."""
        number = self.rng.choice((2, 3, 4)) if self.rng.random() < 0.15 else 1
        if number == 1:
            statement = self._next(side, shape)
            taken = self._say(side, statement)
            if taken:
                self.plain.follow(statement)
            return set(statement.tables), taken
        commit = self.rng.random() < 0.8
        concerned: set[str] = set()
        alive = True
        self._plainly(side, "BEGIN")
        self.plain.begin()
        for _ in range(number):
            statement = self._next(side, side.shape())
            concerned.update(statement.tables)
            if self._say(side, statement):
                self.plain.follow(statement)
            elif side is self.duck:
                alive = False
                break
        commit = commit and alive
        try:
            self._plainly(side, "COMMIT" if commit else "ROLLBACK")
        except RefusedError as error:
            self._refuse(side, "COMMIT", error)
            commit = False
        self.plain.end(commit=commit)
        return concerned, False

    def _next(self, side: Side, shape: Shape) -> Statement:
        return self.statements.next(shape, side.dialect)

    def _say(self, side: Side, statement: Statement) -> bool:
        text = statement.text(side.dialect)
        assert text is not None
        try:
            self._plainly(side, text)
        except RefusedError as error:
            self._refuse(side, text, error)
            return False
        self.done[f"{side.dialect} {statement.kind}"] += 1
        return True

    def _plainly(self, side: Side, text: str) -> None:
        self.script.append(Said(side.dialect, text))
        self.said_by = side.dialect
        side.run(text)

    def _refuse(self, side: Side, text: str, error: RefusedError) -> None:
        if not is_expected(side.dialect, str(error)):
            raise Difference(f"{side.dialect} refused {text}: {error}") from error
        self.refused[f"{side.dialect}: {str(error)[:90]}"] += 1

    def maintain(self) -> None:
        """One of DuckDB's maintenance functions."""
        snapshots = sorted(self.seen)
        call = self.rng.choice(
            (
                "ducklake_merge_adjacent_files('lake')",
                "ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
                "ducklake_flush_inlined_data('lake')",
                "ducklake_flush_inlined_data('lake')",
                "expire",
                "ducklake_cleanup_old_files('lake', cleanup_all => true, dry_run => true)",
                "ducklake_cleanup_old_files('lake', cleanup_all => true)",
            )
        )
        if call == "expire":
            chosen = self.rng.sample(snapshots[:-1], min(len(snapshots) - 1, self.rng.randrange(1, 6)))
            call = f"ducklake_expire_snapshots('lake', versions => {sorted(chosen)})"
            for version in chosen:
                del self.seen[version]
        try:
            self._plainly(self.duck, f"CALL {call}")
            self.done[call.split("(")[0]] += 1
        except RefusedError as error:
            self._refuse(self.duck, call, error)

    # -- comparing ------------------------------------------------------------------------------------------------------------

    def latest(self) -> int:
        return self.ours.session.catalog.latest().snapshot_id

    def check(self, before: int, old: Shape, concerned: set[str], rows_changed: bool) -> None:
        """Compare what a step may have changed, and a sample of what it may not."""
        broken = self.invariants.broken()
        if broken:
            raise Difference("; ".join(broken))
        now, shape, theirs = self.latest(), self.ours.shape(), self.duck.shape()
        if shape != theirs:
            raise Difference(f"the definitions differ: {_apart(shape, theirs)}")
        last = self.seen[max(self.seen)].tables
        changed = concerned if now != before else set()
        seen = Seen({k: v for k, v in last.items() if shape.table(k) and k not in changed})
        for table in shape.tables:
            if table.key not in seen.tables:
                seen.tables[table.key] = (table, self.compare(table, None, ours=self.said_by == "duckdb" or self.rng.random() < SOMETIMES))
        if now != before:
            self.seen[now] = seen
        if shape.tables:
            self.recall(now, self.rng.choice(shape.tables).key, ours=self.rng.random() < SOMETIMES)
        self.recall(self.rng.choice(sorted(self.seen)), None, ours=self.rng.random() < SOMETIMES)
        if rows_changed and now == before + 1:
            for key in concerned:
                self.check_feed(key, old, shape, now)

    def compare(self, table: TableShape, version: int | None, *, ours: bool = True) -> int:
        """The digest of a table's rows, after both sides (and the third, for the newest snapshot) gave the same.

        Args:
            ours: whether our side is asked; that costs a Spark job.
        """
        where = f"{table.key} at {'the newest snapshot' if version is None else version}"
        theirs = self.duck.rows(table, version)
        if len({row[0] for row in theirs}) != len(theirs):
            raise Difference(f"{where}: a row id stands twice")
        bare = sorted((row[1:] for row in theirs), key=repr)
        if version is None:
            plain = self.plain.rows(table)
            if plain is None:
                self.plain.copy(table, self.duck)
            elif plain != bare:
                raise Difference(f"{where}: DuckDB reads the lake, which {_apart_rows(bare, plain)}, a plain table")
        if ours and (found := self.ours.rows(table, version)) != theirs:
            raise Difference(f"{where}: we read what {_apart_rows(found, theirs)}, DuckDB")
        if ours and self.rng.random() < SOMETIMES and (found := self.ours.selected(table, version)) != bare:
            raise Difference(f"{where}: SELECT gives what {_apart_rows(found, bare)}, DuckDB")
        return hash(repr(bare))

    def recall(self, version: int, key: str | None, *, ours: bool) -> None:
        """A table reads at an older snapshot as it did then."""
        tables = self.seen[version].tables
        if not tables:
            return
        table, digest = tables[key or self.rng.choice(sorted(tables))]
        if self.compare(table, version, ours=ours) != digest:
            raise Difference(f"{table.key} at snapshot {version} reads other rows than it did when that was the newest")

    def check_feed(self, key: str, old: Shape, new: Shape, snapshot: int) -> None:
        """DuckDB's change feed of the last snapshot is what changed in the rows."""
        table = new.table(key)
        if table is None or old.table(key) != table or snapshot - 1 not in self.seen:
            return
        was = {row[0]: row[1:] for row in self.duck.rows(table, snapshot - 1)}
        now = {row[0]: row[1:] for row in self.duck.rows(table, snapshot)}
        kinds: dict[int, set[str]] = {}
        for row_id, kind in self.duck.connection.execute(
            "SELECT rowid, change_type FROM ducklake_table_changes('lake', $schema, $table, $now, $now)",
            {"schema": table.schema, "table": table.name, "now": snapshot},
        ).fetchall():
            kinds.setdefault(row_id, set()).add(kind)
        updated = {"update_preimage", "update_postimage"}
        for row_id in was.keys() | now.keys():
            found = kinds.pop(row_id, set())
            if row_id in was and row_id in now:
                # Rows of a file that a flush wrote come as a delete and an insert, in the reference's own updates too.
                right = found in (updated, {"delete", "insert"}) or (not found and was[row_id] == now[row_id])
            else:
                right = found == ({"insert"} if row_id in now else {"delete"})
            if not right:
                raise Difference(
                    f"the change feed of {key} says {found or 'nothing'} of row {row_id}: {was.get(row_id)} → {now.get(row_id)}"
                )
        if kinds:
            raise Difference(f"the change feed of {key} knows rows that were never there: {kinds}")

    def compare_everything(self) -> None:
        """Every table at every snapshot that there is, read by DuckDB; a sample, and all of the newest, by us too."""
        everything = [(version, key) for version in sorted(self.seen) for key in self.seen[version].tables]
        sample = set(self.rng.sample(everything, min(len(everything), STATES)))
        for version, key in everything:
            self.recall(version, key, ours=(version, key) in sample or version == max(self.seen))


def _apart(ours: Shape, theirs: Shape) -> str:
    return "; ".join(
        f"{what}: ours {set(a) - set(b)}, DuckDB's {set(b) - set(a)}"
        for what, a, b in (
            ("schemas", ours.schemas, theirs.schemas),
            ("tables", ours.tables, theirs.tables),
            ("views", ours.views, theirs.views),
        )
        if a != b
    )


def _apart_rows(ours: Rows, theirs: Rows) -> str:
    """What only one of them has."""
    one, other = Counter(map(repr, ours)), Counter(map(repr, theirs))
    return f"of {len(ours)} rows alone has {sorted((one - other).elements())[:5]}; of {len(theirs)} rows {sorted((other - one).elements())[:5]} has alone"
