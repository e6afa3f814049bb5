"""SQL texts with places for values, and values as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from .spec.identifiers import text_literal
from .sql.tokens import tokenize


def with_values(text: str, values: Sequence[Any]) -> str:
    """The text with each `%s` or `?` outside quotes and comments replaced by SQL for the next value.

    Raises:
        DbtRuntimeError: there are more or fewer places than values.
    """
    remaining = iter(values)
    pieces: list[str] = []
    places = end = 0
    tokens = tokenize(text)
    for token, behind in zip(tokens, [*tokens[1:], None], strict=True):
        formatted = token.word == "%" and behind is not None and behind.text == "s" and behind.start == token.end
        if formatted or token.word == "?":
            places += 1
            pieces += [text[end : token.start], literal(next(remaining, None))]
            end = token.end + formatted
    if places != len(values):
        raise DbtRuntimeError(f"The statement has {places} places for values and was given {len(values)}")
    return "".join([*pieces, text[end:]])


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
            return text_literal(str(value))
