"""Convert columns of a lake to Arrow types, with the same physical types as Spark and field ids on every node."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ...errors import StatementError
from ...format.objects import Column
from ...format.types import decimal_parameters

FIELD_ID = b"PARQUET:field_id"
"""The key in a field's metadata where PyArrow's Parquet writer expects the field id."""

_LEAVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "int128": pa.decimal128(38, 0),
    "uint8": pa.int16(),
    "uint16": pa.int32(),
    "uint32": pa.int64(),
    "uint64": pa.decimal128(20, 0),
    "uint128": pa.decimal128(38, 0),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamp_s": pa.timestamp("us"),
    "timestamp_ms": pa.timestamp("us"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "blob": pa.binary(),
    "geometry": pa.binary(),
    "variant": pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]),
}
_TEXTS = frozenset({"varchar", "json", "uuid", "interval", "timetz", "time_ns", "unknown"})


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of a file with `columns`.

    Raises:
        StatementError: PyArrow cannot write a column's type.
    """
    return pa.schema([arrow_field(column) for column in columns])


def arrow_field(column: Column) -> pa.Field:
    """Convert a column or nested field, with its field id."""
    metadata = {FIELD_ID: str(column.column_id).encode()}
    return pa.field(column.name, arrow_type(column), True, metadata)


def arrow_type(column: Column) -> pa.DataType:
    """Return the Arrow type of a column.

    Raises:
        StatementError: PyArrow cannot write the type.
    """
    match column.type, column.children:
        case "list", (element,):
            return pa.list_(arrow_field(element))
        case "map", (key, value):
            return pa.map_(arrow_field(key).with_nullable(False), arrow_field(value))
        case "struct", children:
            return pa.struct([arrow_field(child) for child in children])
    parameters = decimal_parameters(column.type)
    if parameters is not None:
        return pa.decimal128(*parameters)
    if column.type in _TEXTS:
        return pa.string()
    if column.type not in _LEAVES:
        raise StatementError(
            f"column {column.name} is a {column.type}, which cannot be written without Spark: insert its rows with a query"
        )
    return _LEAVES[column.type]
