"""Parse time travel after a name: Spark's `VERSION AS OF`, `TIMESTAMP AS OF`, and DuckLake's `AT (VERSION => n)`."""

from __future__ import annotations

from .tokens import Kind, Source, string_value, syntax_error
from .values import TimeTravel

_VERSION = ("VERSION", "SYSTEM_VERSION")
_TIMESTAMP = ("TIMESTAMP", "SYSTEM_TIME")
_OPERATORS = ("+", "-", "*", "/", "||")


def time_travel(source: Source, index: int, stop: int) -> tuple[TimeTravel | None, int]:
    """Parse the time travel that begins at a token, if any, and return it with the index after it.

    Raises:
        StatementError: the version is not a number.
    """
    start = index + (source.token(index).word == "FOR")
    what = source.token(start).word
    if what in _VERSION + _TIMESTAMP and source.token(start + 1).word == "AS" and source.token(start + 2).word == "OF":
        after = _expression(source, start + 3, stop)
        return _pin(source, what, start + 3, after), after
    if source.token(index).word == "AT" and source.token(index + 1).word == "(" and source.token(index + 3).word == "=>":
        what = source.token(index + 2).word
        if what in ("VERSION", "TIMESTAMP"):
            close = source.partner[index + 1]
            return _pin(source, what, index + 4, close), close + 1
    return None, index


def _pin(source: Source, what: str, start: int, stop: int) -> TimeTravel:
    if what in _TIMESTAMP:
        if start >= stop:
            raise syntax_error(source.text, source.token(start).start, "a timestamp was expected")
        return TimeTravel(timestamp=source.slice(start, stop))
    token = source.token(start)
    digits = string_value(token.text) if token.kind is Kind.STRING else token.text
    if stop != start + 1 or not digits.isdecimal():
        raise syntax_error(source.text, token.start, "the number of a snapshot was expected")
    return TimeTravel(version=int(digits))


def _expression(source: Source, index: int, stop: int) -> int:
    """Return the index after an expression of literals, calls and arithmetic, which an alias may follow."""
    while True:
        index = _operand(source, index, stop)
        while index < stop and source.tokens[index].word == "::":
            index = source.skip(index + 1)
            if index < stop and source.tokens[index].word == "(":
                index = source.skip(index)
        if index >= stop or source.tokens[index].word not in _OPERATORS:
            return min(index, stop)
        index += 1


def _operand(source: Source, index: int, stop: int) -> int:
    while source.token(index).word in ("-", "+"):
        index += 1
    token = source.token(index)
    if token.word == "INTERVAL":
        return _interval(source, index + 1, stop)
    if token.is_identifier:
        index += 1
        if source.token(index).kind is Kind.STRING:
            return index + 1
        while source.token(index).word == "." and source.token(index + 1).is_identifier:
            index += 2
        return source.skip(index) if index < stop and source.tokens[index].word == "(" else index
    return source.skip(index) if index < stop else stop


def _interval(source: Source, index: int, stop: int) -> int:
    """Return the index after `'1' DAY`, `1 day 2 hours`, `'1 day'` or `'1-2' YEAR TO MONTH`."""
    while index < stop:
        index += source.token(index).word in ("-", "+")
        quoted = source.token(index).kind is Kind.STRING
        index = source.skip(index)
        if source.token(index).word.rstrip("S") in _UNITS:
            index += 1
            if source.token(index).word == "TO":
                index += 2
        elif quoted:
            return index
        if source.token(index).kind not in (Kind.NUMBER, Kind.STRING):
            return index
    return index


_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})
