"""SQL texts with several statements, or with places for values: where a statement ends and where a value goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
    | (?P<comment>--[^\n]*|/\*(?:/\*.*?\*/|.)*?\*/)
    | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
    | (?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`)
    | (?P<end>;)
    | (?P<place>%s|\?)
    | (?P<word>\w+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_AFTER_BEGIN = frozenset({"transaction", "work", "isolation", "read"})
_TRANSACTION_WORDS = frozenset({"begin", "start", "commit", "rollback"})


def split_statements(text: str) -> list[str]:
    """The statements of a text, without the semicolons between them; what holds comments only is no statement.

    A Spark SQL script (`BEGIN … END`) is one statement.
    """
    if _is_script(text):
        return [text]
    statements: list[str] = []
    start, words = 0, False
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "end":
            if words:
                statements.append(text[start : token.start()].strip())
            start, words = token.end(), False
        elif token.lastgroup not in ("space", "comment"):
            words = True
    if words:
        statements.append(text[start:].strip())
    return statements


def controls_transaction(statement: str) -> bool:
    """Whether the statement begins or ends a transaction."""
    first = next(_code(statement), "")
    return first in _TRANSACTION_WORDS and not _is_script(statement)


def with_values(text: str, values: Sequence[Any]) -> str:
    """The text with each `%s` or `?` outside quotes and comments replaced by SQL for the next value.

    Raises:
        DbtRuntimeError: there are more or fewer places than values.
    """
    remaining = iter(values)
    pieces: list[str] = []
    places = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "place":
            places += 1
            pieces.append(literal(next(remaining, None)))
        else:
            pieces.append(token.group())
    if places != len(values):
        raise DbtRuntimeError(f"The statement has {places} places for values and was given {len(values)}")
    return "".join(pieces)


def literal(value: Any) -> str:
    """A Python value as Spark SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal():
            return f"{value:f}BD"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'" if value.tzinfo else f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{value.isoformat()}'"
        case bytes():
            return f"X'{value.hex()}'"
        case _:
            return quoted(str(value))


def quoted(text: str) -> str:
    """A text as a string literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _is_script(text: str) -> bool:
    tokens = _code(text)
    return next(tokens, "") == "begin" and next(tokens, ";") not in {";", *_AFTER_BEGIN}


def _code(text: str) -> Iterator[str]:
    """The tokens that are neither space nor comment, in lower case."""
    for token in _TOKEN.finditer(text):
        if token.lastgroup not in ("space", "comment"):
            yield token.group().lower()
