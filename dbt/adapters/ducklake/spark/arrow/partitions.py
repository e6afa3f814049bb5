"""Split an Arrow table by partition keys in the driver, with the same partition values as Spark's writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ...format.buckets import bucket
from ...format.leaf_types import leaf_type
from ...format.objects import Column, PartitionField
from ...format.partitioning import TIME_PARTS, bucket_count, check_transform, key_columns, time_part, value_text
from ...format.statistics import Value, plain_value


def split(
    table: pa.Table, columns: Sequence[Column], fields: Sequence[PartitionField]
) -> Iterator[tuple[tuple[str | None, ...], pa.Table]]:
    """Yield (values of the keys, rows) for each partition, in the order of first appearance; without keys, the whole table.

    Raises:
        StatementError: a transform does not apply to its column.
    """
    if not fields:
        yield (), table
        return
    keys = [
        _key(table.column(list(columns).index(column)), column, field.transform)
        for column, field in zip(key_columns(columns, fields), fields, strict=True)
    ]
    rows: dict[tuple[str | None, ...], list[int]] = {}
    for number, values in enumerate(zip(*keys, strict=True)):
        rows.setdefault(values, []).append(number)
    for values, numbers in rows.items():
        yield values, table.take(pa.array(numbers, pa.int64()))


def identity_text(data: pa.ChunkedArray, column: Column) -> str | None:
    """Return the text of an identity key for the only value in `data`."""
    return _key(data, column, "identity")[0]


def _key(data: pa.ChunkedArray, column: Column, transform: str) -> list[str | None]:
    """Return the text of the key for each row, computed once per distinct value."""
    check_transform(column, transform)
    count = bucket_count(transform)
    texts: dict[Any, str | None] = {}
    found: list[str | None] = []
    for value in _values(data, column.type):
        key = repr(value) if isinstance(value, float) else value  # 0.0 and -0.0 are equal, but their texts differ
        if key not in texts:
            texts[key] = _text(value, column.type, transform, count)
        found.append(texts[key])
    return found


def _values(data: pa.ChunkedArray, type_name: str) -> list[Value | None]:
    """Return values as in `format.statistics`: dates in days, times and timestamps in nanoseconds."""
    if type_name == "date":
        return list(data.cast(pa.int32()).to_pylist())
    if type_name == "timestamp_ns":
        return list(data.cast(pa.int64()).to_pylist())
    if leaf_type(type_name).unit_nanos:
        # Arrow has these types in microseconds.
        return [None if v is None else v * 1000 for v in data.cast(pa.int64()).to_pylist()]
    return [None if v is None else plain_value(v, type_name) for v in data.to_pylist()]


def _text(value: Value | None, type_name: str, transform: str, count: int | None) -> str | None:
    """Return the text of the key for one value; `count` is the number of buckets, or None for another transform."""
    if transform in TIME_PARTS:
        return time_part(type_name, transform, value)
    if count is not None:
        return None if value is None else str(bucket(value, type_name, count))
    return value_text(type_name, value)
