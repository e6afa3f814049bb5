"""The size of a MERGE source and the ranges of its keys, which limit the scan of the target: measured by Spark, or in fetched rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...format.files import ColumnFilter
from ...format.identifiers import backquoted, fold
from ...format.objects import Column
from ...format.statistics import encode_plain
from .conform import is_changed_when_stored
from .types import spark_type

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
"""Types with the same text form and order in Spark, in column statistics and in literals. Floats are not, because of NaN and -0.0."""

_TEXTS = (T.StringType, T.BinaryType)
_KEY = "_ducklake_key"
_TEXT = "_ducklake_key_text"


@dataclass(frozen=True)
class KeyRange:
    """The minimum and maximum of a key, in Spark's text form.

    Timestamps with a time zone are microseconds since 1970, because their text form would depend on the session's time zone, and would be
    ambiguous when daylight saving time ends.
    """

    column: Column
    low: str
    high: str

    def column_filter(self) -> ColumnFilter:
        """Return the same range in the encoding of column statistics."""
        if self.column.type == "timestamptz":
            nanos = (int(micros) * 1000 for micros in (self.low, self.high))
            low, high = (encode_plain(value, self.column.type) for value in nanos)
            return ColumnFilter.between(self.column.column_id, low, high)
        return ColumnFilter.between(self.column.column_id, self.low, self.high)


@dataclass(frozen=True)
class Measured:
    """The size of a source and the ranges of its keys."""

    rows: int
    text_bytes: int
    """The size in bytes of its strings and binary values, without nested ones and those in columns that share a name."""
    ranges: list[KeyRange]
    """The range of each key that has values other than NULL."""


def measure(source: DataFrame, alias: str, keys: Sequence[tuple[Column, str]]) -> Measured:
    """Measure a source in one Spark job.

    Args:
        source: the rows.
        alias: the alias of `source` in the keys.
        keys: (target column, SQL over `alias` that must equal it); see `usable_keys`.
    """
    aliased = source.alias(alias)
    usable = usable_keys(aliased, keys)
    repetitions = Counter(fold(field.name) for field in source.schema.fields)
    texts = [field.name for field in source.schema.fields if isinstance(field.dataType, _TEXTS) and repetitions[fold(field.name)] == 1]
    lengths = [F.coalesce(F.octet_length(backquoted(name)).cast("bigint"), F.lit(0)) for name in texts]
    aggregates = [F.count(F.lit(1)), F.sum(reduce(add, lengths, F.lit(0)))]
    for column, key in usable:
        aggregates += [F.expr(_text_form(column, bound)) for bound in (f"min({key})", f"max({key})")]
    row = aliased.agg(*aggregates).collect()[0]
    bounds = [(column, row[2 + 2 * i], row[3 + 2 * i]) for i, (column, _) in enumerate(usable)]
    return Measured(int(row[0]), int(row[1] or 0), [KeyRange(column, low, high) for column, low, high in bounds if low is not None])


def usable_keys(aliased: DataFrame, keys: Sequence[tuple[Column, str]]) -> list[tuple[Column, str]]:
    """Return the keys whose ranges can limit a scan.

    Left out are keys whose type is not exactly that of the column, because their order could differ, and those whose values change when
    they are stored.

    Args:
        aliased: the source, under its alias.
        keys: (target column, SQL over the alias that must equal it).
    """
    usable = []
    for column, key in keys:
        expected = spark_type(column)
        if (
            not is_changed_when_stored(column)
            and isinstance(expected, _ORDERED)
            and aliased.selectExpr(key).schema.fields[0].dataType == expected
        ):
            usable.append((column, key))
    return usable


def key_columns(usable: Sequence[tuple[Column, str]]) -> list[str]:
    """Return SQL for the columns that `ranges_of` needs: each key and its text form."""
    return [
        expression
        for i, (column, key) in enumerate(usable)
        for expression in (f"({key}) AS {_KEY}{i}", f"{_text_form(column, f'({key})')} AS {_TEXT}{i}")
    ]


def key_names(usable: Sequence[tuple[Column, str]]) -> list[str]:
    """Return the names of the columns of `key_columns`."""
    return [name for i in range(len(usable)) for name in (f"{_KEY}{i}", f"{_TEXT}{i}")]


def value_names(usable: Sequence[tuple[Column, str]]) -> list[str]:
    """Return the names of those columns of `key_columns` that are the keys themselves."""
    return [f"{_KEY}{i}" for i in range(len(usable))]


def ranges_of(rows: pa.Table, usable: Sequence[tuple[Column, str]]) -> list[KeyRange]:
    """Return the range of each key that has values other than NULL, in fetched rows with the columns of `key_columns`."""
    ranges = []
    for i, (column, _) in enumerate(usable):
        values, texts = rows.column(f"{_KEY}{i}"), rows.column(f"{_TEXT}{i}")
        value_count = len(values) - values.null_count
        if value_count:
            order = pc.array_sort_indices(values.combine_chunks())
            ranges.append(KeyRange(column, texts[order[0].as_py()].as_py(), texts[order[value_count - 1].as_py()].as_py()))
    return ranges


def _text_form(column: Column, value: str) -> str:
    """Return SQL for the text form of a value, see `KeyRange`."""
    return f"CAST({f'unix_micros({value})' if column.type == 'timestamptz' else value} AS STRING)"


def filter_to_ranges(frame: DataFrame, ranges: Sequence[KeyRange]) -> DataFrame:
    """Return the rows of `frame` whose keys are in the ranges."""
    for key_range in ranges:
        column = key_range.column
        if column.type == "timestamptz":
            low, high = (F.timestamp_micros(F.lit(int(micros))) for micros in (key_range.low, key_range.high))
        else:
            low, high = (F.lit(text).cast(spark_type(column)) for text in (key_range.low, key_range.high))
        frame = frame.where(F.col(backquoted(column.name)).between(low, high))
    return frame
