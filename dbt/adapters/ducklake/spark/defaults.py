"""A column's initial default as a Spark SQL literal: what files that are older than the column hold for it.

`ducklake_column.initial_default` is plain text without quotes (`abc`, `-3`, `2020-01-01`), in the notation of
DuckDB's casts from text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from ..errors import LakeError
from ..spec.objects import Column

_TRUE = frozenset({"true", "t", "1", "yes", "y", "on"})
_FALSE = frozenset({"false", "f", "0", "no", "n", "off"})
_DATE = re.compile(r"-?\d{1,6}-\d{1,2}-\d{1,2}")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d{1,6}0*)?)?")
_NAIVE = re.compile(r"-?\d{1,6}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6}0*)?)?)?")
_ZONED = re.compile(_NAIVE.pattern + r"\s*(Z|UTC|[+-]\d{1,2}(:?\d{2})?)?")
_ESCAPED_BYTE = re.compile(rb"\\x([0-9a-fA-F]{2})")


def initial_literal(column: Column) -> str | None:
    """The literal, of the column's own Spark type or one that casts to it without loss; None for NULL.

    Raises:
        LakeError: the text is no value of the column's type, or one that Spark has no value for.
    """
    text = column.initial_default
    if text is None:
        return None
    kind = column.type.strip().lower()
    writer = _decimal if kind.startswith("decimal") else _WRITERS.get(kind)
    try:
        if writer is not None:
            return writer(text.strip() if kind not in ("varchar", "json", "blob") else text)
    except (ValueError, InvalidOperation):
        pass
    raise LakeError(
        f"column {column.name} of type {column.type} has the initial default {text!r}, which Spark has no value for. "
        "Rewrite the table's older files with DuckDB (CALL ducklake_rewrite_data_files) or drop the column"
    )


def quoted(text: str) -> str:
    """A Spark SQL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _boolean(text: str) -> str:
    folded = text.lower()
    if folded in _TRUE:
        return "TRUE"
    if folded in _FALSE:
        return "FALSE"
    raise ValueError(text)


def _integer(suffix: str) -> Callable[[str], str]:
    return lambda text: f"{int(text)}{suffix}"


def _decimal(text: str) -> str:
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(text)
    return f"{value:f}BD"


def _floating(suffix: str) -> Callable[[str], str]:
    name = "FLOAT" if suffix == "F" else "DOUBLE"

    def write(text: str) -> str:
        value = float(text)
        if math.isnan(value):
            return f"CAST('NaN' AS {name})"
        if math.isinf(value):
            return f"CAST('{'-' if value < 0 else ''}Infinity' AS {name})"
        return f"{value!r}{suffix}"

    return write


def _matching(pattern: re.Pattern[str], prefix: str, zone: str = "") -> Callable[[str], str]:
    def write(text: str) -> str:
        match = pattern.fullmatch(text)
        if match is None:
            raise ValueError(text)
        return f"{prefix}'{text}{zone}'"

    return write


def _zoned(text: str) -> str:
    """Timestamps without a zone are UTC; DuckDB writes `+00`."""
    match = _ZONED.fullmatch(text)
    if match is None:
        raise ValueError(text)
    zone = match.group(4) or "Z"
    if re.fullmatch(r"[+-]\d{1,2}", zone):
        zone = f"{zone[0]}{int(zone[1:]):02d}:00"
    elif re.fullmatch(r"[+-]\d{4}", zone):
        zone = f"{zone[:3]}:{zone[3:]}"
    stem = text[: match.start(4)].strip() if match.group(4) else text
    return f"TIMESTAMP'{stem}{'Z' if zone == 'UTC' else zone}'"


def _blob(text: str) -> str:
    """DuckDB prints bytes that are not printable ASCII as `\\xAB`."""
    data = _ESCAPED_BYTE.sub(lambda match: bytes([int(match.group(1), 16)]), text.encode())
    return f"X'{data.hex().upper()}'"


_naive = _matching(_NAIVE, "TIMESTAMP_NTZ")
_WRITERS: Mapping[str, Callable[[str], str]] = {
    "boolean": _boolean,
    "int8": _integer("Y"),
    "int16": _integer("S"),
    "int32": _integer(""),
    "int64": _integer("L"),
    "int128": _decimal,
    "uint8": _integer("S"),
    "uint16": _integer(""),
    "uint32": _integer("L"),
    "uint64": _decimal,
    "uint128": _decimal,
    "float32": _floating("F"),
    "float64": _floating("D"),
    "date": _matching(_DATE, "DATE"),
    "time": _matching(_TIME, "TIME"),
    "time_ns": quoted,
    "timetz": quoted,
    "timestamp": _naive,
    "timestamp_us": _naive,
    "timestamp_s": _naive,
    "timestamp_ms": _naive,
    "timestamp_ns": _naive,
    "timestamptz": _zoned,
    "interval": quoted,
    "varchar": quoted,
    "json": quoted,
    "uuid": lambda text: quoted(text.lower()),
    "blob": _blob,
}
