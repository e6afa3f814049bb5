"""Compute the constants in conditions: literals, dates that Spark computes from dates, and times that it computes from the current time.

The current time is that of the query, which runs later. So a constant that depends on it is only a lower bound: the value for two days
ago, which is earlier than now in every time zone. No function here gives an earlier time for a later argument.

Nothing is computed from any other time, because the rules of time zones decide the result: a time that clocks skip moves by an hour, or by
a day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from decimal import Decimal
from typing import NamedTuple

from sqlglot import exp

from ..format.timestamps import DAY_NANOS, civil_from_days, date_text, days_from_civil, parse_iso, timestamp_text

_NUMBER = re.compile(r"\d{1,38}(?:\.\d{0,38})?|\.\d{1,38}")
_EXPONENT = re.compile(r"(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})[eE][+-]?\d{1,3}")
_INTEGER_CASTS = {exp.DType.INT: (31, 10), exp.DType.BIGINT: (63, 20)}
"""Type → (bits of its values, digits of the decimal to which Spark converts it)."""
_TIMESTAMP_CASTS = {
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "instant",
    exp.DType.TIMESTAMPTZ: "instant",
    exp.DType.TIMESTAMPLTZ: "instant",
    exp.DType.TIMESTAMPNTZ: "wall clock",
}
COMPUTED = frozenset(("DATE_ADD", "DATEADD", "DATE_SUB", "ADD_MONTHS", "TO_DATE", "TRUNC", "DATE_TRUNC", "TIMESTAMPADD"))
"""The functions whose results are computed here, besides those for the current time.

