"""Compute constants and convert them to the types of columns, exactly as Spark does in ANSI mode.

Only conversions whose result is certain and not an error are made here. All others raise `NeedsSparkError`, so that Spark computes the
value or raises its error.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from ..format.leaf_types import LEAF_TYPES, leaf_type
from ..format.objects import Column
from ..format.statistics import to_float32
from ..format.timestamps import parse_iso
from ..format.types import INTEGER_DIGITS, data_type_of, decimal_parameters, spark_name
from ..sql.values import CastTo, Constant, CurrentTime, Literal

_INTEGERS = {leaf.spark: leaf for leaf in LEAF_TYPES.values() if leaf.is_native and leaf.is_integer}
_MAX_DIGITS = 38
_EXACT = Context(prec=100)
_NUMBER = re.compile(r"-?\d{1,38}(?:\.\d{1,38})?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)


class NeedsSparkError(Exception):
    """The value cannot be computed here: Spark must compute it, or raise its error."""


@dataclass(frozen=True)
class Clock:
    """The time of a statement, and whether the session's time zone is UTC."""

    now: datetime
    zone_is_utc: bool

    def require_utc(self) -> None:
        """Raise NeedsSparkError unless the session's time zone is UTC: Java and Python may know different rules of another zone."""
        if not self.zone_is_utc:
            raise NeedsSparkError


def can_store(column: Column) -> bool:
    """Whether constants can be converted to the type of a column."""
    leaf = leaf_type(column.type)
    return leaf.is_native and _family(leaf.spark) in _TARGETS


def column_values(constants: Sequence[Constant], column: Column, clock: Clock) -> list[Any]:
    """Return the values that Spark stores in a column for one column of VALUES.

    Raises:
        NeedsSparkError: the value cannot be computed here.
    """
    literals = [computed(each, clock) for each in constants]
    target = spark_name(data_type_of(column))
    _require_common_type({each.type for each in literals} - {"void"}, target)
    return [converted(each, target, clock) for each in literals]


def computed(constant: Constant, clock: Clock) -> Literal:
    """Return the value of a constant, with its type. Dates and timestamps are Python's.

    Raises:
        NeedsSparkError: the value cannot be computed here.
    """
    match constant:
        case CurrentTime("timestamp"):
            return Literal("timestamp", clock.now)
        case CurrentTime(type_):
            return Literal(type_, converted(Literal("timestamp", clock.now), type_, clock))
        case CastTo(value, type_):
            return Literal(type_, converted(computed(value, clock), type_, clock))
        case Literal():
            return constant


def converted(literal: Literal, target: str, clock: Clock) -> Any:
    """Return the value of a literal cast to another type of Spark.

    Raises:
        NeedsSparkError: the value cannot be computed here.
    """
    if literal.type in ("void", target):
        return literal.value
    convert = _CONVERSIONS.get((_family(literal.type), _family(target)))
    if convert is None:
        raise NeedsSparkError
    try:
        return None if literal.value is None else convert(literal.value, target, clock)
    except (LookupError, OverflowError, ValueError) as error:
        raise NeedsSparkError from error


def _family(type_: str) -> str:
    return "integer" if type_ in _INTEGERS else "decimal" if decimal_parameters(type_) else type_


def _require_common_type(types: Iterable[str], target: str) -> None:
    """Require that the values of a column of VALUES are unchanged by the cast to their common type."""
    types = set(types)
    if len(types) < 2:
        return
    exact = [decimal_parameters(each) or (INTEGER_DIGITS[each], 0) for each in types if _family(each) in ("integer", "decimal")]
    digits = max((precision - scale for precision, scale in exact), default=0) + max((scale for _, scale in exact), default=0)
    if len(exact) < len(types) or digits > _MAX_DIGITS or target == "string":
        raise NeedsSparkError


# -- conversions -------------------------------------------------------------------------------------------------------------------


def _to_integer(value: int, target: str, _clock: Clock) -> int:
    least, greatest = _INTEGERS[target].limits
    if not least <= value <= greatest:
        raise NeedsSparkError
    return value


def _to_decimal(value: int | Decimal, target: str, _clock: Clock) -> Decimal:
    precision, scale = decimal_parameters(target) or (0, 0)
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    if rounded.scaleb(scale, _EXACT).copy_abs() >= 10**precision:
        raise NeedsSparkError
    return rounded if rounded else rounded.copy_abs()


