"""SORTED BY: sort keys in DuckDB's SQL for the lake, and in Spark's for writing.

The lake stores DuckDB's SQL, because DuckDB evaluates every key when it inserts: a key that it cannot parse would make inserts fail.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..errors import NotFoundError, StatementError
from ..format.identifiers import fold
from ..format.objects import SortField
from ..format.sort_text import bare_column, sql_name
from ..sql.values import SortKey
from ..translate.dialects import to_duckdb, to_spark


def sort_fields(keys: Sequence[SortKey], columns: Collection[str], table: str) -> tuple[SortField, ...]:
    """Return sort keys as the lake stores them.

    Args:
        keys: the keys of the statement.
        columns: the names of the table's columns.
        table: the table's name, for messages.

    Raises:
        NotFoundError: a column that the table does not have.
        StatementError: an expression has no counterpart in DuckDB.
    """
    known = {fold(name): name for name in columns}
    return tuple(SortField(_stored(key.expression, known, table), key.direction, key.nulls) for key in keys)


def sort_text(field: SortField) -> str:
    """Return a sort key of the lake as it is written in SORTED BY; an expression without a counterpart in Spark as DuckDB wrote it."""
    expression = to_spark(field.expression, approximate=True) or field.expression
    return f"{expression} {field.direction} {field.nulls.replace('_', ' ')}"


def _stored(expression: str, known: dict[str, str], table: str) -> str:
    try:
        tree = sqlglot.parse_one(expression, dialect="databricks")
    except SqlglotError:
        raise StatementError(f"SORTED BY: {expression} is not an expression") from None
    for column in tree.find_all(exp.Column):
        if column.table:
            raise StatementError(
                f"SORTED BY: {column.sql()} is qualified; a table is sorted by its own columns, without their table's name"
            )
        if fold(column.name) not in known:
            raise NotFoundError("column", f"{column.name} of {table}", f"The columns are: {', '.join(known.values())}")
    if isinstance(tree, exp.Column):
        return sql_name(known[fold(tree.name)])
    if tree.find(exp.Column) is None:
        raise StatementError(f"SORTED BY: {expression} names no column (names that need quotes take backquotes)")
    stored = to_duckdb(expression, approximate=True)
    if stored is None or bare_column(stored) is not None or to_spark(stored, approximate=True) is None:
        raise StatementError(
            f"SORTED BY: {expression} has no counterpart in DuckDB's SQL, which sorts by it too: sort by columns or simpler expressions"
        )

    return stored
