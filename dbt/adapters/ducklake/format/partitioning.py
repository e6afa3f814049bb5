"""Partition keys: their names, the text of their values, and the directories of files.

Specification: "Partitioning" and "ducklake_file_partition_value". Where they are silent, we follow the reference implementation: values are
DuckDB's texts, times are calendar parts (year 1969, not -1), NULL and '' are different.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from ..errors import LakeError, StatementError
from .default_texts import blob_text
from .identifiers import backquoted, fold
from .leaf_types import Encoding, leaf_type
from .objects import Column, PartitionField
from .statistics import Value, encode_plain
from .timestamps import DAY_NANOS, INFINITY_DAYS, INFINITY_MICROS, civil_from_days

TIME_PARTS = ("year", "month", "day", "hour")
NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
_BUCKET = re.compile(r"bucket\((\d+)\)")
_INFINITE_NANOS = (INFINITY_MICROS, INFINITY_MICROS * 1000)
"""Infinity of timestamp_ns, and of the other timestamps, which DuckDB counts in microseconds."""


def bucket_count(transform: str) -> int | None:
    """Return n of the transform `bucket(n)`; None for every other transform."""
    match = _BUCKET.fullmatch(transform)
    return int(match[1]) if match else None


def key_columns(columns: Sequence[Column], fields: Sequence[PartitionField]) -> list[Column]:
    """Return the column of each key.

    Raises:
        LakeError: a key names a column that the table does not have.
    """
    by_id = {column.column_id: column for column in columns}
    missing = [field.column_id for field in fields if field.column_id not in by_id]
    if missing:
        raise LakeError(f"the table is partitioned by column id {missing[0]}, which it does not have")
    return [by_id[field.column_id] for field in fields]


def check_transform(column: Column, transform: str) -> None:
    """Check that a column can be partitioned with a transform.

    Raises:
        StatementError: the transform is unknown, or the column's type does not support it.
    """
    leaf = leaf_type(column.type)
    if transform in TIME_PARTS:
        if not leaf.is_dated and (transform != "hour" or leaf.encoding is not Encoding.TIME):
            raise StatementError(f"{transform}({column.name}) needs a date or timestamp, {column.name} is {column.type}")
    elif transform != "identity" and bucket_count(transform) is None:
        raise StatementError(f"{transform} is not a way to partition: use identity, year, month, day, hour or bucket(n)")
    if column.children or not leaf.partitions:
        raise StatementError(f"a table cannot be partitioned by {column.name}, a {column.type}")


def key_names(columns: Sequence[Column], fields: Sequence[PartitionField]) -> list[str]:
    """Return the name of each key in directories: the column's, or the transform's; `<transform>_<column>` where that is taken."""
    plain = [
        column.name if field.transform == "identity" else field.transform.partition("(")[0]
        for column, field in zip(columns, fields, strict=True)
    ]
    folded = [fold(name) for name in plain]
    return [
        f"{field.transform.partition('(')[0]}_{column.name}" if field.transform != "identity" and folded.count(fold(name)) > 1 else name
        for name, column, field in zip(plain, columns, fields, strict=True)
    ]


def key_texts(columns: Sequence[Column], fields: Sequence[PartitionField]) -> list[str]:
    """Return each key as SQL text: `region`, `day(created_at)`, `bucket(16, id)`."""
    texts = []
    for column, field in zip(columns, fields, strict=True):
        buckets = bucket_count(field.transform)
        if field.transform == "identity":
            texts.append(column.name)
        else:
            texts.append(f"{field.transform}({column.name})" if buckets is None else f"bucket({buckets}, {column.name})")
    return texts


def quoted_key_texts(columns: Sequence[Column], fields: Sequence[PartitionField]) -> list[str]:
    """Return each key as SQL text with its column in backquotes, as statements name it.

    Args:
        columns: the columns of the table.
        fields: its keys.

    Raises:
        LakeError: a key names a column that the table does not have.
    """
    return key_texts([replace(column, name=backquoted(column.name)) for column in key_columns(columns, fields)], fields)


def value_text(type_name: str, value: Value | None) -> str | None:
    """Format the value of an identity key, given as a `statistics.Value`; None for NULL.

    Raises:
        StatementError: a column of this type cannot be a partition key.
    """
    if value is None:
        return None
    match leaf_type(type_name).encoding, value:
        case Encoding.BOOLEAN, _:
            return "true" if value else "false"
        case Encoding.FLOAT, float() if value != value:
            return "nan"
        case Encoding.BLOB, bytes():
            return blob_text(value)
        case _, bytes():
            return value.decode()
        case Encoding.HUGE, int():
            return str(value)
    text = encode_plain(value, type_name)
    if text is None:
        raise StatementError(f"a table cannot be partitioned by a column of the type {type_name}")
    return text


def time_part(type_name: str, transform: str, value: Value | None) -> str | None:
    """Return the text of a `year`, `month`, `day` or `hour` key in UTC; None for NULL and infinity."""
    infinite = isinstance(value, int) and (abs(value) == INFINITY_DAYS if type_name == "date" else abs(value) in _INFINITE_NANOS)
    if infinite or not isinstance(value, int):
        return None
    if type_name == "timestamp_ns":  # the reference implementation truncates to microseconds, towards zero
        value = abs(value) // 1000 * (1000 if value >= 0 else -1000)
    days, nanos = (value, 0) if type_name == "date" else divmod(value, DAY_NANOS)
    if transform == "hour":
        return str(nanos // 3_600_000_000_000)
    part = civil_from_days(days)[TIME_PARTS.index(transform)]
    if transform == "year" and type_name == "timestamptz" and part <= 0:
        part = 1 - part  # the reference implementation uses the year within the era, BC or AD
    return str(part)


def directory(names: Sequence[str], values: Sequence[str | None]) -> str:
    """Return the directory of a partition's files below the table's: `<key>=<value>/` per key."""
    return "".join(
        f"{quote(name, safe='')}={NULL_DIRECTORY if value is None else quote(value, safe='')}/"
        for name, value in zip(names, values, strict=True)
    )
