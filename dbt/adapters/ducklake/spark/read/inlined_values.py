"""Convert inlined values (see `files.InlinedRows`) to Arrow, with the types that a scan requests.

Dates and timestamps that Python cannot represent arrive as text and become numbers. Infinities become the numbers that DuckDB writes to
files.
"""

from __future__ import annotations

from datetime import time
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from ...format.objects import Column
from ...format.timestamps import parse_date, parse_time, parse_timestamp

_DAY_MICROS = 86_400_000_000
_EXACT = Context(prec=80)
"""Decimals have up to 38 digits, and Python's default context rounds to 28."""
_ARROW = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampNTZType: pa.timestamp("us"),
    T.TimestampType: pa.timestamp("us", tz="UTC"),
    T.VariantType: pa.struct([pa.field("value", pa.binary()), pa.field("metadata", pa.binary())]),
}


def arrow_type(type_: T.DataType) -> pa.DataType:
    """Return the Arrow type of the values that `to_arrow` returns for a Spark type.

    Raises:
        TypeError: values of the type are never inlined.
    """
    match type_:
        case T.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case T.ArrayType():
            return pa.list_(arrow_type(type_.elementType))
        case T.MapType():
            return pa.map_(arrow_type(type_.keyType), arrow_type(type_.valueType))
        case T.StructType():
            return pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in type_.fields])
    if type(type_).__name__ == "TimeType":
        return pa.time64("us")
    try:
        return _ARROW[type(type_)]
    except KeyError:
        raise TypeError(f"values of type {type_.simpleString()} cannot be inlined") from None


def to_arrow(value: Any, column: Column, old: Column, requested: T.DataType) -> Any:
    """Convert a value for Arrow.

    Args:
        value: the value as decoded by the catalog, of the type of `old`.
        column: the present column.
        old: the column when the value was written.
        requested: the Spark type of the result; structs have one field for each child of `column`.

    Raises:
        ValueError: Spark cannot represent the value.
    """
    if value is None:
        return None
    match requested:
        case T.ArrayType():
            child, old_child = column.children[0], old.children[0]
            return [to_arrow(item, child, old_child, requested.elementType) for item in value]
        case T.MapType():
            (key, item), (old_key, old_item) = column.children, old.children
            return [(to_arrow(k, key, old_key, requested.keyType), to_arrow(v, item, old_item, requested.valueType)) for k, v in value]
        case T.StructType():
            return _struct(value, column, old, requested)
    return _leaf(value, requested)


def _struct(value: Any, column: Column, old: Column, requested: T.StructType) -> dict[str, Any]:
    old_children = {child.column_id: child for child in old.children}
    converted: dict[str, Any] = {}
    for child, field in zip(column.children, requested.fields, strict=True):
        known = old_children.get(child.column_id)
        converted[field.name] = None if known is None else to_arrow(value.get(known.name), child, known, field.dataType)
    return converted


def _leaf(value: Any, requested: T.DataType) -> Any:
    if type(requested).__name__ == "TimeType":
        return _time_micros(value)
    match requested:
        case T.DecimalType():
            return _decimal(value, requested)
        case T.VariantType():
            return dict(zip(("value", "metadata"), value, strict=True))
        case T.DateType() if isinstance(value, str):
            return parse_date(value)
        case T.TimestampType() | T.TimestampNTZType() if isinstance(value, str):
            return _micros(value)
        case T.StringType() if not isinstance(value, str):
            return str(value)
    return value


def _decimal(value: Any, requested: T.DecimalType) -> Decimal:
    """Convert exactly; Arrow refuses a number with too many digits."""
    return Decimal(value).quantize(Decimal(1).scaleb(-requested.scale), context=_EXACT) if requested.scale else Decimal(int(value))


def _micros(text: str) -> int:
    """Return microseconds since 1970 in UTC."""
    nanos, offset = parse_timestamp(text)
    if nanos % 1000:
        raise ValueError(f"{text} has nanoseconds, which Spark's timestamps cannot represent")
    return nanos // 1000 - (offset or 0) * 1_000_000


def _time_micros(value: Any) -> int:
    nanos = parse_time(value.isoformat() if isinstance(value, time) else str(value))
    if nanos > _DAY_MICROS * 1000 or nanos % 1000:
        raise ValueError(f"{value} is not a time of day that Spark can represent")
    return nanos // 1000
