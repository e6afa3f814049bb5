"""Column statistics: how bounds are encoded as text, how they combine, and what they prove.

Specification: the pages "ducklake_file_column_stats" and "ducklake_table_column_stats". Where they are silent, we follow the reference
implementation. The rules:

- A bound is never narrower than the data, because wrong bounds lose rows. Where that cannot be guaranteed, the bound is None and proves
  nothing.
- Before they are encoded, values are plain Python: bool, int (also days, nanoseconds, unscaled decimals), float, or bytes (strings and
  blobs).
- Strings and blobs longer than 256 bytes are truncated; the upper bound is then the next greater one, or both bounds are None.
- NaN is not a bound; `contains_nan` records it.
- int128, intervals, times with a zone, geometries and variants have no bounds. Geometries and variants have `extra_stats`.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, InvalidOperation
from functools import reduce

from .files import ColumnRange, ColumnStats
from .geometry import extent_of_json
from .leaf_types import Encoding, LeafType, leaf_type
from .timestamps import INFINITY_MICROS, date_text, parse_date, parse_time, parse_timestamp, time_text, timestamp_text
from .types import decimal_parameters
from .variant_stats import merged_parts

Value = bool | int | float | bytes
"""A value before it is encoded: dates as days, times and timestamps as nanoseconds, decimals unscaled, strings as UTF-8."""

Bounds = tuple[str | None, str | None]
"""The minimum and maximum as strings; None if not known."""

MAX_BOUND_BYTES = 256
"""The maximum length of the bound of a string or blob, in bytes."""

_EPOCH = datetime(1970, 1, 1)
_EXACT = Context(prec=80)
_WHOLE = (Encoding.INTEGER, Encoding.HUGE, Encoding.NONE)
"""Encodings for which a value may be a `Decimal` that is a whole number."""


def encode_bounds(type_name: str, least: Value | None, greatest: Value | None) -> Bounds:
    """Return the encoded minimum and maximum of a column of the stored type `type_name`; None for no bound."""
    leaf = leaf_type(type_name)
    if least is None or greatest is None or not leaf.has_bounds:
        return None, None
    if isinstance(least, bytes) and isinstance(greatest, bytes):
        is_text = leaf.encoding is not Encoding.BLOB
        cut = _next_greater(greatest, is_text) if len(greatest) > MAX_BOUND_BYTES else greatest
        if cut is None:
            return None, None
        return encode_plain(_cut(least, is_text), type_name), encode_plain(cut, type_name)
    if leaf.is_timestamp and isinstance(least, int) and isinstance(greatest, int):
        return encode_plain(_in_units(least, leaf, -1), type_name), encode_plain(_in_units(greatest, leaf, 1), type_name)
    return encode_plain(least, type_name), encode_plain(greatest, type_name)


def encode(value: object, type_name: str) -> str | None:
    """Encode a Python value of the stored type `type_name`; return None if it cannot be a bound (NaN, a string with a NUL byte).

    Values have the types that PySpark and PyArrow return: bool, int, float, Decimal, str, bytes, date, time, datetime (UTC if naive).
    """
    plain = plain_value(value, type_name)
    return None if plain is None else encode_plain(plain, type_name)


def plain_value(value: object, type_name: str) -> Value | None:
    """Convert a Python value of the stored type `type_name` to a `Value`; None if it is not of that type."""
    leaf, parameters = leaf_type(type_name), decimal_parameters(type_name)
    match value:
        case str():
            return value.encode()
        case datetime() if leaf.is_timestamp:
            naive = value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)
            return (naive - _EPOCH) // timedelta(microseconds=1) * 1000
        case date() if leaf.encoding is Encoding.DATE:
            return value.toordinal() - _EPOCH.toordinal()
        case time() if leaf.encoding is Encoding.TIME:
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000_000 + value.microsecond * 1000
        case Decimal() if parameters is not None and value.is_finite():
            return int(value.scaleb(parameters[1], _EXACT).to_integral_value(context=_EXACT))
        case Decimal() if leaf.encoding in _WHOLE and value.is_finite():
            return int(value)
        case int() if leaf.is_float:
            return float(value)
        case int() if parameters is not None:
            return int(value * 10 ** parameters[1])
        case bool() | int() | float() | bytes():
            return value
        case bytearray():
            return bytes(value)
    return None


def encode_plain(value: Value, type_name: str) -> str | None:
    """Return the text of a value from `plain_value`, as `encode` does."""
    leaf = leaf_type(type_name)
    match leaf.encoding, value:
        case Encoding.BLOB, bytes():
            return value.hex().upper()
        case Encoding.TEXT, bytes():
            return _text(value)
        case Encoding.FLOAT, float():
            return float_text(value, type_name)
        case Encoding.BOOLEAN, bool():
            return "1" if value else "0"
        case _, int() if not isinstance(value, bool):
            return _integer_text(leaf, type_name, value)
    return None


def float_text(value: float, type_name: str = "float64") -> str | None:
    """Return the shortest text that reads back as the same float32 or float64; None for NaN."""
    if value != value:
        return None
    if type_name == "float32" and abs(value) != float("inf"):
        for digits in range(1, 10):
            short = float(f"{value:.{digits}g}")
            if to_float32(short) == to_float32(value):
                return repr(short)
    return repr(float(value))


def decimal_text(unscaled: int, precision: int, scale: int) -> str:
    """Return the text of a decimal with its full scale; without a digit before the point if the type allows none."""
    sign, digits = ("-" if unscaled < 0 else ""), str(abs(unscaled))
    if scale == 0:
        return sign + digits
    digits = digits.zfill(scale if precision == scale else scale + 1)
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def decode(type_name: str, text: str) -> Decimal | int | float | bytes | None:
    """Convert the text of a bound of the stored type `type_name` to a comparable value; None if that is not possible.

    Reads both encodings of the reference implementation, for files and for inlined rows, and bounds from before the column's type changed.
    """
    try:
        return _decode(type_name, text)
    except (ValueError, ArithmeticError, InvalidOperation):
        return None


def merge_bounds(type_name: str, left: Bounds, right: Bounds) -> Bounds:
    """Combine the bounds of two sets of values: the wider of each, None where either is unknown."""
    return _pick(type_name, left[0], right[0], greatest=False), _pick(type_name, left[1], right[1], greatest=True)


def merge_stats(type_name: str, left: ColumnStats, right: ColumnStats) -> ColumnStats:
    """Combine the statistics of two files (or row groups); a side without values does not change the bounds of the other."""
    if is_empty(left, type_name):
        bounds: Bounds = (right.min_value, right.max_value)
    elif is_empty(right, type_name):
        bounds = (left.min_value, left.max_value)
    else:
        bounds = merge_bounds(type_name, (left.min_value, left.max_value), (right.min_value, right.max_value))
    return replace(
        left,
        size_bytes=_sum(left.size_bytes, right.size_bytes),
        value_count=_sum(left.value_count, right.value_count),
        null_count=_sum(left.null_count, right.null_count),
        min_value=bounds[0],
        max_value=bounds[1],
        contains_nan=_either(left.contains_nan, right.contains_nan),
        extra_stats=_extra(type_name, left, right),
        is_rounded=left.is_rounded or right.is_rounded,
    )


def outside(range_: ColumnRange, stats: ColumnStats, type_name: str) -> bool:
    """Whether statistics prove that no value of the column is in the range.

    NULL is in no range. NaN is greater than all numbers.
    """
    if range_.low is None and range_.high is None:
        return False
    if is_empty(stats, type_name):
        return True
    low = decode(type_name, range_.low) if range_.low is not None else None
    high = decode(type_name, range_.high) if range_.high is not None else None
    least = decode(type_name, stats.min_value) if stats.min_value is not None else None
    greatest = decode(type_name, stats.max_value) if stats.max_value is not None else None
    leaf = leaf_type(type_name)
    if leaf.is_float:
        least, greatest = _widened(least, -1), _widened(greatest, 1)
        if range_.high is None and stats.contains_nan is not False:
            greatest = None
    if leaf.is_timestamp:  # DuckDB stores the bounds of added files as they are in the file
        least = _in_units(least, leaf, -1) if isinstance(least, int) else None
        greatest = _in_units(greatest, leaf, 1) if isinstance(greatest, int) else None
    below = _less(greatest, low) if range_.low is not None else False
    above = _less(high, least) if range_.high is not None else False
    return below or above


def exceeds(type_name: str, bounds: Bounds, known: Bounds) -> bool:
    """Whether bounds are certainly wider than the known ones; those of floats by more than the error of a float32."""
    low, high, least, greatest = (None if text is None else decode(type_name, text) for text in (*bounds, *known))
    if leaf_type(type_name).is_float:
        least, greatest = _widened(least, -1), _widened(greatest, 1)
    return _less(low, least) or _less(greatest, high)


def _extra(type_name: str, left: ColumnStats, right: ColumnStats) -> str | None:
    match type_name:
        case "geometry":
            return _extents(left, right)
        case "variant":
            return merged_parts(left, right, merge_stats)
    return None


def _extents(left: ColumnStats, right: ColumnStats) -> str | None:
    """Return the combined extent; None if the extent of a side with values is not known."""
    known = [side.extra_stats for side in (left, right) if side.value_count != 0 or side.extra_stats is not None]
    if not known or None in known:
        return None
    try:
        return reduce(lambda one, two: one.union(two), (extent_of_json(text) for text in known if text is not None)).to_json()
    except ValueError:
        return None


def is_empty(stats: ColumnStats, type_name: str) -> bool:
    """Whether the column certainly has no values.

    A value count of 0 alone does not prove it: the reference implementation miscounts fields of structs in lists.
    """
    unbounded = stats.min_value is None and stats.max_value is None
    return stats.value_count == 0 and unbounded and leaf_type(type_name).encoding is not Encoding.NONE


def _decode(type_name: str, text: str) -> Decimal | int | float | bytes | None:
    match leaf_type(type_name).encoding:
        case Encoding.BOOLEAN:
            return {"0": 0, "1": 1, "false": 0, "true": 1}.get(text.lower())
        case Encoding.INTEGER | Encoding.HUGE:
            return int({"true": "1", "false": "0"}.get(text, text))
        case Encoding.FLOAT:
            value = float(text)
            return value if value == value else None
        case Encoding.DECIMAL:
            number = Decimal(text)
            return number if number.is_finite() else None
        case Encoding.DATE:
            return parse_date(text)
        case Encoding.TIME:
            return parse_time(text)
        case Encoding.TIMESTAMP:
            nanos, offset = parse_timestamp(text)
            if type_name == "timestamptz":
                return None if offset is None else nanos - offset * 1_000_000_000
            return nanos
        case Encoding.TEXT:
            return (text.lower() if type_name == "uuid" else text).encode()
    return None


def _integer_text(leaf: LeafType, type_name: str, value: int) -> str | None:
    match leaf.encoding:
        case Encoding.INTEGER:
            return str(value)
        case Encoding.DECIMAL:
            parameters = decimal_parameters(type_name)
            return None if parameters is None else decimal_text(value, *parameters)
        case Encoding.DATE:
            return date_text(value)
        case Encoding.TIME:
            return time_text(value)
        case Encoding.TIMESTAMP:
            return _timestamp_text(type_name, value)
    return None


def _timestamp_text(type_name: str, value: int) -> str:
    if type_name == "timestamptz":
        text = timestamp_text(value)
        return text if text.endswith("infinity") else text + "+00"
    if type_name == "timestamp_ns" and abs(value) >= INFINITY_MICROS:  # infinity of this type is the greatest number of nanoseconds
        return timestamp_text(value * 1000)
    return timestamp_text(value)


def _text(value: bytes) -> str | None:
    if b"\0" in value:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _cut(value: bytes, is_text: bool) -> bytes:
    """Return at most the first `MAX_BOUND_BYTES` bytes of a value, without splitting a character."""
    if len(value) <= MAX_BOUND_BYTES:
        return value
    end = MAX_BOUND_BYTES
    while is_text and end > 0 and value[end] & 0xC0 == 0x80:
        end -= 1
    return value[:end]


def _next_greater(value: bytes, is_text: bool) -> bytes | None:
    """Return a short value that is greater than every value with the same prefix, by incrementing one byte of the prefix."""
    head = _cut(value, is_text)
    last = 0x7E if is_text else 0xFE
    for end in range(len(head), 0, -1):
        if head[end - 1] <= last:
            return head[: end - 1] + bytes([head[end - 1] + 1])
    return None


def to_float32(value: float) -> float:
    """Return the nearest float32."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _pick(type_name: str, left: str | None, right: str | None, *, greatest: bool) -> str | None:
    """Return the lower of two bounds, or the higher if `greatest`; None if either is unknown."""
    if left is None or right is None:
        return None
    if left == right:
        return left
    if leaf_type(type_name).encoding is Encoding.BLOB:
        pair = _blob(left), _blob(right)
        return None if None in pair else (left if (pair[0] > pair[1]) == greatest else right)  # type: ignore[operator]
    a, b = decode(type_name, left), decode(type_name, right)
    if a is None or b is None:
        return None
    return left if _less(b, a) == greatest else right


def _blob(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def _less(left: Decimal | int | float | bytes | None, right: Decimal | int | float | bytes | None) -> bool:
    """Whether `left` is certainly less than `right`."""
    if left is None or right is None or isinstance(left, bytes) != isinstance(right, bytes):
        return False
    return left < right  # type: ignore[operator]


def _widened(bound: Decimal | int | float | bytes | None, sign: int) -> float | None:
    """Widen a bound of a float column by one part in 2**22 plus the smallest positive float32.

    Files written when the column was float32 have less precise bounds.
    """
    return bound + sign * (abs(bound) * 2.0**-22 + 2.0**-149) if isinstance(bound, float) else None


def _in_units(nanos: int, leaf: LeafType, sign: int) -> int:
    """Widen a bound of a timestamp column to a multiple of the column's unit.

    Values of added files that are more precise are rounded, up or down, when they are read.
    """
    return -sign * (-sign * nanos // leaf.unit_nanos) * leaf.unit_nanos


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _either(left: bool | None, right: bool | None) -> bool | None:
    if left or right:
        return True
    return None if left is None or right is None else False
