"""How a column of a leaf type is read: DuckLake type and stored type → the type to request from Spark, and the conversion from it.

Specification: the page "Data Types". The rules cover what the reference implementation writes, and the type changes that it allows.
"""

from __future__ import annotations

import re

from pyspark.sql import types as T

from ...format.leaf_types import leaf_type
from ...format.types import decimal_parameters
from ..files.physical import FileField
from ..values.conversions import Conversion, Refuse

_INTEGERS = ("int(8)", "int(16)", "int(32)", "int(64)", "uint(8)", "uint(16)", "uint(32)", "uint(64)")
_STRINGS = ("string", "json", "binary")
Request = tuple[T.DataType | None, Conversion]
"""The type to request from Spark's Parquet reader, None if the values cannot be read, and the conversion to the column's Spark type."""


def leaf_reading(kind: str, stored: str | None, spark_type: T.DataType, *, is_added: bool = False) -> Request:
    """Return the type to request for a column of a leaf type, and the conversion from it.

    Args:
        kind: the column's DuckLake type.
        stored: the type in the file, `FileField.kind` or for a variant `variant_kind`; None if the footer was not read, because all writers
            store the DuckLake type in the same way.
        spark_type: the column's Spark type.
        is_added: whether the file was added, so that its timestamps may be finer than the column's. DuckLake's writers round them.
    """
    if kind == "variant":
        return (spark_type, "variant_or_null") if stored in (None, "variant") else (None, Refuse(str(stored)))
    if stored is None:
        return spark_type, None
    for rule in (_rounded, _string, _number, _temporal) if is_added else (_string, _number, _temporal):
        request = rule(kind, stored, spark_type)
        if request is not None:
            return request
    return None, Refuse(stored)


def variant_kind(field: FileField) -> str:
    """Return `variant` if Spark can reassemble the values, otherwise the type of a shredded part from which it cannot.

    Timestamps in nanoseconds are such a type, because Spark reads them as numbers. A variant that is not stored as a struct has the type
    that is stored instead.
    """
    if field.kind != "struct":
        return field.kind
    parts, kinds = [child for child in field.children if child.name == "typed_value"], []
    while parts:
        part = parts.pop()
        parts += part.children
        kinds.append(part.kind)
    return next((kind for kind in kinds if kind not in _READABLE_PARTS and not kind.startswith("decimal(")), "variant")


def _string(kind: str, stored: str, spark_type: T.DataType) -> Request | None:
    """Return the request for a column that is a string or bytes in Spark, also of a type that Spark lacks; None if no rule applies."""
    if isinstance(spark_type, T.StringType):
        if stored in ("string", "json") or (stored == "binary" and leaf_type(kind).is_text):
            return spark_type, None
        match kind, stored:
            case "uuid", "uuid" | "fixed(16)" | "binary":
                return T.BinaryType(), "uuid_text"
            case "interval", "interval" | "fixed(12)":
                return T.BinaryType(), "interval_text"
            case "timetz", "time(micros)":
                return T.LongType(), "micros_to_zoned_time"
            case "timestamp_ns", "timestamp(nanos)":
                return T.LongType(), "nanos_to_text"
            case "timestamp_ns", "timestamp(micros)" | "timestamp(millis)":
                return T.TimestampNTZType(), "naive_to_text"
            case "timestamp_ns", "date":
                return T.DateType(), "date_to_text"
            case "timestamp_ns", "int96":
                return T.TimestampType(), "instant_to_text"
            case "varchar" | "unknown", _ if stored in _INTEGERS or stored == "boolean":
                return native_type(stored), "cast"
        return None
    if isinstance(spark_type, T.BinaryType) and (stored in _STRINGS or stored in ("geometry",) or stored.startswith("fixed(")):
        return spark_type, None
    return None


def _number(_kind: str, stored: str, spark_type: T.DataType) -> Request | None:
    """Return the request for a number or a boolean; None if no rule applies."""
    native = native_type(stored)
    if isinstance(spark_type, T.BooleanType):
        return (spark_type, None) if stored == "boolean" else None
    if not isinstance(spark_type, T.NumericType):
        return None
    if stored == "double" and isinstance(spark_type, T.DecimalType):  # DuckDB writes int128 as double; the column may be a decimal now
        return T.DoubleType(), "double_to_integer"
    if stored == "double" and isinstance(spark_type, T.FloatType):
        return T.DoubleType(), "cast"
    if native == spark_type or _reader_widens(stored, spark_type):
        return spark_type, None
    castable = stored in _INTEGERS or stored in ("boolean", "string", "float") or stored.startswith("decimal")
    return (native, "cast") if castable else None


def _reader_widens(stored: str, spark_type: T.DataType) -> bool:
    """Whether Spark's Parquet readers convert the type themselves, so that filters are still pushed down to the file."""
    if stored in ("int(8)", "int(16)", "int(32)"):
        return isinstance(spark_type, T.IntegerType | T.LongType)
    return stored == "float" and isinstance(spark_type, T.DoubleType)


def _rounded(kind: str, stored: str, spark_type: T.DataType) -> Request | None:
    """Return the request for a timestamp that may be finer than its column; None if no rule applies."""
    if not leaf_type(kind).is_coarse:
        return None
    if stored == "int96":
        return T.TimestampType(), f"instant_to_{kind}"
    return (spark_type, f"naive_to_{kind}") if stored in ("timestamp(millis)", "timestamp(micros)") else None


def _temporal(kind: str, stored: str, spark_type: T.DataType) -> Request | None:
    """Return the request for a date, time or timestamp; None if no rule applies."""
    if kind == "date":
        return (spark_type, None) if stored == "date" else None
    if kind == "time":
        if stored == "time(micros)":
            return spark_type, None
        return (T.StringType(), "cast") if stored == "string" else None
    naive = isinstance(spark_type, T.TimestampNTZType)
    if kind != "timestamptz" and not naive:
        return None
    if stored == "timestamptz(millis)":
        return spark_type, None if naive else "instant_of_millis"
    match = re.fullmatch(r"timestamp(?:tz)?\((\w+)\)", stored)
    if match is not None and match.group(1) != "nanos":
        return spark_type, None
    if match is not None:
        return T.LongType(), "nanos_to_naive" if naive else "nanos_to_instant"
    if stored == "int96":
        return T.TimestampType(), "instant_to_naive" if naive else None
    if stored == "date":
        return T.DateType(), "date_to_naive" if naive else "date_to_instant"
    return None


def native_type(stored: str) -> T.DataType | None:
    """Return the Spark type that can represent every value of a stored type; None if there is none."""
    parameters = decimal_parameters(stored)
    if parameters is not None:
        return T.DecimalType(*parameters)
    return _NATIVE.get(stored)


_NATIVE: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "int(8)": T.ByteType(),
    "int(16)": T.ShortType(),
    "int(32)": T.IntegerType(),
    "int(64)": T.LongType(),
    "uint(8)": T.ShortType(),
    "uint(16)": T.IntegerType(),
    "uint(32)": T.LongType(),
    "uint(64)": T.DecimalType(20, 0),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "date": T.DateType(),
    "string": T.StringType(),
    "json": T.StringType(),
    "binary": T.BinaryType(),
}
_READABLE_PARTS = frozenset({*_NATIVE, "struct", "list", "timestamp(micros)", "timestamptz(micros)"})
"""The types of shredded parts from which Spark can reassemble a variant."""
