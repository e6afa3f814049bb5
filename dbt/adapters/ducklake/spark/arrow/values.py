"""Convert Python values, often strings from a seed, to a column's type; errors name the value and its column."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from ...errors import DataError, StatementError
from ...format.geometry import extent_of, wkb_of_text
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ...format.statistics import float_text
from ...format.text_patterns import INTERVAL, UUID
from ...format.timestamps import DAY_NANOS, INFINITY_MICROS, parse_date, parse_time, parse_timestamp
from ...format.types import data_type_of, decimal_parameters, spark_name
from ..values.arrow_types import arrow_type
from .nested_values import Convert, json_text, map_entries, sequence, struct_fields

_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
_EXACT = Context(prec=100)
_EPOCH = datetime(1970, 1, 1)

InZone = Callable[[datetime], datetime]
"""Attaches the session's time zone to a local time."""


def array_of(values: Sequence[Any], column: Column, in_zone: InZone | None = None) -> pa.Array:
    """Convert values to an array of the column's type; for `in_zone` see `converter`.

    Raises:
        DataError: a value does not fit; the message names the value, its row and the column.
    """
    type_ = arrow_type(column)
    if _is_plain(values, column.type):
        try:
            return pa.array(values, type_)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            pass  # the loop below finds the value that does not fit
    convert = converter(column, in_zone)
    converted: list[Any] = []
    for row, value in enumerate(values, 1):
        try:
            converted.append(None if value is None else convert(value))
        except (ValueError, ArithmeticError, TypeError, KeyError) as error:
            raise _misfit(column, row, value, str(error) if column.children else "") from error
    try:
        return pa.array(converted, type_)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):  # a value that PyArrow cannot store
        for row, (value, result) in enumerate(zip(values, converted, strict=True), 1):
            try:
                pa.array([result], type_)
            except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
                raise _misfit(column, row, value) from error
        raise


def _misfit(column: Column, row: int, value: Any, reason: str = "") -> DataError:
    """Return the error about a value that does not fit its column."""
    end = f": {reason}" if reason else ""
    return DataError(f"column {column.name}, row {row}: {value!r} is not a {spark_name(data_type_of(column))}{end}")


