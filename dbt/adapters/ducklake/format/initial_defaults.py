"""A literal default as a Spark SQL literal: the value of new rows, or as an initial default that of rows in files older than the column.

`ducklake_column.initial_default` is plain text without quotes (`abc`, `-3`, `2020-01-01`), in the syntax of DuckDB's casts from text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from ..errors import LakeError
from .geometry import wkb_of_text
from .identifiers import spark_literal
from .inlined import base_type
from .leaf_types import NO_LEAF, STORED_NAMES, Encoding
from .objects import Column
from .timestamps import DAY_NANOS, civil_from_days, parse_date, parse_timestamp, time_text, timestamp_text

_TRUE = frozenset({"true", "t", "1", "yes", "y", "on"})
_FALSE = frozenset({"false", "f", "0", "no", "n", "off"})
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d{1,6}0*)?)?")
ESCAPED_BYTE = re.compile(rb"\\x([0-9a-fA-F]{2})")
"""A byte in the text of a blob."""


def initial_literal(column: Column) -> str | None:
    """Return the literal, of the column's Spark type or of one that casts to it without loss; None for NULL.

    Raises:
        LakeError: the text is not a value of the column's type, or Spark cannot represent it.
    """
    text = column.initial_default
    if text is None:
        return None
    leaf = STORED_NAMES.get(base_type(column.type), NO_LEAF)
    writer = _WRITERS.get(leaf.name) or _BY_SPARK_TYPE.get(leaf.spark)
    try:
        if writer is not None:
            return writer(text if leaf.is_text or leaf.encoding is Encoding.BLOB else text.strip())
    except (ValueError, InvalidOperation):
        pass
    raise LakeError(
        f"column {column.name} of type {column.type} has the initial default {text!r}, which Spark cannot represent. "
        "Rewrite the table's older files with DuckDB (CALL ducklake_rewrite_data_files) or drop the column"
    )


def _refuse(text: str) -> str:
    raise ValueError(text)


def truth(text: str) -> bool:
    """Parse a boolean as DuckDB's cast does.

    Raises:
        ValueError: the text is not a boolean.
    """
    folded = text.lower()
    if folded not in _TRUE | _FALSE:
        raise ValueError(text)
    return folded in _TRUE


def _boolean(text: str) -> str:
    return "TRUE" if truth(text) else "FALSE"


def _integer(suffix: str) -> Callable[[str], str]:
    return lambda text: f"{int(text)}{suffix}"


def _decimal(text: str) -> str:
    value = Decimal(text)
    if not value.is_finite() or len(value.as_tuple().digits) > 38:
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
        return f"CAST({value!r}D AS FLOAT)" if suffix == "F" else f"{value!r}D"

    return write


def _time(text: str) -> str:
    if _TIME.fullmatch(text) is None or text.startswith("24"):
        raise ValueError(text)
    return f"TIME'{text}'"


def _date(text: str) -> str:
    return f"DATE'{_java_date(parse_date(text))}'"


def _naive(text: str) -> str:
    """Write a timestamp without its time zone, as DuckDB's cast does."""
    return f"TIMESTAMP_NTZ'{_java_timestamp(parse_timestamp(text)[0])}'"


def _zoned(text: str) -> str:
    """Write a timestamp in UTC, which is also the default time zone."""
    nanos, offset = parse_timestamp(text)
    return f"TIMESTAMP'{_java_timestamp(nanos - (offset or 0) * 1_000_000_000)}Z'"


def _java_date(days: int) -> str:
    """Format a date as Java does: `+10000-01-01` after the year 9999, `-0043-03-15` before the year 1."""
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def _java_timestamp(nanos: int) -> str:
    if nanos % 1000:
        raise ValueError("Spark's timestamps have microseconds")
    days, rest = divmod(nanos, DAY_NANOS)
    return f"{_java_date(days)} {time_text(rest)}"


def _blob(text: str) -> str:
    r"""Write bytes; DuckDB prints bytes that are not printable ASCII as `\xAB`."""
    data = ESCAPED_BYTE.sub(lambda match: bytes([int(match.group(1), 16)]), text.encode())
    return f"X'{data.hex().upper()}'"


def _nanos(text: str) -> str:
    return spark_literal(timestamp_text(parse_timestamp(text)[0]))


def _geometry(text: str) -> str:
    return f"X'{wkb_of_text(text).hex().upper()}'"


def _uuid(text: str) -> str:
    return spark_literal(text.lower())


_BY_SPARK_TYPE: Mapping[str, Callable[[str], str]] = {
    "boolean": _boolean,
    "tinyint": _integer("Y"),
    "smallint": _integer("S"),
    "int": _integer(""),
    "bigint": _integer("L"),
    "decimal": _decimal,
    "decimal(20,0)": _decimal,
    "decimal(38,0)": _decimal,
    "float": _floating("F"),
    "double": _floating("D"),
    "date": _date,
    "time(6)": _time,
    "timestamp_ntz": _naive,
    "timestamp": _zoned,
    "string": spark_literal,
    "binary": _blob,
}

_WRITERS: Mapping[str, Callable[[str], str]] = {"timestamp_ns": _nanos, "uuid": _uuid, "geometry": _geometry, "unknown": _refuse}
"""The writers of types that differ from other types with the same Spark type."""
