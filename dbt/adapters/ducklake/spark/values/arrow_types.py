"""Convert columns of a lake to Arrow types, with the same physical types as Spark and field ids on every node."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ...errors import StatementError
from ...format.files import ARROW_FIELD_ID
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ...format.types import decimal_parameters

_BY_SPARK_TYPE: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "decimal(20,0)": pa.decimal128(20, 0),
    "decimal(38,0)": pa.decimal128(38, 0),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time(6)": pa.time64("us"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "variant": pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]),
}


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of a file with `columns`.

    Raises:
        StatementError: PyArrow cannot write a column's type.
    """
    return pa.schema([arrow_field(column) for column in columns])


def arrow_field(column: Column) -> pa.Field:
    """Return the Arrow field of a column or nested field, with its field id.

    Raises:
        StatementError: PyArrow cannot write the type.
    """
    metadata = {ARROW_FIELD_ID: str(column.column_id).encode()}
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
    if column.type == "timestamp_ns":  # not in the table by Spark types, because it is a string in Spark
        return pa.timestamp("ns")
    found = _BY_SPARK_TYPE.get(leaf_type(column.type).spark)
    if found is None:
        raise StatementError(
            f"column {column.name} is a {column.type}, which cannot be written without Spark: insert its rows with a query"
        )
    return found
