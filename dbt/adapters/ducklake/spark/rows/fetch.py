"""Fetch the rows of a DataFrame to the driver as Python values, or compute them without keeping them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, CalendarIntervalType, DataType, MapType, StructField, StructType, VariantType

from ...errors import DataError, StatementError
from ..values.types import contains_type, type_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DAY = {"us": 86_400_000_000, "ns": 86_400_000_000_000}
"""The length of a day, in each unit of Arrow's 64-bit times."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The days of Python's first and last date, 0001-01-01 and 9999-12-31, counted from 1970-01-01."""


def fetch(frame: DataFrame, limit: int | None = None) -> list[tuple[Any, ...]]:
    """Return all rows, or at most `limit`.

    Values of Spark's type TIMESTAMP are aware datetimes in UTC, structs are dicts, maps are lists of pairs, and columns that contain
    variants are JSON strings.

    Raises:
        DataError: Python cannot represent a value: the TIME 24:00:00, or a date or timestamp outside the years 1 to 9999. The message names
            the column.
        StatementError: a struct has two fields with the same name.
    """
    frame = _fetchable(frame)
    if limit is not None:
        frame = frame.limit(limit)
    try:
        table = frame.toArrow()
    except UnsupportedOperationException as error:
        raise StatementError("a struct in the result has two fields with the same name; rename one of them") from error
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks:
            _require_python_values(name, chunk)
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def discard(frame: DataFrame) -> None:
    """Compute all rows and columns, and keep none of them."""
    names = [f"c{number}" for number in range(len(frame.columns))]
    writable = frame.toDF(*names)  # two columns can have the same name
    intervals = {field.name for field in writable.schema.fields if contains_type(field.dataType, (CalendarIntervalType,))}
    if intervals:  # no sink takes them
        writable = writable.select(*(F.col(name).cast("string") if name in intervals else name for name in names))
    writable.write.format("noop").mode("overwrite").save()


def _fetchable(frame: DataFrame) -> DataFrame:
    """Convert the columns whose values PySpark and PyArrow cannot fetch.

    Columns that contain variants become JSON, because Arrow has only their encoded bytes and Spark fails on NULL variants. The fields of
    structs that may be NULL may be NULL too, because PyArrow refuses a NULL struct of a type with a NOT NULL field.
    """
    converted: dict[int, Column] = {}
    for number, field in enumerate(frame.schema.fields):
        if contains_type(field.dataType, (VariantType,)):
            converted[number] = F.to_json(f"c{number}")
        elif _has_strict_part(field.dataType, field.nullable):
            converted[number] = F.col(f"c{number}").cast(_optional(field.dataType))
    if not converted:
        return frame
    names = [f"c{number}" for number in range(len(frame.columns))]
    numbered = frame.toDF(*names)  # two columns can have the same name
    return numbered.select(*(converted.get(number, name) for number, name in enumerate(names))).toDF(*frame.columns)


def _has_strict_part(type_: DataType, nullable: bool) -> bool:
    """Whether a value of the type, which is NULL only if `nullable`, can have a NULL struct with a field that is NOT NULL."""
    match type_:
        case StructType():
            return any((nullable and not field.nullable) or _has_strict_part(field.dataType, field.nullable) for field in type_.fields)
        case ArrayType():
            return _has_strict_part(type_.elementType, type_.containsNull)
        case MapType():
            return _has_strict_part(type_.keyType, False) or _has_strict_part(type_.valueType, type_.valueContainsNull)
    return False


def _optional(type_: DataType) -> DataType:
    """Return the type with fields, elements and values that may be NULL."""
    match type_:
        case StructType():
            return StructType([StructField(field.name, _optional(field.dataType)) for field in type_.fields])
        case ArrayType():
            return ArrayType(_optional(type_.elementType))
        case MapType():
            return MapType(_optional(type_.keyType), _optional(type_.valueType))
    return type_


def _require_python_values(name: str, values: pa.Array) -> None:
    """Raise DataError for values that Arrow cannot convert to Python values, and for 24:00:00, which it would convert to 00:00:00."""
    type_ = values.type
    if pa.types.is_time64(type_) and not _within(values.cast(pa.int64()), 0, _DAY[type_.unit] - 1):
        raise DataError(
            f"column {name} contains the TIME 24:00:00, which Python cannot represent and Spark cannot convert to text. Leave it out with "
            f"WHERE {name} <= TIME '23:59:59.999999', or read it with DuckDB"
        )
    if (pa.types.is_date32(type_) and not _within(values.cast(pa.int32()), _FIRST_DAY, _LAST_DAY)) or (
        pa.types.is_timestamp(type_) and not _within(values.cast(pa.int64()), _FIRST_DAY * _DAY["us"], (_LAST_DAY + 1) * _DAY["us"] - 1)
    ):
        kind = "date" if pa.types.is_date32(type_) else "timestamp"
        raise DataError(
            f"column {name} contains a {kind} outside the years 1 to 9999, such as infinity, which Python cannot represent. "
            f"Select CAST({name} AS STRING), or read it with DuckDB"
        )
    if pa.types.is_map(type_):
        _require_python_values(name, values.keys)
        _require_python_values(name, values.items)
    elif pa.types.is_list(type_):
        _require_python_values(name, values.flatten())
    elif pa.types.is_struct(type_):
        for field in values.flatten():
            _require_python_values(name, field)


def _within(values: pa.Array, least: int, greatest: int) -> bool:
    """Whether all values that are not NULL are from `least` to `greatest`, both included."""
    found = pc.min_max(values).as_py()
    return found["min"] is None or (found["min"] >= least and found["max"] <= greatest)


def with_line(frame: DataFrame, text: str) -> DataFrame:
    """Append a line to each value of a frame's only column, such as the plan that EXPLAIN returns."""
    name = frame.columns[0]
    return frame.select(F.concat(F.col(name), F.lit(f"\n{text}\n")).alias(name))


def column_types(frame: DataFrame) -> list[tuple[str, str]]:
    """Return (name, Spark's name of its type) for each column."""
    return [(field.name, type_text(field.dataType)) for field in frame.schema.fields]
