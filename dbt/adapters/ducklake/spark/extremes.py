"""The size of a source and the range of its keys, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..spec.files import ColumnRange
from ..spec.identifiers import backquoted
from ..spec.objects import Column
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
    """The least and greatest value of a key as Spark's text of it; both None if no row has one."""

    column: Column
    low: str | None
    high: str | None

    def column_range(self) -> ColumnRange:
        """The same range in the encoding of column statistics."""
        zone = "+00" if self.column.type == "timestamptz" else ""
        return ColumnRange(
            self.column.column_id,
            None if self.low is None else self.low + zone,
            None if self.high is None else self.high + zone,
        )


def measure(source: DataFrame, alias: str, keys: Sequence[tuple[Column, str]]) -> tuple[int, list[KeyRange]]:
    """The number of rows of `source`, and the range of each key that has one.

    Args:
        keys: (target column, SQL over `alias` that it must equal). A key whose type is not exactly the column's is left out: its order
            could be another one.
    """
    aliased = source.alias(alias)
    usable = []
    for column, text in keys:
        expected = struct_type([column], ids=False).fields[0].dataType
        if isinstance(expected, _ORDERED) and aliased.select(F.expr(text)).schema.fields[0].dataType == expected:
            usable.append((column, text))
    wanted = [F.count(F.lit(1))]
    for _, text in usable:
        wanted += [F.min(F.expr(text)).cast("string"), F.max(F.expr(text)).cast("string")]
    row = aliased.agg(*wanted).collect()[0]
    ranges = [KeyRange(column, row[1 + 2 * i], row[2 + 2 * i]) for i, (column, _) in enumerate(usable)]
    return int(row[0]), [key for key in ranges if key.low is not None]


def within(frame: DataFrame, ranges: Sequence[KeyRange]) -> DataFrame:
    """The rows of `frame` whose keys lie in the ranges."""
    for key in ranges:
        kind = struct_type([key.column], ids=False).fields[0].dataType
        column = F.col(backquoted(key.column.name))
        frame = frame.where(column.between(F.lit(key.low).cast(kind), F.lit(key.high).cast(kind)))
    return frame
