"""Bringing the rows of a DataFrame to the driver as Python values."""

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
"""How long a day is, in the units of Arrow's 64-bit times."""


def fetch(frame: DataFrame, limit: int | None = None) -> list[tuple[Any, ...]]:
    """At most `limit` rows. Timestamps are aware (UTC) where the type has a time zone, structs are dicts, maps lists of pairs.

    Raises:
        DataError: a TIME is 24:00:00, which Python does not have; the text names the column.
    """
    if limit is not None:
        frame = frame.limit(limit)
    try:
        table = frame.toArrow()
    except (PySparkNotImplementedError, UnsupportedOperationException):
        return [tuple(row) for row in frame.collect()]  # types that Arrow does not carry: variant, year-month interval
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks:
            _require_times_of_day(name, chunk)
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _require_times_of_day(name: str, values: pa.Array) -> None:
    """Refuse 24:00:00, which Arrow would give to Python as 00:00:00."""
    type_ = values.type
    if pa.types.is_time64(type_):
        latest = pc.max(values.cast(pa.int64())).as_py()
        if latest is not None and latest >= _DAY[type_.unit]:
            raise DataError(
                f"column {name} holds the TIME 24:00:00, which Python and Spark's texts do not have. Leave it out with "
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
    """The only column of a frame with a text added to its values, as EXPLAIN gives a plan."""
    name = frame.columns[0]
    return frame.select(F.concat(F.col(name), F.lit(f"\n{text}\n")).alias(name))


def column_types(frame: DataFrame) -> list[tuple[str, str]]:
    """(name, type as Spark names it) of each column."""
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
