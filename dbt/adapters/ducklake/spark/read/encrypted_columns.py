"""How DuckDB reads the columns of an encrypted file: SQL that gives the types which Spark's Parquet reader would give.

Fields match by field id, or by name in files with a name mapping, as in `reading`, which decides what is requested. Types that DuckDB shows
in another form, such as a UUID, become what the file stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import types as T

from ...format.identifiers import double_quoted, duckdb_literal
from ..files.physical import FileField, field_by_id, field_by_name
from ..values.types import FIELD_ID

_SIMPLE: dict[type[T.DataType], tuple[str, pa.DataType]] = {
    T.BooleanType: ("BOOLEAN", pa.bool_()),
    T.ByteType: ("TINYINT", pa.int8()),
    T.ShortType: ("SMALLINT", pa.int16()),
    T.IntegerType: ("INTEGER", pa.int32()),
    T.LongType: ("BIGINT", pa.int64()),
    T.FloatType: ("FLOAT", pa.float32()),
    T.DoubleType: ("DOUBLE", pa.float64()),
    T.DateType: ("DATE", pa.date32()),
    T.TimestampType: ("TIMESTAMP WITH TIME ZONE", pa.timestamp("us", "UTC")),
    T.TimestampNTZType: ("TIMESTAMP", pa.timestamp("us")),
    T.StringType: ("VARCHAR", pa.string()),
    T.BinaryType: ("BLOB", pa.binary()),
}
"""Spark type → the type to which DuckDB casts, and the Arrow type."""
_VARIANT = pa.struct([pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})])
_BYTE = "(({part}) >> {shift}) & 255"


def select_list(fields: Sequence[T.StructField], schema: Sequence[FileField]) -> str:
    """Return SQL for the requested columns of a file with this schema; a column that the file does not have is NULL."""
    return ", ".join(_requested(field, schema, double_quoted) for field in fields)


def arrow_schema(fields: Sequence[T.StructField]) -> pa.Schema:
    """Return the Arrow types for columns of these Spark types."""
    return pa.schema([pa.field(field.name, _arrow_type(field.dataType)) for field in fields])


def _arrow_type(type_: T.DataType) -> pa.DataType:
    match type_:
        case T.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case T.ArrayType():
            return pa.list_(pa.field("element", _arrow_type(type_.elementType)))
        case T.MapType():
            return pa.map_(_arrow_type(type_.keyType), _arrow_type(type_.valueType))
        case T.StructType():
            return pa.struct([pa.field(field.name, _arrow_type(field.dataType)) for field in type_.fields])
        case T.VariantType():
            return _VARIANT
    if type(type_) in _SIMPLE:
        return _SIMPLE[type(type_)][1]
    assert type_.simpleString().startswith("time(")
    return pa.time64("ns")


def _duckdb_type(type_: T.DataType) -> str:
    """Return the DuckDB type from which PyArrow casts to the Arrow type."""
    match type_:
        case T.DecimalType():
            return f"DECIMAL({type_.precision}, {type_.scale})"
        case T.ArrayType():
            return f"{_duckdb_type(type_.elementType)}[]"
        case T.MapType():
            return f"MAP({_duckdb_type(type_.keyType)}, {_duckdb_type(type_.valueType)})"
        case T.StructType():
            return f"STRUCT({', '.join(f'{double_quoted(field.name)} {_duckdb_type(field.dataType)}' for field in type_.fields)})"
        case T.VariantType():
            return "STRUCT(value BLOB, metadata BLOB)"
    return _SIMPLE[type(type_)][0] if type(type_) in _SIMPLE else "TIME"


def _requested(field: T.StructField, schema: Sequence[FileField], sql_of: Callable[[str], str], depth: int = 0) -> str:
    """Return SQL for a field; `sql_of` returns the SQL for the file's field of a name at this level."""
    field_id = field.metadata.get(FIELD_ID)
    found = field_by_name(schema, field.name) if field_id is None else field_by_id(schema, field_id)
    if found is None:
        return f"CAST(NULL AS {_duckdb_type(field.dataType)})"
    return _value(found, sql_of(found.name), field.dataType, depth)


def _value(field: FileField, sql: str, wanted: T.DataType, depth: int) -> str:
    item = f"e{depth}"
    match wanted:
        case T.StructType():
            inner = [
                _requested(each, field.children, lambda name: f"struct_extract({sql}, {duckdb_literal(name)})", depth)
                for each in wanted.fields
            ]
            parts = [f"{double_quoted(each.name)} := {value}" for each, value in zip(wanted.fields, inner, strict=True)]
            return f"CASE WHEN {sql} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
        case T.ArrayType():
            return f"list_transform({sql}, lambda {item}: {_value(field.children[0], item, wanted.elementType, depth + 1)})"
        case T.MapType():
            key, value = field.children
            # not `e0.key`, which would be the field of a column named e0
            key_sql = _value(key, f"struct_extract({item}, 'key')", wanted.keyType, depth + 1)
            value_sql = _value(value, f"struct_extract({item}, 'value')", wanted.valueType, depth + 1)
            pair = f"struct_pack(k := {key_sql}, v := {value_sql})"
            return f"CASE WHEN {sql} IS NOT NULL THEN map_from_entries(list_transform(map_entries({sql}), lambda {item}: {pair})) END"
    return _leaf(field.kind, sql, wanted)


def _leaf(kind: str, sql: str, wanted: T.DataType) -> str:
    match wanted, kind:
        case T.VariantType(), _:
            return f"variant_to_parquet_variant({sql})"
        case T.BinaryType(), "uuid":
            return f"unhex(replace(CAST({sql} AS VARCHAR), '-', ''))"
        case T.BinaryType(), "interval":
            return _interval(sql)
        case T.BinaryType(), "geometry":
            return f"ST_AsWKB({sql})"
        case T.BinaryType(), "string" | "json":
            return f"encode(CAST({sql} AS VARCHAR))"
        case T.StringType(), "binary":
            return f"decode({sql})"
        case T.LongType(), _ if kind.startswith("time("):
            return f"epoch_us(CAST({sql} AS TIME))"
        case T.LongType(), _ if kind.endswith("(nanos)"):
            return f"epoch_ns({sql})"
    return f"CAST({sql} AS {_duckdb_type(wanted)})"


def _interval(sql: str) -> str:
    """Return SQL for the bytes of an interval in a file: months, days and milliseconds, as little-endian numbers of four bytes."""
    parts = (
        f"12 * date_part('year', {sql}) + date_part('month', {sql})",
        f"date_part('day', {sql})",
        f"3600000 * date_part('hour', {sql}) + 60000 * date_part('minute', {sql}) + date_part('millisecond', {sql})",
    )
    values = ", ".join(_BYTE.format(part=part, shift=shift) for part in parts for shift in (0, 8, 16, 24))
    return f"unhex(format('{'{:02X}' * 12}', {values}))"
