"""Statements in two dialects, and what all generators of them share: random tables, names and conditions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

from . import values
from .shape import ColumnShape, Shape, TableShape
from .values import INTEGERS, Dialect, literal

SCHEMAS = ("main", "s1", "Sch 2")
TABLES = ("t0", "t1", "Mixed T", "t3")
COLUMNS = ("a", "b", "c", "d", "e", "Mixed C", "select")
VIEWS = ("v0", "v1")
LAYOUT_KINDS = frozenset(f"{action} {what}" for action, what in itertools.product(("add", "drop", "rename", "retype"), ("column", "field")))
"""The statements after which inlined rows have other columns or other types than the table."""
INSERTING_KINDS = frozenset(["insert", "insert select", "update", "merge"])
"""The statements that may inline rows."""


@dataclass(frozen=True)
class Statement:
    """One statement in both dialects; None where a side cannot express it.

    `tables` are the keys of the tables that it changes. `plain` is the text for a plain DuckDB table if it differs, None if its effect
    there is unknown; `no_rows` means that it changes no rows.
    """

    kind: str
    duckdb: str | None
    spark: str | None
    tables: tuple[str, ...] = ()
    plain: str | None = ""
    no_rows: bool = False

    def text(self, dialect: Dialect) -> str | None:
        return self.duckdb if dialect == "duckdb" else self.spark

    @property
    def third(self) -> str | None:
        """Return the text for a plain DuckDB table, or None if its effect there is unknown."""
        return self.duckdb if self.plain == "" else self.plain


Texts = Callable[[Dialect], str]


def name_of(part: str, dialect: Dialect) -> str:
    """Return a quoted name."""
    return f'"{part}"' if dialect == "duckdb" else f"`{part}`"


def relation(schema: str, name: str, dialect: Dialect) -> str:
    return f"{name_of(schema, dialect)}.{name_of(name, dialect)}"


def both(kind: str, texts: Texts, *tables: str, plain: str | None = "", no_rows: bool = False) -> Statement:
    return Statement(kind, texts("duckdb"), texts("spark"), tables, plain, no_rows)


class Maker:
    """A seeded generator of random numbers, and random choices based on it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def _table(self, shape: Shape) -> TableShape:
        return self.rng.choice(shape.tables)

    def _free_name(self, shape: Shape) -> tuple[str, str] | None:
        taken = {table.key for table in shape.tables} | {f"{schema}.{view}".casefold() for schema, view in shape.views}
        free = [(s, t) for s in shape.schemas for t in TABLES if f"{s}.{t}".casefold() not in taken]
        return self.rng.choice(free) if free and len(shape.tables) < 5 else None

    def _column(self, table: TableShape, wanted: Callable[[ColumnShape], bool] = lambda _: True) -> ColumnShape | None:
        found = [column for column in table.columns if wanted(column)]
        return self.rng.choice(found) if found else None

    def _spelled(self, name: str) -> str:
        """Return a name as it is or sometimes in another case, because names are case-insensitive."""
        return name.swapcase() if self.rng.random() < 0.05 else name

    def _value(self, column: ColumnShape) -> values.Value:
        nulls = 0.15 if column.nullable or self.rng.random() < 0.03 else 0.0
        return values.value(self.rng, column.type, nulls)

    def condition(self, table: TableShape, alias: str = "") -> Texts:
        """Return a condition on the columns of a table."""
        if self.rng.random() < 0.05:
            constant = self.rng.choice(("true", "false"))
            return lambda _: constant
        first = self._atom(self.rng.choice(table.columns), alias)
        if self.rng.random() < 0.7:
            return first
        second = self._atom(self.rng.choice(table.columns), alias)
        word = self.rng.choice(("AND", "OR"))
        return lambda d: f"({first(d)} {word} {second(d)})"

    def _atom(self, column: ColumnShape, alias: str) -> Texts:
        spelled = self._spelled(column.name)

        def n(dialect: Dialect) -> str:
            return f"{alias}.{name_of(spelled, dialect)}" if alias else name_of(spelled, dialect)

        if self.rng.random() < 0.15 or column.type.fields or column.type.name == "json":
            word = self.rng.choice(("IS NULL", "IS NOT NULL"))
            return lambda d: f"{n(d)} {word}"
        if column.type.name in INTEGERS and self.rng.random() < 0.5:
            divisor, rest = self.rng.choice((2, 3, 5, 7)), self.rng.randrange(2)
            return lambda d: f"{n(d)} % {divisor} = {rest}"
        if column.type.name == "varchar" and self.rng.random() < 0.3:
            return lambda d: f"{n(d)} LIKE 'a%'"
        operator = "=" if column.type.name == "uuid" else self.rng.choice(("=", "<", "<=", ">", ">=", "<>"))
        given = values.constant(self.rng, column.type)
        if column.type.name == "blob":  # the expression avoids a fault of DuckDB, see `test_found_faults`
            return lambda d: f"{n(d)} || {literal(column.type, '', d)} = {literal(column.type, given, d)}"
        return lambda d: f"{n(d)} {operator} {literal(column.type, given, d)}"