def converter(column: Column, in_zone: InZone | None = None) -> Convert:
    """Return a function that converts a Python value, not None, for PyArrow and the column's type.

    The function raises ValueError, TypeError, KeyError or ArithmeticError for a value that does not fit, and StatementError for a
    variant that is given as text.

    Args:
        column: the column.
        in_zone: gives a local time the time zone of the session; None: local times are in UTC.
    """
    match column.type, column.children:
        case "list", (element,):
            inner = _nullable(converter(element, in_zone))
            return lambda value: [inner(item) for item in sequence(value)]
        case "map", (key, entry):
            convert_key, convert_entry = converter(key, in_zone), _nullable(converter(entry, in_zone))
            return lambda value: map_entries(value, convert_key, convert_entry)
        case "struct", children:
            fields = {child.name: _nullable(converter(child, in_zone)) for child in children}
            return lambda value: struct_fields(value, fields)
    if column.type == "variant":
        return lambda value: _variant(value, column)
    leaf, parameters = leaf_type(column.type), decimal_parameters(column.type)
    if parameters is not None:
        return _decimal(*parameters)
    if leaf.is_integer:
        return _integer(*leaf.limits, as_decimal=pa.types.is_decimal(arrow_type(column)))
    if leaf.name == "timestamptz":
        return partial(_instant, in_zone=in_zone)
    if leaf.is_coarse:
        return _rounded(leaf.unit_nanos // 1000)
    found = _CONVERTERS.get(leaf.name) or _BY_SPARK_TYPE.get(leaf.spark)
    if found is None and leaf.pattern is not None:
        return _matching(leaf.pattern)
    return found or _text


def _is_plain(values: Iterable[Any], type_name: str) -> bool:
    """Whether all values already have the Python type that PyArrow converts correctly to the column's type."""
    wanted = leaf_type(type_name).arrow_accepts
    return wanted is not None and {type(value) for value in values} <= {wanted, type(None)}


def _nullable(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _variant(value: Any, column: Column) -> dict[str, bytes]:
    """Convert the encoded value and metadata of an inlined row.

    Raises:
        StatementError: the value is text, as in a seed.
    """
    if not isinstance(value, tuple):
        raise StatementError(
            f"column {column.name} is a variant, which cannot be loaded from files of the project: "
            "load it as text and convert it in a model"
        )
    return dict(zip(("value", "metadata"), value, strict=True))


def _plain_number(text: str) -> str:
    """Return the text without outer spaces; refuse digits of other scripts and underscores, which Python accepts and Spark does not."""
    if not text.isascii() or "_" in text:
        raise ValueError
    return text.strip()


def _number(value: Any) -> Decimal:
    if isinstance(value, bool):
        return Decimal(int(value))
    if isinstance(value, float):
        value = repr(value)
    number = Decimal(_plain_number(value) if isinstance(value, str) else value)
    if not number.is_finite():
        raise ValueError
    return number


def _integer(least: int, greatest: int, *, as_decimal: bool) -> Convert:
    def convert(value: Any) -> Any:
        number = value if type(value) is int else _number(value)
        if not least <= number <= greatest or number != int(number):
            raise ValueError
        return Decimal(int(number)) if as_decimal else int(number)

    return convert


def _decimal(precision: int, scale: int) -> Convert:
    unit = Decimal(1).scaleb(-scale)

    def convert(value: Any) -> Decimal:
        rounded = _number(value).quantize(unit, ROUND_HALF_UP, _EXACT)
        if rounded.scaleb(scale, _EXACT).copy_abs() >= 10**precision:
            raise ValueError
        return rounded

    return convert


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _BOOLEANS[value.strip().lower()]
    number = _number(value)
    if number not in (0, 1):
        raise ValueError
    return bool(number)


def _float(value: Any) -> float:
    return float(_plain_number(value) if isinstance(value, str) else value)


def _float32(value: Any) -> float:
    number = _float(value)
    struct.pack("<f", number)
    return number


def _date(value: Any) -> Any:
    """Convert to a date; a time of day is dropped, as in an SQL cast."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    text = _string(value).strip()
    return parse_date(text) if "infinity" in text else parse_timestamp(text)[0] // DAY_NANOS


def _time(value: Any) -> Any:
    return value if isinstance(value, time) else parse_time(_string(value)) // 1000


def _timestamp(value: Any) -> int:
    """Convert to microseconds of local time; a time zone in the value is dropped."""
    if isinstance(value, date):
        return _micros(value)
    return parse_timestamp(_string(value))[0] // 1000


def _nanos(value: Any) -> int:
    """Convert to nanoseconds of local time; infinity becomes INFINITY_MICROS, and -infinity its negative."""
    if isinstance(value, date):
        return _micros(value) * 1000
    nanos = parse_timestamp(_string(value))[0]
    if abs(nanos) >= INFINITY_MICROS:
        if not value.strip().endswith("infinity"):
            raise ValueError("timestamp_ns supports the years 1677 to 2262")
        return INFINITY_MICROS if nanos > 0 else -INFINITY_MICROS
    return nanos


def _geometry(value: Any) -> bytes:
    """Convert well-known binary or well-known text to well-known binary."""
    data = wkb_of_text(value) if isinstance(value, str) else bytes(value)
    extent_of([data])
    return data


def _instant(value: Any, in_zone: InZone | None) -> int:
    """Convert to microseconds in UTC. Without `in_zone`, local times are in UTC."""
    local = local_time(value)
    if in_zone is not None and local is not None:
        with suppress(OverflowError):  # a time outside Python's range after conversion to UTC
            value = in_zone(local).astimezone(timezone.utc)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _micros(value.astimezone(timezone.utc))
    if isinstance(value, date):
        return _micros(value)
    nanos, offset = parse_timestamp(_string(value))
    return nanos // 1000 - (offset or 0) * 1_000_000


def local_time(value: Any) -> datetime | None:
    """Return a value without a time zone as a local time; a date becomes midnight.

    Returns:
        The time; None for a value in a time zone, for infinity and years that Python does not have, and for other values.
    """
    if isinstance(value, datetime):
        return value if value.tzinfo is None else None
    if isinstance(value, date):
        return datetime.combine(value, time())
    if not isinstance(value, str):
        return None
    try:
        nanos, offset = parse_timestamp(value)
        return None if offset is not None else _EPOCH + timedelta(microseconds=nanos // 1000)
    except (ValueError, OverflowError):
        return None


def _micros(value: date) -> int:
    timestamp = value.replace(tzinfo=None) if isinstance(value, datetime) else datetime.combine(value, time())
    return (timestamp - _EPOCH) // timedelta(microseconds=1)


def _string(value: Any) -> str:
    """Return a string as it is, and refuse other values, such as the number 20240101 for a date."""
    if not isinstance(value, str):
        raise TypeError
    return value


def _blob(value: Any) -> bytes:
    if isinstance(value, int):  # bytes(n) would return n zero bytes
        raise TypeError
    return value.encode() if isinstance(value, str) else bytes(value)


def _matching(pattern: str) -> Convert:
    """Return a function that converts to a string and checks that it matches a pattern."""
    compiled = re.compile(pattern)

    def convert(value: Any) -> str:
        text = _text(value).strip()
        if not compiled.search(text):
            raise ValueError
        return text

    return convert


_uuid_text, _interval_text = _matching(UUID), _matching(INTERVAL)


def _uuid(value: Any) -> str:
    return str(_uuid_text(value)).lower()


def _interval(value: Any) -> str:
    if isinstance(value, timedelta):
        seconds, micros = value.seconds, value.microseconds
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{micros:06d}"
        return f"{value.days} days {clock}"
    return str(_interval_text(value))


def _rounded(unit: int) -> Convert:
    """Return a function that converts to microseconds, rounded to `unit` microseconds as in DuckDB: halves are rounded away from 1970."""

    def convert(value: Any) -> int:
        micros = _timestamp(value)
        size = (abs(micros) + unit // 2) // unit * unit
        return micros if abs(micros) >= INFINITY_MICROS else -size if micros < 0 else size

    return convert


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list):
        return json_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, float):
        return float_text(value) or "nan"
    return value.decode() if isinstance(value, bytes) else str(value)


_BY_SPARK_TYPE: dict[str, Convert] = {
    "boolean": _boolean,
    "float": _float32,
    "double": _float,
    "date": _date,
    "time(6)": _time,
    "timestamp_ntz": _timestamp,
    "binary": _blob,
}

_CONVERTERS: dict[str, Convert] = {
    "timestamp_ns": _nanos,
    "interval": _interval,
    "json": json_text,
    "uuid": _uuid,
    "geometry": _geometry,
}
"""The converters of types that differ from other types with the same Spark type. Texts with a pattern are checked by it."""
