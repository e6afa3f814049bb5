"""Types: the names in DuckLake, in users' SQL and in Spark, and the promotions between types.

Specification: the page "Data Types". A `DataType` has no ids; a `Column` of `objects` has.

- `parse_type` reads users' SQL, where `int8` has eight bytes and `TIMESTAMP` is an instant.
- `from_stored` reads the catalog, where `int8` has eight bits and `timestamp` no time zone.
- `spark_name` returns the type that Spark computes with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import LakeError
from .datatype import DataType, Field, decimal, decimal_parameters
from .objects import Column
from .type_text import parse_type

__all__ = [
    "NESTED",
    "SPARK_NAMES",
    "DataType",
    "Field",
    "assign_ids",
    "can_promote",
    "data_type_of",
    "decimal",
    "decimal_parameters",
    "field_of",
    "from_stored",
    "next_column_id",
    "parse_type",
    "spark_name",
    "stored",
]

NESTED = frozenset({"list", "map", "struct"})
"""The stored names of types whose fields are columns of their own."""

SPARK_NAMES: Mapping[str, str] = {
    "boolean": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "int128": "decimal(38,0)",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "uint128": "decimal(38,0)",
    "float32": "float",
    "float64": "double",
    "date": "date",
    "time": "time(6)",
    "time_ns": "string",
    "timetz": "string",
    "timestamp": "timestamp_ntz",
    "timestamp_s": "timestamp_ntz",
    "timestamp_ms": "timestamp_ntz",
    "timestamp_ns": "string",
    "timestamptz": "timestamp",
    "interval": "string",
    "varchar": "string",
    "json": "string",
    "uuid": "string",
    "blob": "binary",
    "geometry": "binary",
    "variant": "variant",
    "unknown": "string",
}
"""The Spark type of each leaf type of DuckLake, except decimals, which are the same in both."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def from_stored(text: str, fields: tuple[Field, ...] = ()) -> DataType:
    """Return the type with the stored text `text` (`ducklake_column.column_type`) and these nested fields.

    Raises:
        LakeError: the type is unknown.
    """
    name = text.strip().lower()
    parameters = decimal_parameters(name)
    if parameters is not None:
        return DataType("decimal({},{})".format(*parameters))
    if name == "timestamp_us":
        return DataType("timestamp")
    if name in NESTED:
        return DataType(name, fields)
    if name not in SPARK_NAMES:
        raise LakeError(f"the catalog has a column of the unknown type {text!r}: a newer version of dbt-ducklake may support it")
    return DataType(name)


def stored(type_: DataType) -> str:
    """Return the text that the catalog stores for a type; its nested fields are stored as separate rows."""
    return type_.name


def spark_name(type_: DataType) -> str:
    """Return the Spark type of a type as DDL text: `int`, `decimal(10,2)`, `array<string>`, `struct<a:int>`."""
    match type_.name, type_.fields:
        case "list", (element,):
            return f"array<{spark_name(element.type)}>"
        case "map", (key, value):
            return f"map<{spark_name(key.type)},{spark_name(value.type)}>"
        case "struct", fields:
            inside = ",".join(f"{_field_name(f.name)}:{spark_name(f.type)}" for f in fields)
            return f"struct<{inside}>"
        case name, _:
            parameters = decimal_parameters(name)
            if parameters is not None:
                return "decimal({},{})".format(*parameters)
            return SPARK_NAMES[name] if name in SPARK_NAMES else SPARK_NAMES[from_stored(name).name]
    raise AssertionError("unreachable")


def data_type_of(column: Column) -> DataType:
    """Return the type of a column or nested field, without ids."""
    return from_stored(column.type, tuple(field_of(child) for child in column.children))


def field_of(column: Column) -> Field:
    """Return a column or nested field as a field without ids."""
    return Field(column.name, data_type_of(column), column.nullable, column.comment)


def assign_ids(fields: Sequence[Field], first_id: int) -> tuple[Column, ...]:
    """Return columns for `fields` with ids from `first_id` on: depth first, parents before children.

    Nested fields are always nullable: DuckLake has NOT NULL for top-level columns only.
    """
    columns: list[Column] = []
    next_id = first_id
    for field in fields:
        column = _column(field, next_id, field.nullable)
        columns.append(column)
        next_id += sum(1 for _ in column.walk())
    return tuple(columns)


def next_column_id(columns: Iterable[Column]) -> int:
    """Return one more than the greatest id of the columns and their nested fields; 1 if there are none."""
    return max((node.column_id for column in columns for node in column.walk()), default=0) + 1


def can_promote(old: str, new: str) -> bool:
    """Whether ALTER COLUMN … TYPE may change the stored leaf type `old` to `new`; readers then cast the values of old files.

    The reference implementation allows these changes too. It also allows some that could lose digits before the point or that Spark does
    not support.
    """
    old_decimal, new_decimal = decimal_parameters(old), decimal_parameters(new)
    if old_decimal is not None and new_decimal is not None:
        (p, s), (q, t) = old_decimal, new_decimal
        return (p, s) != (q, t) and t >= s and q - t >= p - s
    if old_decimal is not None:
        return new in {"float32", "float64", "variant"}
    if new_decimal is not None:
        digits = _DIGITS.get(old)
        return digits is not None and new_decimal[0] - new_decimal[1] >= digits
    if old in _BITS and new in _BITS:
        return _wider_integer(old, new)
    return new in _PROMOTIONS.get(old, frozenset())


_BITS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64, 128)}
_DIGITS = {
    "int8": 3,
    "uint8": 3,
    "int16": 5,
    "uint16": 5,
    "int32": 10,
    "uint32": 10,
    "int64": 19,
    "uint64": 20,
    "int128": 38,
    "uint128": 38,
}
_FLOATS = frozenset({"float32", "float64", "variant"})
_PROMOTIONS: Mapping[str, frozenset[str]] = {
    **{name: _FLOATS for name in _BITS if not name.endswith("128")},
    "int128": frozenset({"float32", "float64"}),
    "uint128": frozenset({"float32", "float64"}),
    "boolean": frozenset({*_BITS, "variant"}),
    "float32": frozenset({"float64", "variant"}),
    "float64": frozenset({"variant"}),
    "date": frozenset({"timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamptz", "variant"}),
    "timestamp": frozenset({"timestamp_ns", "timestamptz", "variant"}),
    "timestamp_s": frozenset({"timestamp", "timestamp_ms", "timestamp_ns"}),
    "timestamp_ms": frozenset({"timestamp", "timestamp_ns"}),
    "timestamptz": frozenset({"variant"}),
    "varchar": frozenset({"json", "variant"}),
    "blob": frozenset({"variant"}),
}


def _wider_integer(old: str, new: str) -> bool:
    if old.startswith("u") or not new.startswith("u"):
        return _BITS[new] > _BITS[old]
    return False


def _column(field: Field, column_id: int, nullable: bool) -> Column:
    children: list[Column] = []
    next_id = column_id + 1
    for child in field.type.fields:
        column = _column(child, next_id, True)
        children.append(column)
        next_id += sum(1 for _ in column.walk())
    return Column(column_id, field.name, field.type.name, tuple(children), nullable, comment=field.comment)


def _field_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
