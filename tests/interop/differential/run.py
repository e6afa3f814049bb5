"""One random run: the sides take turns, and after every step both are queried and compared."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.read import local
from tests.catalogs import CatalogUnderTest

from .comparing import OFTEN, SOMETIMES, Comparison, Difference, SnapshotRows
from .invariants import Invariants
from .maintenance import maintenance, option, option_of
from .refusals import is_expected
from .shape import Shape
from .sides import DuckDB, Ours, Plain, RefusedError, Side
from .statements import Statements
from .words import INSERTING_KINDS, Statement

LIMITS = (None, None, 0, 0, 3, 10, 30)
REWRITE = "CALL ducklake_rewrite_data_files"
COMPACTION = ("CALL ducklake_merge_adjacent_files", REWRITE)
FLUSH = ("CALL ducklake_flush_inlined_data",)
SORTING = COMPACTION + FLUSH
REPORTED = 50
"""A line is printed after this many steps."""


@dataclass(frozen=True)
class ScriptLine:
    """One statement of the script and the side that ran it."""

    side: str
    text: str


class Run:
    """A run with its seed. `script` contains all statements so far; each is also written to `log` before it runs, because DuckDB may crash."""

    def __init__(self, place: CatalogUnderTest, session: LakeSession, seed: int, log: Path) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.ours, self.duck, self.plain = Ours(session, place), DuckDB(place), Plain()
        self.statements = Statements(self.rng)
        self.invariants = Invariants(session.catalog, self.plain.connection)
        self.comparison = Comparison(self.rng, self.ours, self.duck, self.plain)
        self.script: list[ScriptLine] = []
        self.log = log.open("w", buffering=1)
        self.seen: dict[int, SnapshotRows] = {0: SnapshotRows()}
        self.refused: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.last_side = "duckdb"
        self.changed: set[tuple[str, str]] = set()
        """(kind of the statement, key of the table) of each change of the open transaction."""

    def close(self) -> None:
        self.ours.close()
        self.duck.connection.close()
        self.plain.connection.close()
        self.log.close()

    def _record(self, side: str, text: str) -> None:
        self.script.append(ScriptLine(side, text))
        self.log.write(f"{(side, text)!r},\n")

    def summary(self) -> str:
        """Return the numbers of statements, of refusals, and of views that we could not read."""
        counters = (self.done, self.refused, self.comparison.unread)
        return "\n".join(", ".join(f"{what} {number}" for what, number in sorted(counter.items())) for counter in counters)

    # -- steps ----------------------------------------------------------------------------------------------------------------

    def steps(self, number: int) -> None:
        """Take `number` steps and compare everything at the end.

        Raises:
            Difference: with the seed, the step and the script.
        """
        started = time.monotonic()
        for step in range(number):
            try:
                self.step()
            except Exception as error:
                raise Difference(self.report(step, error)) from error
            if (step + 1) % REPORTED == 0:
                print(f"step {step + 1} after {time.monotonic() - started:.0f} s, {len(self.seen)} snapshots", flush=True)
        try:
            self.comparison.everything(self.seen)
        except Exception as error:
            raise Difference(self.report(number, error)) from error
        print(f"{number} steps and everything compared in {time.monotonic() - started:.0f} s", flush=True)

    def report(self, step: int, error: Exception) -> str:
        """Return everything that is needed to reproduce the difference."""
        script = "\n".join(f"    ({s.side!r}, {s.text!r})," for s in self.script)
        return f"seed {self.seed}, step {step}: {error}\nScript, of {len(self.script)} statements:\n{script}"

    def step(self) -> None:
        """Run one turn of one side, and compare what both sides read then."""
        before = self.latest()
        shape = self.ours.shape()
        dice = self.rng.random()
        side: Side = self.ours if self.rng.random() < 0.5 else self.duck
        concerned: set[str] = set()
        rows_changed = False
        if dice < 0.04:
            self.reattach(side)
            return
        if dice < 0.07 and shape.tables:
            self._call(side, option(self.rng, shape))
        elif dice < 0.15 and shape.tables:
            self.maintain(side, shape)
        elif dice < 0.17 and shape.tables:
            concerned = self.delete_by_vector(shape)
        else:
            concerned, rows_changed = self.act(side, shape)
        self.check(before, shape, concerned, rows_changed)

    def reattach(self, side: Side) -> None:
        """Let a side reconnect as another client."""
        limit = self.rng.choice(LIMITS)
        self._record(f"attach {side.dialect}", str(limit))
        side.reattach(limit)
        self.invariants.catalog = self.ours.session.catalog

    def act(self, side: Side, shape: Shape) -> tuple[set[str], bool]:
        """Run a statement, or a transaction of several, on one side.

        Returns:
            The tables concerned, and whether a single statement changed rows; False for a transaction, whose change feed is not compared.
        """
        number = self.rng.choice((2, 3, 4)) if self.rng.random() < 0.15 else 1
        if number == 1:
            statement = self._next(side, shape)
            taken = self._run_statement(side, statement)
            if taken:
                self.plain.follow(statement)
            return set(statement.tables), taken
        commit = self.rng.random() < 0.8
        concerned: set[str] = set()
        alive = True
        self._run_text(side, "BEGIN")
        self.plain.begin()
        self.changed = set()
        for _ in range(number):
            statement = self._next(side, side.shape())
            concerned.update(statement.tables)
            if statement.kind == "rename table":
                old, new = statement.tables
                self.changed |= {(kind, new) for kind, key in self.changed if key == old}
            self.changed.update((statement.kind, key) for key in statement.tables)
            if self._run_statement(side, statement):
                self.plain.follow(statement)
            elif side is self.duck:  # its transaction is aborted; ours goes on without the statement
                alive = False
                break
        commit = commit and alive
        try:
            self._run_text(side, "COMMIT" if commit else "ROLLBACK")
        except RefusedError as error:
            self._record_refusal(side, "COMMIT", error)
            commit = False
        if not commit:
            self.statements.fresh.clear()
        self.plain.end(commit=commit)
        self.changed = set()
        return concerned, False

    def _next(self, side: Side, shape: Shape) -> Statement:
        while True:
            statement = self.statements.next(shape, side.dialect)
            if side is not self.duck or not (self._would_break(statement) or self.duck.would_lose_values(statement)):
                return statement

    def _would_break(self, statement: Statement) -> bool:
        """Return whether DuckDB may crash or lose rows, because its transaction has changed the table before. See `test_found_faults`.

        It may not replace any such table, merge into one that it repartitioned, insert, update or merge rows of one whose partition keys it
        removed, nor update, delete or merge rows of one into which it has inserted and then merged.
        """
        kinds = {kind for kind, key in self.changed if key in statement.tables}
        if statement.kind == "replace":
            return bool(kinds)
        if statement.kind in ("update", "delete", "merge") and "merge" in kinds and kinds & {"insert", "insert select"}:
            return True  # it loses rows that it has inlined by an INSERT and then by a MERGE
        unpartitioned = statement.kind in INSERTING_KINDS and "reset partitioning" in kinds
        return unpartitioned or (statement.kind == "merge" and "partitioning" in kinds)

    def _run_statement(self, side: Side, statement: Statement) -> bool:
        text = statement.text(side.dialect)
        assert text is not None
        try:
            self._run_text(side, text)
        except RefusedError as error:
            self._record_refusal(side, text, error)
            return False
        self.done[f"{side.dialect} {statement.kind}"] += 1
        self.statements.note(statement)
        return True

    def _run_text(self, side: Side, text: str) -> None:
        self._record(side.dialect, text)
        self.last_side = side.dialect
        with self.small_tables_as_large():
            side.run(text)

    @contextmanager
    def small_tables_as_large(self) -> Iterator[None]:
        """Let our side read small tables in the way of large ones, by chance: Spark scans them, and a MERGE searches them for its keys."""
        most = local.MAX_FILES
        local.MAX_FILES = self.rng.choice((most, -1))
        try:
            yield
        finally:
            local.MAX_FILES = most

    def _record_refusal(self, side: Side, text: str, error: RefusedError) -> None:
        if not is_expected(side.dialect, str(error)):
            raise Difference(f"{side.dialect} refused {text}: {error}") from error
        self.refused[f"{side.dialect}: {str(error)[:90]}"] += 1

    def maintain(self, side: Side, shape: Shape) -> None:
        """Run one of the maintenance functions."""
        call, expired = maintenance(self.rng, shape, sorted(self.seen))
        if call.startswith(SORTING) and side is self.duck and self.duck.misreads_old_columns("rewrite" in call):
            return
        if call.startswith(FLUSH) and side is self.duck and self.duck.flush_loses_deletes():
            side = self.ours
        if call.startswith(REWRITE):
            # After a rewrite, DuckDB's flush of the deletes of an ended file repeats their rows: see test_found_faults.
            self._maintain(self.ours, f"{FLUSH[0]}('lake')")
        if self._maintain(side, call):
            for version in expired:
                del self.seen[version]

    def _maintain(self, side: Side, call: str) -> bool:
        """Run a maintenance function, and return whether it was not refused."""
        succeeded = self._call(side, call)
        if call.startswith(COMPACTION if side is self.duck else FLUSH):
            # DuckDB's cache of definitions is wrong after its own compaction. After a flush by another client it uses inlined-data tables
            # that no longer exist: see test_found_faults.
            self._record("attach duckdb", str(self.duck.inlining))
            self.duck.reattach(self.duck.inlining)
        return succeeded

    def _call(self, side: Side, call: str) -> bool:
        try:
            self._run_text(side, call)
        except RefusedError as error:
            self._record_refusal(side, call, error)
            return False
        self.done[f"{side.dialect} {call.split('(')[0]}"] += 1
        return True

    def delete_by_vector(self, shape: Shape) -> set[str]:
        """Delete some rows on our side with a deletion vector, which DuckDB must read and replace."""
        statement = self.statements.delete(shape)
        table = shape.table(statement.tables[0])
        assert table is not None
        place = (table.schema, table.name)
        self._call(self.ours, option_of(*place, "data_inlining_row_limit", "0"))
        self._call(self.ours, option_of(*place, "write_deletion_vectors", "true"))
        if self._run_statement(self.ours, statement):
            self.plain.follow(statement)
        self._call(self.ours, option_of(*place, "write_deletion_vectors", "false"))
        return set(statement.tables)

    # -- comparing ------------------------------------------------------------------------------------------------------------

    def latest(self) -> int:
        return self.ours.session.catalog.latest().snapshot_id

    def check(self, before: int, old: Shape, concerned: set[str], rows_changed: bool) -> None:
        """Compare what a step may have changed, and a sample of the rest."""
        violations = self.invariants.violations()
        if violations:
            raise Difference("; ".join(violations))
        now, shape = self.latest(), self.comparison.definitions()
        last = self.seen[max(self.seen)].tables
        changed = concerned if now != before else set()
        seen = SnapshotRows({k: v for k, v in last.items() if shape.table(k) and k not in changed})
        for table in shape.tables:
            if table.key not in seen.tables:
                ours = self._by_chance(OFTEN if self.last_side == "duckdb" else SOMETIMES)
                seen.tables[table.key] = (table, self.comparison.table(table, None, ours=ours))
        if now != before:
            self.seen[now] = seen
        if shape.tables:
            self.comparison.check_earlier(
                self.seen[max(self.seen)], max(self.seen), self.rng.choice(shape.tables).key, ours=self._by_chance()
            )
        version = self.rng.choice(sorted(self.seen))
        self.comparison.check_earlier(self.seen[version], version, None, ours=self._by_chance())
        if shape.views and self._by_chance():
            self.comparison.view(*self.rng.choice(shape.views))
        if rows_changed and now == before + 1 and before in self.seen:
            for key in concerned:
                self.comparison.change_feed(key, old, shape, now)

    def _by_chance(self, often: float = SOMETIMES) -> bool:
        return self.rng.random() < often
