"""The size of a source and the range of its keys, in one pass."""

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
"""Types whose text and order are the same for Spark, for column statistics and for a literal. Floats are not: NaN and -0.0."""


@dataclass(frozen=True)
class KeyRange:
    """The least and greatest value of a key as Spark's text of it; of an instant, as microseconds since 1970.

    The text of an instant would depend on the time zone of the session, and in autumn be that of two instants.
    """

    column: Column
    low: str
    high: str

    def column_filter(self) -> ColumnFilter:
        """The same range in the encoding of column statistics."""
        if self.column.type == "timestamptz":
            low, high = (encode_plain(int(micros) * 1000, self.column.type) for micros in (self.low, self.high))
            return ColumnFilter.between(self.column.column_id, low, high)
        return ColumnFilter.between(self.column.column_id, self.low, self.high)


def measure(source: DataFrame, alias: str, keys: Sequence[tuple[Column, str]]) -> tuple[int, list[KeyRange]]:
    """The number of rows of `source`, and the range of each key that has one.

    Args:
        keys: (target column, SQL over `alias` that it must equal). A key whose type is not exactly the column's is left out: its order
            could be another one, and so is a UUID, whose text has two forms in Spark and one order in the statistics.
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
    """The rows of `frame` whose keys lie in the ranges."""
    for key in ranges:
        kind = struct_type([key.column], ids=False).fields[0].dataType
        if key.column.type == "timestamptz":
            low, high = (F.timestamp_micros(F.lit(int(micros))) for micros in (key.low, key.high))
        else:
            low, high = F.lit(key.low).cast(kind), F.lit(key.high).cast(kind)
        frame = frame.where(F.col(backquoted(key.column.name)).between(low, high))
    return frame
