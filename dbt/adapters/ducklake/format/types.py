"""Types: the names in DuckLake, in users' SQL and in Spark, and the promotions between types.

Specification: the page "Data Types". A `DataType` has no ids; a `Column` of `objects` has.

- `parse_type` reads users' SQL, where `int8` has eight bytes and `TIMESTAMP` is an instant.
- `from_stored` reads the catalog, where `int8` has eight bits and `timestamp` no time zone.
- `spark_name` returns the type that Spark computes with.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ..errors import LakeError
from .datatype import DataType, Field, decimal, decimal_parameters
from .identifiers import backquoted, spark_literal
from .leaf_types import LEAF_TYPES, STORED_NAMES, leaf_type
from .objects import Column
from .type_text import parse_type

__all__ = [
    "INTEGER_DIGITS",
    "NESTED",
    "DataType",
    "Field",
    "assign_ids",
    "can_promote",
    "data_type_of",
    "ddl_name",
    "decimal",
    "decimal_parameters",
    "field_name",
    "field_of",
    "from_stored",
    "json_as_text",
    "next_column_id",
    "parse_type",
    "spark_name",
    "with_unassigned_json_as_text",
]

NESTED = frozenset({"list", "map", "struct"})
"""The stored names of types whose fields are columns of their own."""

INTEGER_DIGITS: Mapping[str, int] = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""Spark's integer types → the digits of the decimal to which Spark converts their values, to compare or to mix them with decimals."""

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
    if name in NESTED:
        return DataType(name, fields)
    if name not in STORED_NAMES or name == "decimal":
        raise LakeError(f"the catalog has a column of the unknown type {text!r}: a newer version of dbt-ducklake may support it")
    return DataType(STORED_NAMES[name].name)


def spark_name(type_: DataType) -> str:
    """Return the Spark type of a type as DDL text: `int`, `decimal(10,2)`, `array<string>`, `struct<a:int>`."""
    match type_.name, type_.fields:
        case "list", (element,):
            return f"array<{spark_name(element.type)}>"
        case "map", (key, value):
            return f"map<{spark_name(key.type)},{spark_name(value.type)}>"
        case "struct", fields:
            inside = ",".join(f"{field_name(f.name)}:{spark_name(f.type)}" for f in fields)
            return f"struct<{inside}>"
        case name, _:
            parameters = decimal_parameters(name)
            if parameters is not None:
                return "decimal({},{})".format(*parameters)
            return LEAF_TYPES[from_stored(name).name].spark
    raise AssertionError("unreachable")


def data_type_of(column: Column) -> DataType:
    """Return the type of a column or nested field, without ids."""
    return from_stored(column.type, tuple(field_of(child) for child in column.children))


def ddl_name(type_: DataType) -> str:
    """Return the type as it is written in CREATE TABLE: unlike Spark's name, it stands for this DuckLake type alone.

    Raises:
        LakeError: there is no such name, as for the type `unknown`.
    """
    match type_.name, type_.fields:
        case "list", (element,):
            return f"ARRAY<{ddl_name(element.type)}>"
        case "map", (key, value):
            return f"MAP<{ddl_name(key.type)}, {ddl_name(value.type)}>"
        case "struct", fields:
            return f"STRUCT<{', '.join(map(_ddl_field, fields))}>"
    parameters = decimal_parameters(type_.name)
    if parameters is not None:
        return "DECIMAL({}, {})".format(*parameters)
    names = leaf_type(type_.name).written
    if not names:
        raise LakeError(f"a column of the type {type_.name} cannot be created here")
    return names[0].upper()


def _ddl_field(field: Field) -> str:
    required = "" if field.nullable else " NOT NULL"
    comment = "" if field.comment is None else f" COMMENT {spark_literal(field.comment)}"
    return f"{field_name(field.name)}: {ddl_name(field.type)}{required}{comment}"


def json_as_text(column: Column) -> Column:
    """Return the column with JSON as plain text, to copy values without a check: DuckDB stores JSON that we refuse, such as `[1,]`."""
    return replace(column, type="varchar" if column.type == "json" else column.type, children=tuple(map(json_as_text, column.children)))


def with_unassigned_json_as_text(columns: Iterable[Column], assigned: Collection[str]) -> tuple[Column, ...]:
    """Return the columns for new versions of rows. In columns that are not assigned, JSON is plain text, so values are copied unchecked."""
    return tuple(column if column.name in assigned else json_as_text(column) for column in columns)


def field_of(column: Column) -> Field:
    """Return a column or nested field as a field without ids."""
    return Field(column.name, data_type_of(column), column.nullable, column.comment)


def assign_ids(fields: Sequence[Field], first_id: int) -> tuple[Column, ...]:
    """Return columns for `fields` with ids from `first_id` on: depth first, parents before children.

    Nested fields are always nullable: DuckLake has NOT NULL for top-level columns only.
    """
    return _columns(fields, first_id, top_level=True)


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
        (old_precision, old_scale), (new_precision, new_scale) = old_decimal, new_decimal
        return old_decimal != new_decimal and new_scale >= old_scale and new_precision - new_scale >= old_precision - old_scale
    before, after = leaf_type(old), leaf_type(new)
    if new_decimal is not None:
        return before.is_integer and new_decimal[0] - new_decimal[1] >= before.digits
    if before.is_integer and after.is_integer:
        return after.bits > before.bits and (before.unsigned or not after.unsigned)
    return new in before.promotions


def _columns(fields: Sequence[Field], first_id: int, *, top_level: bool) -> tuple[Column, ...]:
    columns: list[Column] = []
    next_id = first_id
    for field in fields:
        children = _columns(field.type.fields, next_id + 1, top_level=False)
        column = Column(next_id, field.name, field.type.name, children, field.nullable or not top_level, comment=field.comment)
        columns.append(column)
        next_id += sum(1 for _ in column.walk())
    return tuple(columns)


def field_name(name: str) -> str:
    """Return the name of a struct's field as it is written in a type: with backquotes, unless it is a plain name."""
    return name if _PLAIN_NAME.fullmatch(name) else backquoted(name)
