"""Fetch the rows of a DataFrame to the driver as Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkNotImplementedError, UnsupportedOperationException
from pyspark.sql import functions as F

from ...errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DAY = {"us": 86_400_000_000, "ns": 86_400_000_000_000}
"""The length of a day in the units of Arrow's 64-bit times."""


def fetch(frame: DataFrame, limit: int | None = None) -> list[tuple[Any, ...]]:
    """Return all rows, or at most `limit`.

    Timestamps of types with a time zone are aware (UTC), structs are dicts, maps are lists of pairs.

    Raises:
        DataError: a TIME is 24:00:00, which Python cannot represent; the message names the column.
    """
    if limit is not None:
        frame = frame.limit(limit)
    try:
        table = frame.toArrow()
    except (PySparkNotImplementedError, UnsupportedOperationException):
        return [tuple(row) for row in frame.collect()]  # types without an Arrow equivalent: variant, year-month interval
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks:
            _require_times_of_day(name, chunk)
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _require_times_of_day(name: str, values: pa.Array) -> None:
    """Refuse 24:00:00, which Arrow would convert to 00:00:00 for Python."""
    type_ = values.type
    if pa.types.is_time64(type_):
        latest = pc.max(values.cast(pa.int64())).as_py()
        if latest is not None and latest >= _DAY[type_.unit]:
            raise DataError(
                f"column {name} holds the TIME 24:00:00, which Python cannot represent and Spark cannot convert to text. Leave it out with "
                f"WHERE {name} <= TIME '23:59:59.999999', or read it with DuckDB"
            )
    elif pa.types.is_map(type_):
        _require_times_of_day(name, values.keys)
        _require_times_of_day(name, values.items)
    elif pa.types.is_list(type_):
        _require_times_of_day(name, values.flatten())
    elif pa.types.is_struct(type_):
        for field in values.flatten():
            _require_times_of_day(name, field)


def with_line(frame: DataFrame, text: str) -> DataFrame:
    """Append a line of text to the values of a frame's only column, such as the plan in the result of EXPLAIN."""
    name = frame.columns[0]
    return frame.select(F.concat(F.col(name), F.lit(f"\n{text}\n")).alias(name))


def column_types(frame: DataFrame) -> list[tuple[str, str]]:
    """Return (name, Spark's name of the type) of each column."""
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
