"""Give a statement that runs several Spark jobs one current time, as Spark gives one to a query."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence

from ..format.identifiers import fold
from ..sql.tokens import Kind, Token, tokenize

_TIMES = {
    "CURRENT_TIMESTAMP": "timestamp_micros({})",
    "NOW": "timestamp_micros({})",
    "CURRENT_DATE": "CAST(timestamp_micros({}) AS DATE)",
    "CURDATE": "CAST(timestamp_micros({}) AS DATE)",
    "CURRENT_TIME": "CAST(timestamp_micros({}) AS TIME)",
    "LOCALTIME": "CAST(timestamp_micros({}) AS TIME)",
    "LOCALTIMESTAMP": "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)",
    "UNIX_TIMESTAMP": "unix_seconds(timestamp_micros({}))",
}
"""Function → the expression for its value at a time given in microseconds since 1970."""
_ANY_TIME = re.compile("|".join(_TIMES), re.IGNORECASE)
_WITHOUT_PARENTHESES = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP"))
_SCOPES = frozenset(("SELECT", "VALUES", "TABLE", "->"))
"""The tokens that show a subquery or a lambda function, in which other names exist. A subquery can also begin with `(FROM`."""
_WITH_PRECISION = frozenset(("CURRENT_TIME", "LOCALTIME"))


def at_time(text: str, micros: int, columns: Collection[str]) -> str:
    """Return SQL in which the functions for the current time are constants.

    Args:
        text: an expression.
        micros: the time in microseconds since 1970.
        columns: names of the columns that the expression may name; a column takes precedence over a function without parentheses.

    In an expression with a subquery or a lambda function, a function without parentheses stays: it may be a name that is defined there.
    """
    if not _ANY_TIME.search(text):  # a MERGE of a wide table has hundreds of expressions
        return text
    tokens = tokenize(text)
    has_scopes = any(token.word in _SCOPES for token in tokens) or any(
        (token.word, after.word) == ("(", "FROM") for token, after in itertools.pairwise(tokens)
    )
    folded = {fold(name) for name in columns}
    parts: list[str] = []
    end = 0
    for index, token in enumerate(tokens):
        if token.kind is not Kind.WORD or token.word not in _TIMES or (index and tokens[index - 1].word == "."):
            continue
        after = tokens[index + 1 : index + 4]
        arguments = _arguments(after, token.word)
        is_bare = token.word in _WITHOUT_PARENTHESES and [each.word for each in after[:1]] != ["("]
        if arguments is None and (not is_bare or has_scopes or fold(token.text) in folded):
            continue
        time = _TIMES[token.word].format(micros)
        if arguments:
            time = f"CAST({time} AS TIME({arguments[0].text}))"
        parts += [text[end : token.start], time]
        end = token.end if arguments is None else tokens[index + 2 + len(arguments)].end
    return "".join([*parts, text[end:]])


def _arguments(after: Sequence[Token], function: str) -> Sequence[Token] | None:
    """Return the tokens in the parentheses after a function: none, or its precision; None if anything else follows."""
    words = [token.word for token in after]
    if words[:2] == ["(", ")"]:
        return ()
    has_precision = function in _WITH_PRECISION and words == ["(", "", ")"] and after[1].kind is Kind.NUMBER
    return after[1:2] if has_precision else None
