"""Text of views and defaults between Spark's SQL and DuckDB's, which share a lake.

`{DUCKLAKE_CATALOG}` in a text stands for the lake's own name (specification: `ducklake_view`); it survives both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from ..errors import StatementError
from ..spec.identifiers import backquoted
from .references import references
from .tokens import Cursor, Source
from .values import FunctionCall, Name, Reference, Sql

PLACEHOLDER = "{DUCKLAKE_CATALOG}"

_SAME = frozenset({"NOW", "GREATEST", "LEAST", "TRANSLATE", "LPAD", "RPAD", "ASCII", "BIT_COUNT"})
"""Functions that sqlglot does not know, and that are the same in both."""


def qualify(sql: Sql, fill: Callable[[Reference], Name | None], function: Callable[[Name], Name | None] = lambda name: None) -> str:
    """The text with each name written in full, as a view is stored: `` {DUCKLAKE_CATALOG}.`schema`.`name` ``.

    Args:
        sql: a query.
        fill: the name of a reference, of two parts in this lake or of three in another one; None for what is in no lake.
        function: the same for the name of a function that is called.
    """
    text = sql.text
    places: list[Reference | FunctionCall] = [*sql.references, *sql.calls]
    for place in sorted(places, key=lambda found: found.start, reverse=True):
        name = fill(place) if isinstance(place, Reference) else function(place.name)
        if name is not None:
            behind = place.start + _name_length(text[place.start : place.end])
            own = [PLACEHOLDER] if len(name.parts) < 3 else []
            full = ".".join([*own, *map(backquoted, name.parts)])
            text = text[: place.start] + full + text[behind:]
    return text


def to_duckdb(text: str) -> str | None:
    """Spark's SQL in DuckDB's words; None where a construct or function has no counterpart known to mean the same."""
    try:
        sql = references(text)
    except StatementError:
        return None
    for reference in reversed(sql.references):
        if reference.at is not None:
            behind = reference.start + _name_length(text[reference.start : reference.end])
            version, timestamp = reference.at.version, reference.at.timestamp
            at = f"VERSION => {version}" if timestamp is None else f"TIMESTAMP => {timestamp}"
            own = reference.alias if reference.alias != ".".join(reference.name.parts) else None
            alias = f" AS {backquoted(own)}" if own else ""
            text = f"{text[:behind]} AT ({at}){alias}{text[reference.end :]}"
    return _translate(text, "databricks", "duckdb", "`")


def to_spark(text: str) -> str | None:
    """DuckDB's SQL in Spark's words; None where a construct or function has no counterpart known to mean the same."""
    return _translate(text, "duckdb", "spark", '"')


def _name_length(text: str) -> int:
    """The length of the name with which a text begins."""
    cursor = Cursor(Source(text))
    cursor.name()
    return cursor.source.tokens[cursor.position - 1].end


@lru_cache(maxsize=1024)
def _translate(text: str, read: str, write: str, quote: str) -> str | None:
    back = "`" if quote == '"' else '"'
    try:
        trees = sqlglot.parse(text.replace(PLACEHOLDER, quote + PLACEHOLDER + quote), read=read)
        if len(trees) != 1 or trees[0] is None or isinstance(trees[0], exp.Command):
            return None
        tree = trees[0].transform(_spelled_out)
        if any(function.name.upper() not in _SAME for function in tree.find_all(exp.Anonymous)):
            return None
        if any(map(_differs, tree.find_all(exp.Join, exp.Pivot))):
            return None
        translated = tree.sql(dialect=write, unsupported_level=ErrorLevel.RAISE, comments=False)
    except (SqlglotError, RecursionError):
        return None
    return translated.replace(back + PLACEHOLDER + back, PLACEHOLDER)


def _differs(node: exp.Expression) -> bool:
    """POSITIONAL and ASOF, which Spark takes for an alias before a cross join; PIVOT, which counts 0 in DuckDB and NULL in Spark."""
    if isinstance(node, exp.Pivot):
        return not node.args.get("unpivot")
    return str(node.args.get("method") or "").upper() in ("POSITIONAL", "ASOF")


def _spelled_out(node: exp.Expression) -> exp.Expression:
    """`count_star()`, as DuckDB stores `count(*)`, in words that sqlglot knows."""
    if isinstance(node, exp.Anonymous) and node.name.casefold() == "count_star":
        return exp.Count(this=exp.Star(), big_int=True)
    return node
