"""Bringing the rows of a DataFrame to the driver as Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkNotImplementedError, UnsupportedOperationException
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fetch(frame: DataFrame, limit: int | None = None) -> list[tuple[Any, ...]]:
    """At most `limit` rows. Timestamps are aware (UTC) where the type has a time zone, structs are dicts, maps lists of pairs."""
    if limit is not None:
        frame = frame.limit(limit)
    try:
        table = frame.toArrow()
    except (PySparkNotImplementedError, UnsupportedOperationException):
        return [tuple(row) for row in frame.collect()]  # types that Arrow does not carry: variant, year-month interval
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def with_line(frame: DataFrame, text: str) -> DataFrame:
    """The only column of a frame with a text added to its values, as EXPLAIN gives a plan."""
    name = frame.columns[0]
    return frame.select(F.concat(F.col(name), F.lit(f"\n{text}\n")).alias(name))


def column_types(frame: DataFrame) -> list[tuple[str, str]]:
    """(name, type as Spark names it) of each column."""
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
