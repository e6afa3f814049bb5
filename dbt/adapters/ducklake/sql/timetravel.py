"""Parse time travel after a name: Spark's `VERSION AS OF`, `TIMESTAMP AS OF`, and DuckLake's `AT (VERSION => n)`."""

from __future__ import annotations

from .tokens import Cursor, Kind, string_value
from .values import TimeTravel

_VERSION = ("VERSION", "SYSTEM_VERSION")
_TIMESTAMP = ("TIMESTAMP", "SYSTEM_TIME")
_OPERATORS = ("+", "-", "*", "/", "||")
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})


def time_travel(cursor: Cursor) -> TimeTravel | None:
    """Parse time travel, if it comes next.

    Raises:
        StatementError: the version is not a number, or the timestamp is missing.
    """
    ahead = int(cursor.at("FOR"))
    keyword = cursor.peek(ahead).word
    if keyword in _VERSION + _TIMESTAMP and cursor.peek(ahead + 1).word == "AS" and cursor.peek(ahead + 2).word == "OF":
        cursor.position += ahead + 3
        start = cursor.position
        _skip_expression(cursor)
        return _time_travel(keyword, Cursor(cursor.source, start, cursor.position))
    if cursor.at("AT", "(") and cursor.peek(2).word in ("VERSION", "TIMESTAMP") and cursor.peek(3).word == "=>":
        cursor.expect("AT")
        value = cursor.group()
        keyword = value.peek().word
        value.position += 2
        return _time_travel(keyword, value)
    return None


def _time_travel(keyword: str, value: Cursor) -> TimeTravel:
    """Return the time travel to a value, which is a version or a timestamp, as the keyword says."""
    if keyword in _TIMESTAMP:
        if value.done:
            raise value.error("a timestamp was expected")
        return TimeTravel(timestamp=value.text)
    token = value.peek()
    digits = string_value(token.text) if token.kind is Kind.STRING else token.text
    if value.stop != value.position + 1 or not digits.isdecimal():
        raise value.error("the number of a snapshot was expected")
    return TimeTravel(version=int(digits))


def _skip_expression(cursor: Cursor) -> None:
    """Move past an expression of literals, calls and arithmetic, which an alias may follow."""
    while True:
        _skip_operand(cursor)
        while cursor.accept("::"):
            cursor.skip()
            if cursor.at("("):
                cursor.skip()
        if cursor.accept_any(*_OPERATORS) is None:
            return


def _skip_operand(cursor: Cursor) -> None:
    while cursor.at_any(("-", "+")):
        cursor.skip()
    if cursor.accept("INTERVAL"):
        _skip_interval(cursor)
    elif cursor.peek().is_identifier:
        cursor.skip()
        if cursor.peek().kind is Kind.STRING:
            cursor.skip()
            return
        while cursor.at(".") and cursor.peek(1).is_identifier:
            cursor.position += 2
        if cursor.at("("):
            cursor.skip()
    else:
        cursor.skip()


def _skip_interval(cursor: Cursor) -> None:
    """Move past `'1' DAY`, `1 day 2 hours`, `'1 day'` or `'1-2' YEAR TO MONTH`."""
    more = True
    while more and not cursor.done:
        cursor.accept_any("-", "+")
        quoted = cursor.peek().kind is Kind.STRING
        cursor.skip()
        has_unit = cursor.peek().word.rstrip("S") in _UNITS
        if has_unit:
            cursor.skip()
            if cursor.accept("TO"):
                cursor.skip()
        more = (has_unit or not quoted) and cursor.peek().kind in (Kind.NUMBER, Kind.STRING)
