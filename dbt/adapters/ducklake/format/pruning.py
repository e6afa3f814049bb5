"""Pruning: what statistics and partition values prove about the rows of a file. In doubt, a file is kept.

Specification: "ducklake_file_column_stats", "ducklake_file_partition_value", "Partitioning". The rules:

- A filter is for one column: a value must be in one of its ranges, or be NULL if the filter includes NULL.
- Statistics exclude a file if its bounds are outside all ranges, and it has no NULL or the filter does not include NULL.
- The value of an identity key is the value of all rows of the file. Calendar parts bound a date or timestamp if they include the year.
  Those of a timestamptz are in the time zone of the writer, and prove nothing.
- The bucket of a file is that of all its values, under the partition spec of the file only.
- If a column's type has changed, partition values may have been computed from the old type: then only statistics count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

from .buckets import bucket, is_reliable
from .files import ColumnFilter, ColumnRange, ColumnStats
from .leaf_types import Encoding, leaf_type
from .partitioning import bucket_count
from .statistics import Value, decode, encode_plain, is_empty, outside
from .timestamps import DAY_NANOS, days_from_civil
from .types import decimal_parameters

_EXACT = Context(prec=80)
_HOUR_NANOS = DAY_NANOS // 24
_CALENDAR_PARTS = ("year", "month", "day", "hour")
_EXACT_TEXTS = (Encoding.BOOLEAN, Encoding.INTEGER, Encoding.DECIMAL, Encoding.DATE)


@dataclass(frozen=True)
class KeyValue:
    """The value of one partition key of one file, under the partition spec that the file was written with."""

    column_id: int
    transform: str
    value: str | None


def excluded(filter_: ColumnFilter, stats: ColumnStats, type_name: str) -> bool:
    """Whether the statistics of a file prove that no value of the column passes the filter."""
    counts_nulls = leaf_type(type_name).has_bounds  # of other types, not every writer counts the NULLs
    if filter_.nulls and (stats.null_count != 0 or not counts_nulls):
        return False
    return all(_misses(range_, stats, type_name) for range_ in filter_.ranges)


def excluded_by_partition(filter_: ColumnFilter, keys: Sequence[KeyValue], type_name: str, *, retyped: bool) -> bool:
    """Whether the partition values of a file prove that no value of the column passes the filter.

    Args:
        filter_: the filter of the column.
        keys: all partition keys of the file.
        type_name: the column's stored type.
        retyped: whether the column once had another type.
    """
    if retyped:
        return False
    own = [key for key in keys if key.column_id == filter_.column_id]
    if any(_excluded_by_key(filter_, key, type_name) for key in own):
        return True
    bounds = _calendar(own, type_name)
    return bounds is not None and excluded(filter_, bounds, type_name)


def _misses(range_: ColumnRange, stats: ColumnStats, type_name: str) -> bool:
    if range_.low is None and range_.high is None:
        return is_empty(stats, type_name)
    return outside(range_, stats, type_name)


def has_exact_texts(type_name: str) -> bool:
    """Whether each value of the type has only one text as a partition value."""
    return type_name == "varchar" or leaf_type(type_name).encoding in _EXACT_TEXTS


def bucket_texts(filter_: ColumnFilter, type_name: str, count: int) -> list[str] | None:
    """Return the partition values of the buckets of all values that pass the filter.

    The result is None if the filter has a range of more than one value, or if the type's buckets prove nothing (see `is_reliable`).
    """
    if not is_reliable(type_name):
        return None
    points = [_point(range_, type_name) for range_ in filter_.ranges]
    known = [point for point in points if point is not None]
    return [str(bucket(point, type_name, count)) for point in known] if len(known) == len(points) else None


def _excluded_by_key(filter_: ColumnFilter, key: KeyValue, type_name: str) -> bool:
    count = bucket_count(key.transform)
    if not has_exact_texts(type_name) or (count is None and key.transform != "identity"):
        return False
    if key.value is None:  # some writers store the text '' as NULL
        return not filter_.nulls and type_name != "varchar"
    if count is None:
        return excluded(filter_, ColumnStats(filter_.column_id, None, 1, 0, key.value, key.value), type_name)
    texts = bucket_texts(filter_, type_name, count)
    return texts is not None and key.value not in texts


def _point(range_: ColumnRange, type_name: str) -> Value | None:
    """Return the value to hash of a range that contains only one value, else None."""
    if range_.low is None or range_.low != range_.high:
        return None
    value = decode(type_name, range_.low)
    parameters = decimal_parameters(type_name)
    if parameters is not None and value is not None and not isinstance(value, bytes):
        scaled = Decimal(value).scaleb(parameters[1], _EXACT)
        value = int(scaled) if scaled == int(scaled) else None
    is_too_long = isinstance(value, int) and not -(2**63) <= value < 2**63  # no value of a file equals it
    return None if is_too_long or isinstance(value, Decimal) else value


def _calendar(keys: Sequence[KeyValue], type_name: str) -> ColumnStats | None:
    """Return the bounds from the parts year, month, day, hour of one column; None without a year or if a part is not a number.

    A part that is NULL proves nothing, because it may mean NULL or infinity.
    """
    if type_name == "timestamptz" or not leaf_type(type_name).is_dated:
        return None
    parts = {key.transform: key.value for key in keys if key.transform in _CALENDAR_PARTS}
    known = []
    for name in _CALENDAR_PARTS:
        text = parts.get(name)
        if text is None:
            break
        if not text.isdecimal():
            return None
        known.append(int(text))
    if any(value is None for value in parts.values()) or not known or not 1 <= known[0] <= 9999:
        return None
    try:
        first, last = _span(known)
    except ValueError:
        return None
    if type_name == "timestamp_ns":
        first -= 999  # DuckDB computes the parts from microseconds, and rounds towards 1970
    if type_name == "date":
        first, last = first // DAY_NANOS, last // DAY_NANOS
    return ColumnStats(keys[0].column_id, None, None, 0, encode_plain(first, type_name), encode_plain(last, type_name))


def _span(parts: Sequence[int]) -> tuple[int, int]:
    """Return the first and last nanosecond of a year, month, day or hour."""
    year, *smaller = parts
    if any(not least <= part <= most for part, (least, most) in zip(smaller, ((1, 12), (1, 31), (0, 23)), strict=False)):
        raise ValueError(f"{parts} is not a date")
    match smaller:
        case []:
            return days_from_civil(year, 1, 1) * DAY_NANOS, days_from_civil(year + 1, 1, 1) * DAY_NANOS - 1
        case [month]:
            following = days_from_civil(year + month // 12, month % 12 + 1, 1)
            return days_from_civil(year, month, 1) * DAY_NANOS, following * DAY_NANOS - 1
        case [month, day]:
            start = days_from_civil(year, month, day) * DAY_NANOS
            return start, start + DAY_NANOS - 1
    month, day, hour = smaller
    start = days_from_civil(year, month, day) * DAY_NANOS + hour * _HOUR_NANOS
    return start, start + _HOUR_NANOS - 1