def _to_double(value: int | Decimal, _target: str, _clock: Clock) -> float:
    if isinstance(value, int) and abs(value) > 2**53:
        raise NeedsSparkError
    return float(value)


def _to_float(value: int | Decimal | float, _target: str, _clock: Clock) -> float:
    """Round to a float. Rounding to a double first is exact unless the double is halfway between two floats."""
    number = float(value)
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    rounded = to_float32(number)
    is_halfway = bits & 0x1FFFFFFF == 0x10000000
    if not isinstance(value, float) and (is_halfway or (number and not 2**-126 <= abs(rounded) < 2.0**128)):
        raise NeedsSparkError
    if rounded in (float("inf"), float("-inf")) or str(rounded) == "-0.0":
        raise NeedsSparkError
    return rounded


def _text_to_number(text: str, target: str, clock: Clock) -> Any:
    if not _NUMBER.fullmatch(text):
        raise NeedsSparkError
    number = Decimal(text)
    if not number and text.startswith("-"):
        raise NeedsSparkError
    if _family(target) != "integer":
        return _CONVERSIONS["decimal", _family(target)](number, target, clock)
    return _to_integer(int(text), target, clock)


def _text_to_boolean(text: str, _target: str, _clock: Clock) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _text_to_date(text: str, _target: str, _clock: Clock) -> date:
    if parse_iso(text) is None or len(text) > len("2020-01-01"):
        raise NeedsSparkError
    return date.fromisoformat(text)


def _text_to_time(text: str, target: str, clock: Clock) -> datetime:
    """Convert text to a timestamp. Without an offset it is in the session's time zone; TIMESTAMP_NTZ would ignore an offset."""
    found = parse_iso(text)
    if found is None:
        raise NeedsSparkError
    nanos, offset = found
    if (offset is not None and target == "timestamp_ntz") or abs(offset or 0) > 18 * 3600:
        raise NeedsSparkError
    if offset is None and target == "timestamp":
        clock.require_utc()
    local = _EPOCH + timedelta(microseconds=nanos // 1000, seconds=-(offset or 0))
    return local if target == "timestamp_ntz" else local.replace(tzinfo=timezone.utc)


def _to_time(value: date, target: str, clock: Clock) -> datetime:
    if isinstance(value, datetime):
        clock.require_utc()
        return value.replace(tzinfo=None if target == "timestamp_ntz" else timezone.utc)
    if target == "timestamp":
        clock.require_utc()
    return datetime(value.year, value.month, value.day, tzinfo=None if target == "timestamp_ntz" else timezone.utc)


def _to_date(value: datetime, _target: str, clock: Clock) -> date:
    if value.tzinfo is not None:
        clock.require_utc()
    return value.date()


_Convert = Callable[[Any, str, Clock], Any]
_CONVERSIONS: dict[tuple[str, str], _Convert] = {
    ("integer", "integer"): _to_integer,
    ("integer", "decimal"): _to_decimal,
    ("decimal", "decimal"): _to_decimal,
    ("integer", "double"): _to_double,
    ("decimal", "double"): _to_double,
    ("float", "double"): lambda value, _target, _clock: value,
    ("integer", "float"): _to_float,
    ("decimal", "float"): _to_float,
    ("double", "float"): _to_float,
    **{("string", number): _text_to_number for number in ("integer", "decimal", "double", "float")},
    ("string", "boolean"): _text_to_boolean,
    ("string", "date"): _text_to_date,
    ("string", "timestamp"): _text_to_time,
    ("string", "timestamp_ntz"): _text_to_time,
    ("integer", "string"): lambda value, _target, _clock: str(value),
    ("boolean", "string"): lambda value, _target, _clock: str(value).lower(),
    ("date", "string"): lambda value, _target, _clock: value.isoformat(),
    ("date", "timestamp"): _to_time,
    ("date", "timestamp_ntz"): _to_time,
    ("timestamp", "timestamp_ntz"): _to_time,
    ("timestamp_ntz", "timestamp"): _to_time,
    ("timestamp", "date"): _to_date,
    ("timestamp_ntz", "date"): _to_date,
}
"""Conversions between families of types; a value that does not fit raises NeedsSparkError, LookupError, OverflowError or ValueError."""
_TARGETS = frozenset({"binary", *(target for _, target in _CONVERSIONS)})
"""The families of column types that values can be converted to. A binary column accepts binary literals only."""
