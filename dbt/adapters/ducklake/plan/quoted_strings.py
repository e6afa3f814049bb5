"""Find string literals in double quotes that are the name of a column: DuckDB reads the column, Spark a string."""

from __future__ import annotations

from collections.abc import Iterator

from ..format.identifiers import fold
from ..format.objects import View
from ..format.view_columns import view_columns
from ..sql.tokens import Kind, tokenize
from .bound import Bound, BoundQuery, BoundTable

QUOTED_COLUMN_WARNING = (
    'The query has "{name}" in double quotes, which is a string in Spark\'s SQL, not the column of this name: the rows would have the '
    "string {name!r}. Write `{name}` for the column, or '{name}' for the string. For packages and models that use double quotes, set "
    "`target_type: spark` in the profile, or `spark.sql.ansi.doubleQuotedIdentifiers: true` in `spark_config`"
)


def strings_like_columns(text: str, bound: Bound) -> list[str]:
    """Return the strings in double quotes that are columns of the relations that a statement reads, each once, as written.

    Args:
        text: the statement.
        bound: the resolved statement.
    """
    if '"' not in text:
        return []
    quoted = {token.text[1:-1] for token in tokenize(text) if token.kind is Kind.STRING and token.text[0] == '"'}
    if not quoted:
        return []
    columns = {fold(name) for name in _columns(bound, set())}
    return sorted(each for each in quoted if fold(each) in columns)


def _columns(bound: Bound, seen: set[int]) -> Iterator[str]:
    """Return the names of the columns of all relations. A temporary view without its own column names has those of what it reads."""
    if id(bound) in seen:
        return
    seen.add(id(bound))
    for relation in bound.relations:
        match relation:
            case BoundTable(table=table):
                yield from (column.name for column in table.columns)
            case BoundQuery(columns=columns) if columns:
                yield from columns
            case BoundQuery(view=View() as view):
                yield from (column.name for column in view_columns(view))
            case BoundQuery(body=body):
                yield from _columns(body, seen)
            case _:
                pass