They must be calls of unknown functions in the tree. Otherwise functions of other databases, which may be the user's in Spark, would look
the same, and so would a unit and a column.
"""
_SECOND = 1_000_000_000
_NANOS = {"SECOND": _SECOND, "MINUTE": 60 * _SECOND, "HOUR": 3600 * _SECOND, "DAY": DAY_NANOS, "WEEK": 7 * DAY_NANOS}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_UNITS = {"MM": "MONTH", "MON": "MONTH", "YYYY": "YEAR", "YY": "YEAR"}
"""Other names of units in `trunc`."""
_TIMES_WITHOUT_PARENTHESES = {exp.CurrentDate: "current_date", exp.CurrentTimestamp: "current_timestamp"}
_YEARS = range(1, 10_000)


@dataclass(frozen=True)
class Constant:
    """A constant. `kind`: number, double, text, boolean, date, instant or wall clock; the last three have an ISO string as their value."""

    kind: str
    value: Decimal | float | str | bool
    digits: int = 0
    """The least number of digits before the decimal point in the type that Spark gives the constant."""
    is_least: bool = False
    """Whether this is only a lower bound of the value, which depends on the time at which the query runs."""


def constant(node: exp.Expr, source: str) -> Constant | None:
    """Return the constant that an expression of `source` certainly is, or None."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = constant(node.this, source)
        if inner is None or isinstance(inner.value, str | bool):
            return None
        negated = inner.value.copy_negate() if isinstance(inner.value, Decimal) else -inner.value  # `-` rounds to 28 digits
        return replace(inner, value=negated)
    if isinstance(node, exp.Boolean):
        return Constant("boolean", bool(node.this))
    if isinstance(node, exp.Literal):
        return _text(node.name, source) if node.is_string else _number(node.name)
    if isinstance(node, exp.Cast) and not node.args.get("format") and isinstance(node.this, exp.Literal):
        return _cast(node, source)
    time = _time(node, source)
    if time is None:
        return None
    text = date_text(time.nanos // DAY_NANOS) if time.kind == "date" else timestamp_text(time.nanos)
    return Constant(time.kind, text, is_least=time.is_least)


def _cast(node: exp.Cast, source: str) -> Constant | None:
    if node.this.is_string:
        kind, text = _TIMESTAMP_CASTS.get(node.to.this), _text(node.this.name, source)
        if node.to.this == exp.DType.TEXT:
            return text
        return None if kind is None or text is None or parse_iso(str(text.value)) is None else Constant(kind, text.value)
    type_, number = _INTEGER_CASTS.get(node.to.this), _number(node.this.name)
    if type_ is None or number is None or not isinstance(number.value, Decimal) or number.value != number.value.to_integral_value():
        return None
    bits, digits = type_
    return replace(number, digits=digits) if number.value < 2**bits else None


def _text(value: str, source: str) -> Constant | None:
    """Return a string in single quotes without escapes and without `${…}`, which Spark would replace.

    The same word in double quotes may be a column, if the session has `spark.sql.ansi.doubleQuotedIdentifiers`.
    """
    plain = not any(character in value for character in "\\'$\0") and f"'{value}'" in source and f'"{value}"' not in source
    return Constant("text", value) if plain else None


def _number(text: str) -> Constant | None:
    if _NUMBER.fullmatch(text):
        value = Decimal(text)
        fitting = [digits for bits, digits in _INTEGER_CASTS.values() if text.isdecimal() and value < 2**bits]
        return Constant("number", value, fitting[0] if fitting else 0)  # Spark takes fewer digits for a literal, but not everywhere
    return Constant("double", float(text)) if _EXPONENT.fullmatch(text) else None


def names_of_time(node: exp.Expr) -> set[str]:
    """Return the functions in an expression that may have no parentheses. Such a name means a column if there is one."""
    return {_TIMES_WITHOUT_PARENTHESES[type(each)] for each in node.find_all(*_TIMES_WITHOUT_PARENTHESES)}


# -- dates and times ---------------------------------------------------------------------------------------------------------------


class _Time(NamedTuple):
    """A date or time: its kind as in `Constant`, and the nanoseconds since 1970 in the session's time zone, or at least so many."""

    kind: str
    nanos: int
    is_least: bool


def _time(node: exp.Expr, source: str) -> _Time | None:
    """Return the date or time that an expression is; None if it is something else, or uncertain."""
    found = _known_time(node.unnest(), source)
    return found if found is not None and civil_from_days(found.nanos // DAY_NANOS)[0] in _YEARS else None


def _known_time(node: exp.Expr, source: str) -> _Time | None:
    match node:
        case exp.CurrentDate(this=None):
            return _Time("date", _two_days_ago(), True)
        case exp.CurrentTimestamp(this=None):
            return _Time("instant", _two_days_ago(), True)
        case exp.Cast() if not node.args.get("format") and node.to.this in _TIMESTAMP_CASTS:
            return _cast_time(_operand(node.this, source), _TIMESTAMP_CASTS[node.to.this])
        case exp.Add() | exp.Sub():
            return _sum(node, source)
        case exp.Anonymous():
            return _result(node.name.lower(), node.expressions, source)
    return None


def _result(name: str, arguments: list[exp.Expr], source: str) -> _Time | None:
    """Return the result of a function of dates and times."""
    match name, arguments:
        case "now", []:
            return _Time("instant", _two_days_ago(), True)
        case "to_date", [date]:
            return _date(date, source)
        case (("date_add" | "dateadd"), [date, days]):
            return _added(_date(date, source), _integer(days), "DAY")
        case "date_sub", [date, days]:
            return _added(_date(date, source), _negative(_integer(days)), "DAY")
        case "add_months", [date, months]:
            return _added(_date(date, source), _integer(months), "MONTH")
        case "trunc", [date, unit]:
            return _truncated(_date(date, source), _unit(unit, source))
        case "date_trunc", [unit, time]:
            return _truncated(_least_instant(_operand(time, source)), _unit(unit, source))
        case (("date_add" | "dateadd" | "timestampadd"), [exp.Column() as unit, count, time]):
            return _added(_least_instant(_operand(time, source)), _integer(count), unit.name)
    return None


def _two_days_ago() -> int:
    return (_today() - 2) * DAY_NANOS


def _today() -> int:
    """Return the days since 1970 of today in UTC."""
    return int(datetime.now(timezone.utc).timestamp()) // 86_400


def _operand(node: exp.Expr, source: str) -> _Time | None:
    """Return a date, a string with a date, or a time that depends on the current one; None for any other time."""
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return _literal_date(_text(node.name, source) if node.is_string else None)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return _literal_date(constant(node, source)) if node.to.this == exp.DType.DATE else None
    time = _time(node, source)
    return time if time is not None and (time.kind == "date" or time.is_least) else None


def _date(node: exp.Expr, source: str) -> _Time | None:
    """Return the argument of a function of dates."""
    return _cast_time(_operand(node, source), "date")


def _literal_date(found: Constant | None) -> _Time | None:
    if found is None or not isinstance(found.value, str) or len(found.value) != len("2026-01-31"):
        return None
    parsed = parse_iso(found.value)
    return None if parsed is None or parsed[1] is not None else _Time("date", parsed[0], False)


def _cast_time(time: _Time | None, kind: str) -> _Time | None:
    if time is None:
        return None
    return _Time(kind, time.nanos // DAY_NANOS * DAY_NANOS if kind == "date" else time.nanos, time.is_least)


def _least_instant(time: _Time | None) -> _Time | None:
    """Return a time that depends on the current one as the argument of a function that converts a date to a timestamp."""
    return None if time is None or not time.is_least else time._replace(kind="instant" if time.kind == "date" else time.kind)


def _sum(node: exp.Add | exp.Sub, source: str) -> _Time | None:
    """Return a date or time plus or minus an interval, or a date plus or minus a number of days."""
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(left, exp.Interval) and isinstance(node, exp.Add):
        left, right = right, left
    time = None if isinstance(left, exp.Literal) else _operand(left, source)
    if isinstance(right, exp.Interval):
        count, unit = _integer(right.this), right.text("unit").upper().removesuffix("S")
    else:
        count, unit = _integer(right) if time is not None and time.kind == "date" else None, "DAY"
    return _added(time, count if isinstance(node, exp.Add) else _negative(count), unit)


def _integer(node: exp.Expr) -> int | None:
    """Return the integer that an expression is: a literal, perhaps negative, a string with one, or a cast of these."""
    match node.unnest():
        case exp.Literal() as literal if re.fullmatch(r"[+-]?\d{1,9}", literal.name):
            return int(literal.name)
        case exp.Neg(this=inner):
            return _negative(_integer(inner))
        case exp.Cast() as cast if cast.to.this == exp.DType.INT:
            return _integer(cast.this)
    return None


def _negative(number: int | None) -> int | None:
    return None if number is None else -number


def _unit(node: exp.Expr, source: str) -> str:
    """Return the unit that a string names; "" for any other expression."""
    found = _text(node.name, source) if isinstance(node, exp.Literal) and node.is_string else None
    return "" if found is None else str(found.value).upper()


def _added(time: _Time | None, count: int | None, unit: str) -> _Time | None:
    """Return a time plus a number of units."""
    unit = unit.upper()
    if time is None or count is None:
        return None
    days, rest = divmod(time.nanos, DAY_NANOS)
    if unit in _MONTHS:
        year, month, day = civil_from_days(days)
        year, month = divmod(12 * year + month - 1 + count * _MONTHS[unit], 12)
        following = days_from_civil(year + (month + 1) // 12, (month + 1) % 12 + 1, 1)
        days = min(days_from_civil(year, month + 1, 1) + day, following) - 1
        return time._replace(nanos=days * DAY_NANOS + rest)
    if unit not in _NANOS or (_NANOS[unit] < DAY_NANOS and not time.is_least):
        return None
    kind = "instant" if time.kind == "date" and _NANOS[unit] < DAY_NANOS else time.kind
    return _Time(kind, time.nanos + count * _NANOS[unit], time.is_least)


def _truncated(time: _Time | None, unit: str) -> _Time | None:
    """Return the beginning of the day, week, month, quarter or year of a time."""
    unit = _UNITS.get(unit, unit)
    if time is None or (unit not in _MONTHS and unit not in ("DAY", "WEEK")):
        return None
    days = time.nanos // DAY_NANOS
    if unit == "WEEK":
        days -= (days + 3) % 7  # 1970-01-01 was a Thursday
    elif unit in _MONTHS:
        year, month, _ = civil_from_days(days)
        days = days_from_civil(year, (month - 1) // _MONTHS[unit] * _MONTHS[unit] + 1, 1)
    return time._replace(nanos=days * DAY_NANOS)
