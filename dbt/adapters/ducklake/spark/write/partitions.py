"""Partition keys in Spark: the expressions that split rows into files, and the values read back from the directories.

Spark writes `''` and NULL to the same directory, and formats other values by its session's settings. So each key is written as `v` and a
text that does not depend on them, which is converted here to the value that DuckLake stores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as F
from pyspark.sql.types import TimestampNTZType

from ...format.identifiers import backquoted
from ...format.leaf_types import leaf_type
from ...format.objects import Column, PartitionField
from ...format.partitioning import bucket_count, check_transform, key_columns, value_text
from ...format.statistics import plain_value
from ...format.timestamps import INFINITY_DAYS, parse_time, parse_timestamp
from ...format.types import decimal_parameters
from ..values.conversions import CONVERSIONS, INFINITE_TIMESTAMPS
from .buckets import Steps, bucket

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_PREFIX = "v"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_TO_NAIVE = {"timestamp_ns": "nanos_to_naive", "timestamptz": "instant_to_naive"}
_PARTS = {"year": F.year, "month": F.month, "day": F.dayofmonth, "hour": F.hour}


def key_name(index: int) -> str:
    """Return the temporary name of a key's column and directory."""
    return f"__ducklake_key_{index}"


def with_keys(rows: DataFrame, columns: Sequence[Column], fields: Sequence[PartitionField]) -> DataFrame:
    """Return the rows with a column `key_name(i)` for each key.

    Raises:
        StatementError: a transform does not apply to its column.
    """
    steps = Steps()
    keys: list[SparkColumn] = []
    for column, field in zip(key_columns(columns, fields), fields, strict=True):
        check_transform(column, field.transform)
        value = F.col(backquoted(column.name))
        count = bucket_count(field.transform)
        if count is not None:
            text = bucket(value, column.type, count, steps).cast("string")
        elif field.transform in _PARTS:
            text = _part(value, column.type, field.transform)
        else:
            text = _plain_text(value, column.type)
        keys.append(F.concat(F.lit(_PREFIX), text).alias(key_name(len(keys))))
    names = [*rows.columns, *(key_name(index) for index in range(len(keys)))]
    found = rows.select("*", *steps.columns, *keys)
    return found.select(*[F.col(backquoted(name)) for name in names]) if steps.columns else found


def values_of(path: str, columns: Sequence[Column], fields: Sequence[PartitionField]) -> tuple[str | None, ...]:
    """Return the values of a file's keys, in DuckDB's form, from the directories in its path."""
    found = dict(re.findall(r"/(__ducklake_key_\d+)=([^/]*)(?=/)", path))
    strings = [unquote(found[key_name(index)]) for index in range(len(fields))]
    return values_of_keys([None if text == _NULL else text for text in strings], columns, fields)


def values_of_keys(texts: Sequence[str | None], columns: Sequence[Column], fields: Sequence[PartitionField]) -> tuple[str | None, ...]:
    """Return the values of the keys, in DuckDB's form, from `texts`, the values of the columns `key_name(i)` of one row."""
    values: list[str | None] = []
    for text, column, field in zip(texts, key_columns(columns, fields), fields, strict=True):
        if text is None:
            values.append(None)
        elif field.transform == "identity":
            values.append(_value_text(text[len(_PREFIX) :], column.type))
        else:
            values.append(text[len(_PREFIX) :])
    return tuple(values)


def _plain_text(value: SparkColumn, type_name: str) -> SparkColumn:
    """Return a string for `_value_text`: days or microseconds since the epoch, hexadecimal bytes, or else what Spark casts to."""
    if type_name == "date":
        return F.unix_date(value).cast("string")
    if type_name == "timestamptz":
        return F.unix_micros(value).cast("string")
    return F.hex(value) if type_name == "blob" else value.cast("string")


def _value_text(text: str, type_name: str) -> str | None:
    """Convert a text of `_plain_text` to the value that DuckLake stores."""
    if type_name == "blob":
        return value_text(type_name, bytes.fromhex(text))
    if type_name == "date":
        return value_text(type_name, int(text))
    if type_name == "timestamptz":
        return value_text(type_name, int(text) * 1000)  # microseconds to nanoseconds
    if type_name == "timestamp_ns":
        return value_text(type_name, int(text))
    if leaf_type(type_name).is_timestamp:
        return value_text(type_name, parse_timestamp(_with_duckdb_year(text))[0])
    if type_name == "time":
        return value_text(type_name, parse_time(text))
    if leaf_type(type_name).is_float:
        return value_text(type_name, float(text))
    if decimal_parameters(type_name) is not None:
        return value_text(type_name, plain_value(Decimal(text), type_name))
    return text


def _part(value: SparkColumn, type_name: str, transform: str) -> SparkColumn:
    """Return the year, month, day or hour as text; NULL for infinity. A timestamp_ns arrives as a number of nanoseconds.

    The parts of a TIMESTAMPTZ are computed in UTC, regardless of the session's time zone.
    """
    if type_name in _TO_NAIVE:
        value = CONVERSIONS[_TO_NAIVE[type_name]](value, TimestampNTZType())
    if type_name == "date":
        infinite = F.abs(F.unix_date(value)) == F.lit(INFINITY_DAYS)
        part = F.lit(0) if transform == "hour" else _PARTS[transform](value)
    else:
        infinite = value.isin(*[F.expr(f"TIMESTAMP_NTZ'{text}'") for text in INFINITE_TIMESTAMPS]) if type_name != "time" else F.lit(False)
        part = _PARTS[transform](value)
    if transform == "year" and type_name == "timestamptz":
        part = F.when(part > 0, part).otherwise(F.lit(1) - part)  # DuckDB counts the years within the era: 44 for 44 BC
    return F.when(~infinite, part.cast("string"))


def _with_duckdb_year(text: str) -> str:
    """Convert Java's form of years after 9999 and before 1, `+12345-…` and `-0043-…`, to DuckDB's form."""
    if text.startswith("-"):
        year, rest = text[1:].split("-", 1)
        date, _, time = rest.partition(" ")
        return f"{int(year) + 1:04d}-{date} (BC) {time}"
    return text.lstrip("+")
