"""Find texts in double quotes that are the name of a column: DuckDB's users and packages mean the column, Spark reads a text."""

from __future__ import annotations

from collections.abc import Iterator

from ..format.identifiers import fold
from ..format.objects import View
from ..format.view_columns import view_columns
from ..sql.tokens import Kind, tokenize
from .bound import Bound, BoundQuery, BoundTable

CONFUSED = (
    'The query has "{name}" in double quotes, which is a text in Spark\'s SQL, not the column of this name: the rows would have the text '
    "{name!r}. Write `{name}` for the column, or '{name}' for the text. For packages and models that quote names with double quotes, set "
    "`target_type: spark` in the profile, or `spark.sql.ansi.doubleQuotedIdentifiers: true` in `spark_config`"
)
"""The warning of such a text."""


def texts_like_columns(text: str, bound: Bound) -> list[str]:
    """Return the texts in double quotes that are columns of the relations that a statement reads, each once, as written.

    Args:
        text: the statement.
        bound: the same with a value for each name.
    """
    if '"' not in text:
        return []
    quoted = {token.text[1:-1] for token in tokenize(text) if token.kind is Kind.STRING and token.text[0] == '"'}
    if not quoted:
        return []
    columns = {fold(name) for name in _columns(bound, set())}
    return sorted(each for each in quoted if fold(each) in columns)


def _columns(bound: Bound, seen: set[int]) -> Iterator[str]:
    """Return the names of the columns of all relations; those of temporary views that rename none are those of what they read."""
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
