"""Give a statement that runs several Spark jobs one current time, as Spark gives one to a query."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..format.identifiers import fold
from ..sql.tokens import Kind, tokenize

_TIMES = {
    "CURRENT_TIMESTAMP": "timestamp_micros({})",
    "NOW": "timestamp_micros({})",
    "CURRENT_DATE": "CAST(timestamp_micros({}) AS DATE)",
    "CURDATE": "CAST(timestamp_micros({}) AS DATE)",
    "LOCALTIMESTAMP": "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)",
    "UNIX_TIMESTAMP": "unix_seconds(timestamp_micros({}))",
}
"""Function → the same value of a time in microseconds since 1970."""
_ANY_TIME = re.compile("|".join(_TIMES), re.IGNORECASE)
_WITHOUT_PARENTHESES = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP"))


def at_time(text: str, micros: int, columns: Collection[str]) -> str:
    """Return SQL in which the functions for the current time are constants.

    Args:
        text: an expression.
        micros: the time in microseconds since 1970.
        columns: names of the columns that the expression may name; a column takes precedence over a function without parentheses.
    """
    if not _ANY_TIME.search(text):  # a MERGE of a wide table has hundreds of expressions
        return text
    tokens = tokenize(text)
    folded = {fold(name) for name in columns}
    parts: list[str] = []
    end = 0
    for index, token in enumerate(tokens):
        if token.kind is not Kind.WORD or token.word not in _TIMES or (index and tokens[index - 1].word == "."):
            continue
        has_parentheses = [each.word for each in tokens[index + 1 : index + 3]] == ["(", ")"]
        if has_parentheses or (token.word in _WITHOUT_PARENTHESES and fold(token.text) not in folded):
            parts += [text[end : token.start], _TIMES[token.word].format(micros)]
            end = tokens[index + 2].end if has_parentheses else token.end
    return "".join([*parts, text[end:]])
