"""SORTED BY: sort keys in DuckDB's words for the lake, and in Spark's for writing.

The lake holds DuckDB's SQL, since DuckDB evaluates every key whenever it inserts: one that it cannot parse would stop it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..errors import NotFoundError, StatementError
from ..spec.objects import SortField
from ..spec.sort_text import bare_column, sql_name
from .dialects import to_duckdb, to_spark
from .tokens import Cursor
from .values import SortKey


def sort_keys(group: Cursor) -> tuple[SortKey, ...]:
    """The inside of SORTED BY (…): `expression [ASC | DESC] [NULLS FIRST | NULLS LAST], …`."""
    keys = []
    for item in group.items():
        expression = item.upto(("ASC", "DESC", "NULLS")).text
        if not expression:
            raise item.error("a column or an expression to sort by was expected")
        direction = item.accept_any("ASC", "DESC") or "ASC"
        nulls = "LAST"
        if item.accept("NULLS"):
            nulls = item.accept_any("FIRST", "LAST") or ""
            if not nulls:
                raise item.error("FIRST or LAST was expected")
        item.finish()
        keys.append(SortKey(expression, direction, f"NULLS_{nulls}"))
    if not keys:
        raise group.error("a column or an expression to sort by was expected")
    return tuple(keys)


def sort_fields(keys: Sequence[SortKey], columns: Collection[str], table: str) -> tuple[SortField, ...]:
    """Sort keys as the lake keeps them.

    Args:
        columns: the names of the table's columns.
        table: its name, for messages.

    Raises:
        NotFoundError: a column that the table does not have.
        StatementError: an expression that DuckDB has no words for.
    """
    known = {name.casefold(): name for name in columns}
    return tuple(SortField(_stored(key.expression, known, table), key.direction, key.nulls) for key in keys)


def spark_expression(expression: str) -> str | None:
    """A stored sort expression in Spark's words; None if it cannot be said in them."""
    return to_spark(expression, roughly=True)


def _stored(expression: str, known: dict[str, str], table: str) -> str:
    try:
        tree = sqlglot.parse_one(expression, dialect="databricks")
    except SqlglotError:
        raise StatementError(f"SORTED BY: {expression} is no expression") from None
    for column in tree.find_all(exp.Column):
        if column.table:
            raise StatementError(
                f"SORTED BY: {column.sql()} is qualified; a table is sorted by its own columns, without their table's name"
            )
        if column.name.casefold() not in known:
            raise NotFoundError("column", f"{column.name} of {table}", f"There are: {', '.join(known.values())}")
    if isinstance(tree, exp.Column):
        return sql_name(known[tree.name.casefold()])
    if tree.find(exp.Column) is None:
        raise StatementError(f"SORTED BY: {expression} names no column (names that need quotes take back-quotes)")
    stored = to_duckdb(expression, roughly=True)
    if stored is None or bare_column(stored) is not None or spark_expression(stored) is None:
        raise StatementError(
            f"SORTED BY: {expression} has no words in DuckDB's SQL, which sorts by it too: sort by columns or simpler expressions"
        )

    return stored
