"""Sort expressions: find and rename the columns in a DuckDB SQL expression.

Specification: "ducklake_sort_expression", whose `expression` is SQL over unqualified column names. A word counts as a column unless it is
before a parenthesis (a function), after a dot (a field), or after AS or `::` (a type).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .identifiers import double_quoted, fold

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|::|\w+|\s+|.""", re.DOTALL)
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
    """Return the words that may be columns, in lower case; reserved words may be among them."""
    return {fold(name) for _, name in _names(expression)}


def renamed(expression: str, old: str, new: str) -> str:
    """Return the expression after a column is renamed."""
    tokens = _TOKEN.findall(expression)
    for index, name in _names(expression):
        if fold(name) == fold(old):
            tokens[index] = sql_name(new)
    return "".join(tokens)


def _names(expression: str) -> Iterator[tuple[int, str]]:
    tokens = _TOKEN.findall(expression)
    solid = [token_index for token_index, token in enumerate(tokens) if not token.isspace()]
    for index, token_index in enumerate(solid):
        name = _name(tokens[token_index])
        before = tokens[solid[index - 1]].upper() if index else ""
        after = tokens[solid[index + 1]] if index + 1 < len(solid) else ""
        if name is not None and after != "(" and before not in (".", "::", "AS", "COLLATE"):
            yield token_index, name


def _name(token: str) -> str | None:
    if token.startswith('"'):
        return token[1:-1].replace('""', '"')
    return token if re.fullmatch(r"[^\W\d]\w*", token) else None
