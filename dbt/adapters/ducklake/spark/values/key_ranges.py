"""Measure the number of rows of a source and the range of its keys, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...format.files import ColumnFilter
from ...format.identifiers import backquoted
from ...format.objects import Column
from ...format.statistics import encode_plain
from .conform import is_changed_when_stored
from .types import struct_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ORDERED = (
    T.ByteType,
    T.ShortType,
    T.IntegerType,
    T.LongType,
    T.DecimalType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
    T.StringType,
)
"""Types with the same text form and order in Spark, in column statistics and in literals. Floats are left out: NaN and -0.0 differ."""

_KEY = "_ducklake_key"
_TEXT = "_ducklake_key_text"


@dataclass(frozen=True)
class KeyRange:
    """The least and greatest value of a key in Spark's text form.

    Timestamps with a time zone are microseconds since 1970. Their text form would depend on the session's time zone, and would be ambiguous
    when daylight saving time ends.
    """

    column: Column
    low: str
    high: str

    def column_filter(self) -> ColumnFilter:
        """Return the same range in the encoding of column statistics."""
        if self.column.type == "timestamptz":
            low, high = (encode_plain(int(micros) * 1000, self.column.type) for micros in (self.low, self.high))
            return ColumnFilter.between(self.column.column_id, low, high)
        return ColumnFilter.between(self.column.column_id, self.low, self.high)


def measure_key_ranges(source: DataFrame, alias: str, keys: Sequence[tuple[Column, str]]) -> tuple[int, list[KeyRange]]:
    """Return the number of rows of `source`, and the range of each key that has values other than NULL.

    Args:
        source: the rows.
        alias: the alias of `source` in the keys.
        keys: (target column, SQL over `alias` that must equal it); see `usable_keys`.
    """
    aliased = source.alias(alias)
    usable = usable_keys(aliased, keys)
    aggregates = [F.count(F.lit(1))]
    for column, text in usable:
        aggregates += [F.expr(_text_form(column, bound)) for bound in (f"min({text})", f"max({text})")]
    row = aliased.agg(*aggregates).collect()[0]
    bounds = [(column, row[1 + 2 * i], row[2 + 2 * i]) for i, (column, _) in enumerate(usable)]
    return int(row[0]), [KeyRange(column, low, high) for column, low, high in bounds if low is not None]


def usable_keys(aliased: DataFrame, keys: Sequence[tuple[Column, str]]) -> list[tuple[Column, str]]:
    """Return the keys whose ranges can limit a scan.

    Keys whose type is not exactly the column's are left out, because their order could differ, and those whose values change when they are
    stored.
    """
    usable = []
    for column, text in keys:
        expected = struct_type([column], ids=False).fields[0].dataType
        if (
            not is_changed_when_stored(column)
            and isinstance(expected, _ORDERED)
            and aliased.selectExpr(text).schema.fields[0].dataType == expected
        ):
            usable.append((column, text))
    return usable


def key_columns(usable: Sequence[tuple[Column, str]]) -> list[str]:
    """Return SQL for the columns that `ranges_of` needs: each key and its text form."""
    return [
        text
        for i, (column, key) in enumerate(usable)
        for text in (f"({key}) AS {_KEY}{i}", f"{_text_form(column, f'({key})')} AS {_TEXT}{i}")
    ]


def key_names(usable: Sequence[tuple[Column, str]]) -> list[str]:
    """Return the names of the columns of `key_columns`."""
    return [name for i in range(len(usable)) for name in (f"{_KEY}{i}", f"{_TEXT}{i}")]


def value_names(usable: Sequence[tuple[Column, str]]) -> list[str]:
    """Return the names of those columns of `key_columns` that are the keys themselves."""
    return [f"{_KEY}{i}" for i in range(len(usable))]


def ranges_of(rows: pa.Table, usable: Sequence[tuple[Column, str]]) -> list[KeyRange]:
    """Return the range of each key in fetched rows that have the columns of `key_columns`."""
    ranges = []
    for i, (column, _) in enumerate(usable):
        values, texts = rows.column(f"{_KEY}{i}"), rows.column(f"{_TEXT}{i}")
        value_count = len(values) - values.null_count
        if value_count:
            order = pc.array_sort_indices(values.combine_chunks())
            ranges.append(KeyRange(column, texts[order[0].as_py()].as_py(), texts[order[value_count - 1].as_py()].as_py()))
    return ranges


def _text_form(column: Column, value: str) -> str:
    return f"CAST({f'unix_micros({value})' if column.type == 'timestamptz' else value} AS STRING)"


def filter_to_ranges(frame: DataFrame, ranges: Sequence[KeyRange]) -> DataFrame:
    """Return the rows of `frame` whose keys are in the ranges."""
    for key in ranges:
        key_type = struct_type([key.column], ids=False).fields[0].dataType
        if key.column.type == "timestamptz":
            low, high = (F.timestamp_micros(F.lit(int(micros))) for micros in (key.low, key.high))
        else:
            low, high = F.lit(key.low).cast(key_type), F.lit(key.high).cast(key_type)
        frame = frame.where(F.col(backquoted(key.column.name)).between(low, high))
    return frame
