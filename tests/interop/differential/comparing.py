"""What the sides are asked after a step, and at the end, and that their answers are the same."""

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
"""How often we are asked at once, without and with a special reason: each answer is a Spark job. At the end we are asked all the rest."""
AT_ONCE = 12
"""How many states of a table one Spark job reads."""


class Difference(AssertionError):
    """The sides disagree, or an invariant is broken."""


@dataclass
class Seen:
    """The rows of the tables of one snapshot, by key: how the table is named and what its rows were, without their ids."""

    tables: dict[str, tuple[TableShape, int]] = field(default_factory=dict)


class Comparison:
    """Asks both sides, and plain tables as a third."""

    def __init__(self, rng: random.Random, ours: Ours, duck: DuckDB, plain: Plain) -> None:
        self.rng, self.ours, self.duck, self.plain = rng, ours, duck, plain
        self.maker = Maker(rng)
        self.unread: Counter[str] = Counter()
        """Why we could not read views."""

    def definitions(self) -> Shape:
        """The lake's definitions, the same for both."""
        ours, theirs = self.ours.shape(), self.duck.shape()
        if ours != theirs:
            raise Difference(f"the definitions differ: {_apart(ours, theirs)}")
        return ours

    def table(self, table: TableShape, version: int | None, *, ours: bool = True) -> int:
        """The digest of a table's rows, after both sides (and the third, for the newest snapshot) gave the same.

        Args:
            ours: whether our side is asked; that costs a Spark job.
        """
        where = f"{table.key} at {'the newest snapshot' if version is None else version}"
        theirs = self.theirs(table, version)
        bare = sorted((row[1:] for row in theirs), key=repr)
        if version is None:
            plain = self.plain.rows(table)
            if plain is None:
                self.plain.copy(table, self.duck)
            elif plain != bare:
                raise Difference(f"{where}: DuckDB reads the lake, which {_apart_rows(bare, plain)}, a plain table")
        if ours and self.rng.random() < SOMETIMES:
            self.selected(table, version)
        elif ours and (found := self.ours.rows(table, version)) != theirs:
            raise Difference(f"{where}: we read what {_apart_rows(found, theirs)}, DuckDB")
        return hash(repr(bare))

    def theirs(self, table: TableShape, version: int | None) -> Rows:
        """The rows as DuckDB reads them, with their ids in front."""
        rows = self.duck.rows(table, version)
        if len({row[0] for row in rows}) != len(rows):
            raise Difference(f"{table.key} at {version or 'the newest snapshot'}: a row id stands twice")
        return rows

    def selected(self, table: TableShape, version: int | None) -> None:
        """A query with a condition, so that files are left out where statistics and partition values allow it."""
        condition = self.maker.condition(table)
        found = self.ours.selected(table, version, condition("spark"))
        theirs = self.duck.selected(table, version, condition("duckdb"))
        if found != theirs:
            at = "" if version is None else f" at {version}"
            raise Difference(f"{table.key}{at}, {condition('spark')}: we select what {_apart_rows(found, theirs)}, DuckDB")

    def view(self, schema: str, name: str) -> None:
        """A view that DuckDB can read is the same to us, or refused with a reason."""
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
            raise Difference(f"view {schema}.{name}: we read what {_apart_rows(found, theirs)}, DuckDB")

    def change_feed(self, key: str, old: Shape, new: Shape, snapshot: int) -> None:
        """DuckDB's change feed of the last snapshot is what changed in the rows since the one before."""
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

    def _is_new(self, key: str, snapshot: int) -> bool:
        """Whether the table was made by that snapshot: DuckDB's CREATE OR REPLACE gives another table the name."""
        (created,) = self.duck.connection.execute(
            "SELECT changes['tables_created'] FROM ducklake_snapshots('lake') WHERE snapshot_id = ?", [snapshot]
        ).fetchone() or (None,)
        return any(name.replace('"', "").casefold() == key for name in created or ())

    def recall(self, seen: Seen, version: int, key: str | None, *, ours: bool) -> None:
        """A table reads at an older snapshot as it did then."""
        if seen.tables:
            table, digest = seen.tables[key or self.rng.choice(sorted(seen.tables))]
            if self.table(table, version, ours=ours) != digest:
                raise Difference(_other_rows(table, version))

    def everything(self, seen: dict[int, Seen]) -> None:
        """Every table at every snapshot, read by DuckDB; each of the states that a table had, at one of its snapshots, by us too."""
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
            for first in range(0, len(chosen), AT_ONCE):
                self._at_versions(table, chosen[first : first + AT_ONCE])

    def _at_versions(self, table: TableShape, versions: Iterable[int]) -> None:
        found = self.ours.rows_at(table, versions)
        for version, rows in found.items():
            theirs = self.theirs(table, version)
            if rows != theirs:
                raise Difference(f"{table.key} at {version}: we read what {_apart_rows(rows, theirs)}, DuckDB")


def _other_rows(table: TableShape, version: int) -> str:
    return f"{table.key} at snapshot {version} reads other rows than it did when that was the newest"


def _apart(ours: Shape, theirs: Shape) -> str:
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


def _apart_rows(ours: Rows, theirs: Rows) -> str:
    """What only one of them has."""
    one, other = Counter(map(repr, ours)), Counter(map(repr, theirs))
    alone, lacking = (list(itertools.islice(sorted(rest.elements()), 5)) for rest in (one - other, other - one))
    return f"of {len(ours)} rows alone has {alone}; of {len(theirs)} rows {lacking} has alone"
