"""Convert the column types of a lake to Spark types and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyspark
from pyspark.sql import types as T

from ...errors import ConfigurationError, StatementError
from ...format.leaf_types import LEAF_TYPES
from ...format.objects import Column
from ...format.types import DataType, Field, decimal, decimal_parameters, field_name, spark_name
from ...format.types import data_type_of as type_of_column

FIELD_ID = "parquet.field.id"
"""The key in a StructField's metadata where Spark's Parquet reader and writer expect the field id."""


def struct_type(columns: Sequence[Column], *, ids: bool = True) -> T.StructType:
    """Return a struct of columns as a Spark type; with `ids`, each field has its field id for the Parquet reader and writer."""
    return T.StructType([T.StructField(c.name, spark_type(c, ids=ids), True, {FIELD_ID: c.column_id} if ids else None) for c in columns])


def spark_type(column: Column, *, ids: bool = False) -> T.DataType:
    """Return the Spark type of a column; with `ids`, fields of nested structs have their field ids."""
    match column.type, column.children:
        case "list", (element,):
            return T.ArrayType(spark_type(element, ids=ids), True)
        case "map", (key, value):
            return T.MapType(spark_type(key, ids=ids), spark_type(value, ids=ids), True)
        case "struct", children:
            return struct_type(children, ids=ids)
    return _leaf(spark_name(type_of_column(column)))


def type_text(type_: T.DataType) -> str:
    """Return Spark's name of a type as DDL text that can be parsed: names of fields have backquotes where needed, unlike `simpleString`."""
    match type_:
        case T.ArrayType():
            return f"array<{type_text(type_.elementType)}>"
        case T.MapType():
            return f"map<{type_text(type_.keyType)},{type_text(type_.valueType)}>"
        case T.StructType():
            return f"struct<{','.join(f'{field_name(field.name)}:{type_text(field.dataType)}' for field in type_.fields)}>"
    return type_.simpleString()


def contains_type(type_: T.DataType, kinds: tuple[type[T.DataType], ...]) -> bool:
    """Whether a type, or a type in it, is one of `kinds`."""
    match type_:
        case T.StructType():
            return any(contains_type(field.dataType, kinds) for field in type_.fields)
        case T.ArrayType():
            return contains_type(type_.elementType, kinds)
        case T.MapType():
            return contains_type(type_.keyType, kinds) or contains_type(type_.valueType, kinds)
    return isinstance(type_, kinds)


def file_type(column: Column) -> T.DataType:
    """Return the Spark type, with ids, of the values in a file: a timestamp_ns, a string in Spark, is stored as nanoseconds."""
    match column.type, column.children:
        case "list", (element,):
            return T.ArrayType(file_type(element), True)
        case "map", (key, value):
            return T.MapType(file_type(key), file_type(value), True)
        case "struct", children:
            return T.StructType([T.StructField(c.name, file_type(c), True, {FIELD_ID: c.column_id}) for c in children])
        case "timestamp_ns", _:
            return T.LongType()
    return spark_type(column)


def fields_of(schema: T.StructType) -> tuple[Field, ...]:
    """Return the fields of a table with this Spark schema. A column without a type (NULL) becomes varchar.

    Raises:
        StatementError: a lake cannot store the type of a column; the message names the column.
    """
    return tuple(_field(field, field.name) for field in schema.fields)


def data_type(type_: T.DataType, where: str) -> DataType:
    """Return the DuckLake type for values of a Spark type.

    Args:
        type_: the Spark type.
        where: the column, for the error message.

    Raises:
        StatementError: a lake cannot store the type.
    """
    match type_:
        case T.DecimalType():
            return decimal(type_.precision, type_.scale)
        case T.ArrayType():
            return DataType("list", (Field("element", data_type(type_.elementType, where)),))
        case T.MapType():
            key = Field("key", data_type(type_.keyType, where))
            return DataType("map", (key, Field("value", data_type(type_.valueType, where))))
        case T.StructType():
            if not type_.fields:
                raise StatementError(f"column {where} is a struct without fields, which a lake cannot store: add a field")
            return DataType("struct", tuple(_field(field, f"{where}.{field.name}") for field in type_.fields))
        case T.StringType() if getattr(type_, "collation", "UTF8_BINARY") != "UTF8_BINARY":
            raise StatementError(
                f"column {where} has the collation {type_.collation}, which a lake cannot store: CAST it to STRING COLLATE UTF8_BINARY"
            )
    name = _STORED.get(type(type_))
    if name is not None:
        return DataType(name)
    if type_.simpleString().startswith("time("):
        return DataType("time")
    raise StatementError(f"column {where} has the type {type_.simpleString()}, which a lake cannot store: CAST it, for example to STRING")


def _field(field: T.StructField, where: str) -> Field:
    """Convert a field of a Spark schema; `where` is its dotted name for the error message."""
    return Field(field.name, data_type(field.dataType, where), field.nullable, field.metadata.get("comment"))


@lru_cache(maxsize=1024)
def _leaf(name: str) -> T.DataType:
    """Return the Spark type with a name, for a type without nested fields; no JVM is needed.

    Raises:
        ConfigurationError: this PySpark does not have the type.
    """
    parameters = decimal_parameters(name)
    if parameters is not None:
        return T.DecimalType(*parameters)
    if name in _SINCE_4_1 and not _is_4_1_or_newer():
        raise ConfigurationError(
            f"A column of the type {_SINCE_4_1[name]} needs PySpark 4.1 or newer, and this is PySpark {pyspark.__version__}"
        )
    if name == "time(6)":
        return T.TimeType(6)
    return _SPARK_LEAVES[name]


def _is_4_1_or_newer() -> bool:
    """Whether this is PySpark 4.1 or newer."""
    major, minor = (int(part) for part in pyspark.__version__.split(".")[:2])
    return (major, minor) >= (4, 1)


_SINCE_4_1 = {"time(6)": "TIME", "variant": "VARIANT"}
"""Types that Spark 4.0 does not have, or cannot read: its Parquet reader fails at the footer of each file with a variant, its own too."""
_SPARK_LEAVES: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "tinyint": T.ByteType(),
    "smallint": T.ShortType(),
    "int": T.IntegerType(),
    "bigint": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "date": T.DateType(),
    "timestamp": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
    "string": T.StringType(),
    "binary": T.BinaryType(),
    "variant": T.VariantType(),
}
"""Spark's name of a type without parameters → the type."""
_STORED: dict[type[T.DataType], str] = {
    **{type(_SPARK_LEAVES[leaf.spark]): leaf.name for leaf in LEAF_TYPES.values() if leaf.is_native and leaf.spark in _SPARK_LEAVES},
    **dict.fromkeys((T.VarcharType, T.CharType, T.NullType), "varchar"),
}
"""Class of a Spark type without parts → the DuckLake type that its values are stored as."""
