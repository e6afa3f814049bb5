"""Measure the number of rows of a source and the range of its keys, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...format.files import ColumnFilter
from ...format.identifiers import backquoted
from ...format.objects import Column
from ...format.statistics import encode_plain
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
"""Types with the same text form and order in Spark, in column statistics and in literals. Floats differ: NaN and -0.0."""


@dataclass(frozen=True)
class KeyRange:
    """The least and greatest value of a key in Spark's text form; for timestamps with a time zone, as microseconds since 1970.

    Their text form would depend on the session's time zone, and would be ambiguous when daylight saving time ends.
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


def measure(source: DataFrame, alias: str, keys: Sequence[tuple[Column, str]]) -> tuple[int, list[KeyRange]]:
    """Return the number of rows of `source`, and the range of each key that has values other than NULL.

    Args:
        source: the rows.
        alias: the alias of `source` in the keys.
        keys: (target column, SQL over `alias` that must equal it). Left out are keys whose type is not exactly the column's, because their
            order could differ, and UUIDs, whose text can be in upper or lower case in Spark.
    """
    aliased = source.alias(alias)
    usable = []
    for column, text in keys:
        expected = struct_type([column], ids=False).fields[0].dataType
        if column.type != "uuid" and isinstance(expected, _ORDERED) and aliased.select(F.expr(text)).schema.fields[0].dataType == expected:
            usable.append((column, text))
    wanted = [F.count(F.lit(1))]
    for column, text in usable:
        ends = [F.min(F.expr(text)), F.max(F.expr(text))]
        wanted += [(F.unix_micros(end) if column.type == "timestamptz" else end).cast("string") for end in ends]
    row = aliased.agg(*wanted).collect()[0]
    ends_of = [(column, row[1 + 2 * i], row[2 + 2 * i]) for i, (column, _) in enumerate(usable)]
    return int(row[0]), [KeyRange(column, low, high) for column, low, high in ends_of if low is not None]


def within(frame: DataFrame, ranges: Sequence[KeyRange]) -> DataFrame:
    """Return the rows of `frame` whose keys are in the ranges."""
    for key in ranges:
        kind = struct_type([key.column], ids=False).fields[0].dataType
        if key.column.type == "timestamptz":
            low, high = (F.timestamp_micros(F.lit(int(micros))) for micros in (key.low, key.high))
        else:
            low, high = F.lit(key.low).cast(kind), F.lit(key.high).cast(kind)
        frame = frame.where(F.col(backquoted(key.column.name)).between(low, high))
    return frame
