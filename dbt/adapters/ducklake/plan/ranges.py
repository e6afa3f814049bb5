"""Turn comparisons with constants into ranges of column statistics, by the rules of Spark's comparisons.

A bound exists only where Spark certainly compares this type of column with this kind of constant in the order of the statistics.
These are:

- Numbers with a column of integers or decimals, as long as the type that Spark compares in holds every digit of both.
- Numbers with a float column: Spark compares doubles, or floats; the slack of `format.statistics.outside` is wider than their rounding.
- Strings with a string column. Spark may read a string with a quote, backslash or `$` in it differently.
- Dates and times in ISO form, as literals, casts or strings, with a date or timestamp column. Comparing an instant with a wall clock
  depends on the session's time zone. The two are always less than a day apart, so the bound is moved outwards by a day unless the
  zone is known to be UTC. A `timestamp_ns` is a string in Spark, which only a comparison with a timestamp reads as a timestamp.
- Booleans with a boolean column.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from ..format.files import ColumnRange
from ..format.leaf_types import leaf_type
from ..format.objects import Column
from ..format.statistics import decimal_text, encode_plain
from ..format.timestamps import DAY_NANOS, date_text, parse_iso, parse_timestamp
from ..format.types import INTEGER_DIGITS, decimal_parameters
from .constants import Constant

_DIGITS = {**INTEGER_DIGITS, "decimal(20,0)": 20}
"""Digits of the decimal to which Spark converts an integer of this Spark type for a comparison."""
_MAX_DIGITS = 38
_EXACT = Context(prec=200)
_LAST_CHARACTER = 0xD7FE


def comparable(column: Column, constants: Sequence[Constant]) -> bool:
    """Whether Spark compares all constants of one comparison or IN list with the column in the column's own order."""
    kinds = {each.kind for each in constants}
    leaf = leaf_type(column.type)
    if leaf.is_dated:
        allowed = [{"instant"}, {"wall clock"}]
        if leaf.spark != "string":
            allowed += [{"date"}, {"text"}]
        return kinds in allowed and all(isinstance(each.value, str) and _timestamp(each.value) for each in constants)
    if leaf.is_float:
        return kinds <= {"number", "double"}
    if leaf.is_text:
        return kinds <= {"text"}
    if column.type == "boolean":
        return kinds <= {"boolean"}
    digits = _digits(column.type)
    if digits is None or kinds != {"number"}:
        return False
    whole, scale = digits
    for each in constants:
        _, written, exponent = Decimal(str(each.value)).as_tuple()
        own = max(-int(exponent), 0)
        scale, whole = max(scale, own), max(whole, len(written) - own, each.digits)
    return whole + scale <= _MAX_DIGITS


def _digits(type_name: str) -> tuple[int, int] | None:
    """Return (digits before the decimal point, digits after it) of a numeric column."""
    parameters = decimal_parameters(type_name)
    if parameters is not None:
        return parameters[0] - parameters[1], parameters[1]
    digits = _DIGITS.get(leaf_type(type_name).spark)
    return None if digits is None else (digits, 0)


def between(column: Column, low: Constant | None, high: Constant | None, utc: bool, *, strict: bool = False) -> ColumnRange | None:
    """Return the range of a column's values from `low` to `high`; None if an end is uncertain.

    Args:
        column: the column.
        low: the lower end, which must be `comparable`; None for no limit.
        high: the upper end, which must be `comparable`; None for no limit. A value that depends on the time is no limit either.
        utc: whether the session's time zone is UTC.
        strict: whether the ends are excluded; the range may have them nevertheless.
    """
    high = None if high is not None and high.is_least else high
    least = None if low is None else _bound(column, low, -1, strict, utc)
    greatest = None if high is None else _bound(column, high, 1, strict, utc)
    if (low is not None and least is None) or (high is not None and greatest is None):
        return None
    return ColumnRange(column.column_id, least, greatest)


def prefixed(column: Column, prefix: str) -> ColumnRange | None:
    """Return the range of the strings that begin with a prefix."""
    if not leaf_type(column.type).is_text or not prefix or ord(prefix[-1]) > _LAST_CHARACTER:
        return None
    return ColumnRange(column.column_id, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


def _bound(column: Column, constant: Constant, side: int, strict: bool, utc: bool) -> str | None:
    """Return one end of a range as a string: `side` is -1 for the lower end and 1 for the upper one."""
    match constant.value:
        case bool() as truth:
            return None if strict else encode_plain(truth, "boolean")
        case Decimal() | float() as number if leaf_type(column.type).is_float:
            value = float(number)
            return repr(value) if abs(value) != float("inf") else None
        case Decimal() as number:
            return _number_bound(column.type, number, side, strict)
        case str() as text if leaf_type(column.type).is_dated:
            return _timestamp_bound(column.type, constant.kind, text, side, strict, utc)
        case str() as text:
            return text
    return None


def _number_bound(type_name: str, number: Decimal, side: int, strict: bool) -> str | None:
    digits = _digits(type_name)
    if digits is None:
        return None
    scaled = number.scaleb(digits[1], _EXACT)
    rounding = ROUND_FLOOR if (side > 0) != strict else ROUND_CEILING
    unscaled = int(scaled.to_integral_value(rounding, _EXACT)) - (side if strict else 0)
    parameters = decimal_parameters(type_name)
    return str(unscaled) if parameters is None else decimal_text(unscaled, *parameters)


def _timestamp(text: object) -> bool:
    return isinstance(text, str) and parse_iso(text) is not None


def _timestamp_bound(type_name: str, kind: str, text: str, side: int, strict: bool, utc: bool) -> str | None:
    nanos, offset = parse_timestamp(text)
    if offset is not None:
        if kind != "instant" and (kind != "text" or type_name != "timestamptz"):
            return None
        nanos -= offset * 1_000_000_000
        exact = type_name == "timestamptz" or utc
    else:
        exact = (type_name != "timestamptz" and kind != "instant") or utc
    has_time = len(text) > 10
    if has_time and (kind == "date" or (kind == "text" and type_name == "date")):
        return None
    if type_name == "date":
        days, rest = divmod(nanos, DAY_NANOS)
        if not exact:
            return date_text(days + 2 * side)
        if rest == 0:
            return date_text(days - side if strict else days)
        return date_text(days if side > 0 else days + 1)
    if not exact:
        return encode_plain(nanos + side * 2 * DAY_NANOS, type_name)
    # Spark reads whole microseconds, while statistics may have nanoseconds.
    if side < 0:
        return encode_plain(nanos + 1000 if strict else nanos, type_name)
    return encode_plain(nanos - 1 if strict else nanos + 999, type_name)
