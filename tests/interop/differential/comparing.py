"""The queries that both sides answer after a step and at the end, and the comparison of their answers."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from .shape import Shape, TableShape
from .sides import DuckDB, Ours, Plain, RefusedError, Rows
from .words import Maker, relation

SOMETIMES, OFTEN = 0.1, 0.4
"""The probability that our side is queried right away, without and with a special reason: each query is a Spark job. The rest is queried at the end."""
STATES_PER_JOB = 12
"""How many states of a table one Spark job reads."""


class Difference(AssertionError):
    """The sides disagree, or an invariant is violated."""


@dataclass
class SnapshotRows:
    """The tables of one snapshot by key: the shape of each, and a digest of its rows without their row ids."""

    tables: dict[str, tuple[TableShape, int]] = field(default_factory=dict)


class Comparison:
    """Queries both sides, and plain tables as a third."""

    def __init__(self, rng: random.Random, ours: Ours, duck: DuckDB, plain: Plain) -> None:
        self.rng, self.ours, self.duck, self.plain = rng, ours, duck, plain
        self.maker = Maker(rng)
        self.unread: Counter[str] = Counter()
        """The reasons for which our side refused views, with counts."""

    def definitions(self) -> Shape:
        """Return the lake's definitions, which must be equal on both sides."""
        ours, theirs = self.ours.shape(), self.duck.shape()
        if ours != theirs:
            raise Difference(f"the definitions differ: {_difference(ours, theirs)}")
        return ours

    def table(self, table: TableShape, version: int | None, *, ours: bool = True) -> int:
        """Return the digest of a table's rows after comparing both sides, and the plain table for the newest snapshot.

        Args:
            table: The table as both sides define it.
            version: The snapshot; None is the newest.
            ours: Whether our side is queried, which costs a Spark job.
        """
        where = f"{table.key} at {'the newest snapshot' if version is None else version}"
        theirs = self.theirs(table, version)
        bare = sorted((row[1:] for row in theirs), key=repr)
        if version is None:
            plain = self.plain.rows(table)
            if plain is None:
                self.plain.copy(table, self.duck)
            elif plain != bare:
                raise Difference(
                    f"{where}: DuckDB reads other rows from the lake: {_row_difference(bare, plain, 'the lake', 'the plain table')}"
                )
        if ours and self.rng.random() < SOMETIMES:
            self.selected(table, version)
        elif ours and (found := self.ours.rows(table, version)) != theirs:
            raise Difference(f"{where}: the rows differ: {_row_difference(found, theirs)}")
        return hash(repr(bare))

    def theirs(self, table: TableShape, version: int | None) -> Rows:
        """Return the rows as DuckDB reads them, with their ids first."""
        rows = self.duck.rows(table, version)
        if len({row[0] for row in rows}) != len(rows):
            raise Difference(f"{table.key} at {version or 'the newest snapshot'}: a row id occurs twice")
        return rows

    def selected(self, table: TableShape, version: int | None) -> None:
        """Compare a query with a condition, so that files are pruned by statistics and partition values."""
        condition = self.maker.condition(table)
        found = self.ours.selected(table, version, condition("spark"))
        theirs = self.duck.selected(table, version, condition("duckdb"))
        if found != theirs:
            at = "" if version is None else f" at {version}"
            raise Difference(f"{table.key}{at}, {condition('spark')}: the selected rows differ: {_row_difference(found, theirs)}")

    def view(self, schema: str, name: str) -> None:
        """Compare a view that DuckDB can read. We may refuse it with a reason."""
        query = f"SELECT * FROM {relation(schema, name, 'duckdb')}"
        try:
            theirs = self.duck.query(query)
        except RefusedError:
            return
        try:
            found = self.ours.query(f"SELECT * FROM {relation(schema, name, 'spark')}")
        except RefusedError as error:
            self.unread[str(error)[:200]] += 1
            return
        if found != theirs:
            raise Difference(f"view {schema}.{name}: the rows differ: {_row_difference(found, theirs)}")

    def change_feed(self, key: str, old: Shape, new: Shape, snapshot: int) -> None:
        """Compare DuckDB's change feed of the last snapshot with the difference to the previous rows."""
        table = new.table(key)
        if table is None or old.table(key) != table or self._is_new(key, snapshot):
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
                # DuckDB reports rows of a file that a flush wrote as a delete and an insert, for its own updates too.
                right = found in (updated, {"delete", "insert"}) or (not found and was[row_id] == now[row_id])
            else:
                right = found == ({"insert"} if row_id in now else {"delete"})
            if not right:
                raise Difference(
                    f"the change feed of {key} reports {found or 'nothing'} for row {row_id}: {was.get(row_id)} → {now.get(row_id)}"
                )
        if kinds:
            raise Difference(f"the change feed of {key} reports rows that never existed: {kinds}")

    def _is_new(self, key: str, snapshot: int) -> bool:
        """Return whether that snapshot created the table: DuckDB's CREATE OR REPLACE gives the name to another table."""
        (created,) = self.duck.connection.execute(
            "SELECT changes['tables_created'] FROM ducklake_snapshots('lake') WHERE snapshot_id = ?", [snapshot]
        ).fetchone() or (None,)
        return any(name.replace('"', "").casefold() == key for name in created or ())

    def check_earlier(self, seen: SnapshotRows, version: int, key: str | None, *, ours: bool) -> None:
        """Check that a table reads at an older snapshot as it did then."""
        if seen.tables:
            table, digest = seen.tables[key or self.rng.choice(sorted(seen.tables))]
            if self.table(table, version, ours=ours) != digest:
                raise Difference(_other_rows(table, version))

    def everything(self, seen: dict[int, SnapshotRows]) -> None:
        """Read every table at every snapshot with DuckDB, and each distinct state of a table at one of its snapshots with our side."""
        states: dict[tuple[TableShape, int], list[int]] = {}
        for version in sorted(seen):
            for table, digest in seen[version].tables.values():
                states.setdefault((table, digest), []).append(version)
        by_shape: dict[TableShape, list[int]] = {}
        for (table, digest), versions in states.items():
            for version in versions:
                if self.table(table, version, ours=False) != digest:
                    raise Difference(_other_rows(table, version))
            by_shape.setdefault(table, []).append(self.rng.choice(versions))
        for table, chosen in by_shape.items():
            for first in range(0, len(chosen), STATES_PER_JOB):
                self._at_versions(table, chosen[first : first + STATES_PER_JOB])

    def _at_versions(self, table: TableShape, versions: Iterable[int]) -> None:
        found = self.ours.rows_at(table, versions)
        for version, rows in found.items():
            theirs = self.theirs(table, version)
            if rows != theirs:
                raise Difference(f"{table.key} at {version}: the rows differ: {_row_difference(rows, theirs)}")


def _other_rows(table: TableShape, version: int) -> str:
    return f"{table.key} at snapshot {version} has other rows than when that snapshot was the newest"


def _difference(ours: Shape, theirs: Shape) -> str:
    return "; ".join(
        f"{what}: ours {set(a) - set(b)}, DuckDB's {set(b) - set(a)}"
        for what, a, b in (
            ("schemas", ours.schemas, theirs.schemas),
            ("tables", ours.tables, theirs.tables),
            ("views", ours.views, theirs.views),
            ("comments", ours.comments, theirs.comments),
        )
        if a != b
    )


def _row_difference(ours: Rows, theirs: Rows, our_name: str = "our result", their_name: str = "DuckDB's result") -> str:
    """Return the rows that only one of them has."""
    one, other = Counter(map(repr, ours)), Counter(map(repr, theirs))
    only_ours, only_theirs = (list(itertools.islice(sorted(rest.elements()), 5)) for rest in (one - other, other - one))
    return f"only {our_name} ({len(ours)} rows) has {only_ours}; only {their_name} ({len(theirs)} rows) has {only_theirs}"
