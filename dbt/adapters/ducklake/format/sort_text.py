"""Find and rename the columns in an SQL expression: DuckDB's of a sort key, or Spark's of a CHECK.

Specification: "ducklake_sort_expression", whose `expression` is SQL over unqualified column names. A word counts as a column unless it is
before a parenthesis (a function), after a dot (a field), after AS or `::` (a type) or COLLATE (a collation), before a string (the type of
a literal), or the unit of EXTRACT or INTERVAL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from .identifiers import double_quoted, fold

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|::|\w+|\s+|.""", re.DOTALL)
_SPARK_TOKEN = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:[^`]|``)*`|::|\w+|\s+|.""", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
    all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
    default deferrable desc describe distinct do else end except false fetch for foreign from group having in
    initially intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer
    pivot_wider placing primary qualify references returning select show some summarize symmetric table then to
    trailing true union unique unpivot using variadic when where window with
    """,
    )
)


def sql_name(name: str) -> str:
    """Return a column's name for DuckDB's SQL: quoted if it is reserved or not a plain word."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED else double_quoted(name)


def bare_column(expression: str) -> str | None:
    """Return the column's name if the expression is just a column, else None."""
    tokens = _TOKEN.findall(expression.strip())
    return _name(tokens[0]) if len(tokens) == 1 else None


def names_in(expression: str) -> set[str]:
    """Return the names that may be columns in DuckDB's SQL, folded."""
    return {fold(name) for _, name in _names(_TOKEN.findall(expression), _RESERVED)}


def names_in_spark(expression: str) -> set[str]:
    """Return the names that may be columns in Spark's SQL, folded; keywords may be among them, because Spark reserves none."""
    return {fold(name) for _, name in _names(_SPARK_TOKEN.findall(expression), frozenset())}


def renamed(expression: str, old: str, new: str) -> str:
    """Return the expression after a column is renamed."""
    tokens = _TOKEN.findall(expression)
    for index, name in _names(tokens, _RESERVED):
        if fold(name) == fold(old):
            tokens[index] = sql_name(new)
    return "".join(tokens)


def _names(tokens: Sequence[str], reserved: Set[str]) -> Iterator[tuple[int, str]]:
    """Yield the index of each token that may be a column, and the name."""
    solid = [index for index, token in enumerate(tokens) if not token.isspace()]
    words = ["", "", *(tokens[index].upper() for index in solid), ""]
    for position, index in enumerate(solid, 2):
        name = _name(tokens[index])
        if name is None or words[position].lower() in reserved:
            continue
        earlier, before, after = words[position - 2], words[position - 1], words[position + 1]
        is_type = before in ("::", "AS", "COLLATE") or after.startswith("'")
        is_unit = (earlier, before) == ("EXTRACT", "(") or (earlier == "INTERVAL" and before != "(")
        if not is_type and not is_unit and after != "(" and before != ".":
            yield index, name


def _name(token: str) -> str | None:
    if token[0] in '"`':
        return token[1:-1].replace(token[0] * 2, token[0])
    return token if re.fullmatch(r"[^\W\d]\w*", token) else None
