"""Read inlined values: convert a cell of an inlined-data table to a Python value of the column's type.

Specification: the page "Data Inlining". `inlined_cells` does the reverse. SQLite stores numbers, text and blobs; PostgreSQL its own types,
and text as `bytea`. Values that Python cannot represent stay text: interval, timetz, time_ns, timestamp_ns, infinities, years before 1 and
after 9999.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from ..errors import LakeError
from .leaf_types import NO_LEAF, STORED_NAMES
from .nested_text import parse_nested
from .objects import Column
from .statistics import to_float32

RESERVED_NAMES = frozenset({"row_id", "begin_snapshot", "end_snapshot", "_ducklake_internal_row_id", "_ducklake_internal_snapshot_id"})
"""A table cannot be inlined if one of its columns has one of these names."""

_PRECISE = Context(prec=80)
"""Decimals have up to 38 digits; Python's default context rounds to 28."""
_NESTED = frozenset({"list", "struct", "map"})
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6})\d*)?\s*(Z|[+-]\d\d(?::?\d\d)?)?")
_BLOB_ESCAPE = re.compile(rb"\\x([0-9A-Fa-f]{2})")


def decode(value: Any, column: Column, *, sql_structs: bool = True) -> Any:
    """Convert a cell to a Python value, as listed in `files.InlinedRows`; None is NULL.

    Args:
        value: the cell.
        column: its column.
        sql_structs: see `parse_nested`.

    Raises:
        LakeError: the value is not of the column's type.
    """
    if value is None:
        return None
    try:
        if base_type(column.type) in _NESTED:
            return parse_nested(_text(value), column, _scalar, sql_structs=sql_structs)
        return _scalar(value, column.type)
    except (ValueError, ArithmeticError, InvalidOperation) as error:
        raise LakeError(
            f"an inlined value of column {column.name} is not of type {column.type}: {str(value)[:80]!r}; "
            "flush or correct the row with DuckDB"
        ) from error


def base_type(stored: str) -> str:
    """Return the type's name without its parameters, in lower case."""
    return stored.partition("(")[0].strip().lower()


def _scalar(value: Any, stored: str) -> Any:
    leaf = STORED_NAMES.get(base_type(stored), NO_LEAF)
    if leaf.is_integer:
        return int(value)
    if leaf.name == "decimal":
        return _decimal(value, stored)
    convert = _CONVERSIONS.get(leaf.name) or _BY_SPARK_TYPE.get(leaf.spark, _text)
    return convert(value)


def _text(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8")
    return str(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        folded = value.strip().lower()
        if folded in ("true", "t", "1"):
            return True
        if folded in ("false", "f", "0"):
            return False
        raise ValueError(value)
    return bool(value)


def _float32(value: Any) -> float:
    """Return the nearest float32; a column promoted to float64 must keep this number, not the more precise one of the text."""
    return to_float32(float(value))


def _decimal(value: Any, stored: str) -> Decimal:
    number = Decimal(_text(value)) if not isinstance(value, Decimal) else value
    _, _, parameters = stored.partition(",")
    scale = parameters.strip(" )")
    return number.quantize(Decimal(1).scaleb(-int(scale)), context=_PRECISE) if scale.isdecimal() else number


def _blob(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return _BLOB_ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), str(value).encode())


def _date(value: Any) -> date | str:
    if isinstance(value, date):
        return value
    text = _text(value)
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text  # infinity, (BC), five-digit years


def _time(value: Any) -> time | str:
    if isinstance(value, time):
        return value
    text = _text(value)
    match = _TIMESTAMP.fullmatch(f"2000-01-01 {text}")
    return text if match is None or match[4] == "24" else _matched(match).time()


def _timestamp(value: Any) -> datetime | str:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    text = _text(value)
    match = _TIMESTAMP.fullmatch(text)
    return text if match is None else _matched(match)


def _timestamptz(value: Any) -> datetime | str:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc)
    text = _text(value)
    match = _TIMESTAMP.fullmatch(text)
    return text if match is None else (_matched(match) - _offset(match[8])).replace(tzinfo=timezone.utc)


def _matched(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    return datetime(year, month, day, hour, minute, second, int((match[7] or "0").ljust(6, "0")))


def _offset(text: str | None) -> timedelta:
    if text in (None, "Z"):
        return timedelta()
    assert text is not None
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if text[0] == "-" else offset


def _interval(value: Any) -> str:
    return interval_text(*parse_interval(_text(value)))


def _variant(value: Any) -> tuple[bytes, bytes]:
    """Return (value, metadata) from hexadecimal `metadata:value` (the dialect of DuckDB files) or from a struct of both (Arrow)."""
    if isinstance(value, dict):
        return value["value"], value["metadata"]
    metadata, _, encoded = _text(value).partition(":")
    return bytes.fromhex(encoded), bytes.fromhex(metadata)


_BY_SPARK_TYPE: dict[str, Callable[[Any], Any]] = {
    "boolean": _boolean,
    "float": _float32,
    "double": float,
    "date": _date,
    "time(6)": _time,
    "timestamp_ntz": _timestamp,
    "timestamp": _timestamptz,
    "binary": _blob,
    "variant": _variant,
}
"""The conversion for each Spark type; values of other types stay strings."""

_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"interval": _interval, "geometry": _text}
"""The conversion of types that differ from other types with the same Spark type."""

_PART = re.compile(r"([+-]?\d+)\s*(year|mon|month|week|day|hour|minute|second|millisecond|microsecond)s?\b", re.IGNORECASE)
_CLOCK = re.compile(r"([+-]?)(\d+):(\d{2})(?::(\d{2})(?:\.(\d{1,6})\d*)?)?")
_MONTHS = {"year": 12, "mon": 1, "month": 1}
_DAYS = {"week": 7, "day": 1}
_MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000, "microsecond": 1}


def parse_interval(text: str) -> tuple[int, int, int]:
    """Parse an interval into (months, days, microseconds).

    Raises:
        ValueError: the text is not an interval.
    """
    months = days = micros = 0
    rest = text.strip()
    while rest:
        if match := _PART.match(rest):
            number, unit = int(match[1]), match[2].lower()
            months += number * _MONTHS.get(unit, 0)
            days += number * _DAYS.get(unit, 0)
            micros += number * _MICROS.get(unit, 0)
        elif match := _CLOCK.match(rest):
            seconds = (int(match[2]) * 60 + int(match[3])) * 60 + int(match[4] or 0)
            clock = seconds * 1_000_000 + int((match[5] or "").ljust(6, "0"))
            micros += -clock if match[1] == "-" else clock
        else:
            raise ValueError(f"{text!r} is not an interval")
        rest = rest[match.end() :].strip()
    return months, days, micros


def interval_text(months: int, days: int, micros: int) -> str:
    """Return DuckDB's text of an interval."""
    years, months = (abs(months) // 12 * (1 if months >= 0 else -1), abs(months) % 12 * (1 if months >= 0 else -1))
    parts = [
        f"{number} {unit}{'' if abs(number) == 1 else 's'}"
        for number, unit in ((years, "year"), (months, "month"), (days, "day"))
        if number
    ]
    if micros or not parts:
        seconds, fraction = divmod(abs(micros), 1_000_000)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        parts.append(("-" if micros < 0 else "") + clock + (f".{fraction:06d}".rstrip("0") if fraction else ""))
    return " ".join(parts)
