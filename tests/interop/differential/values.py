"""The column types of a run, and random values of these types in the SQL of each side.

A value is a neutral Python value; `literal` converts it to SQL. Each type has few values, so that conditions match rows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

import duckdb

from dbt.adapters.ducklake.format.types import DataType, Field, decimal_parameters, spark_name

Dialect = Literal["duckdb", "spark"]
Value = Any

INTEGERS = ("int8", "int16", "int32", "int64", "uint32")
_DUCKDB_NAMES = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint32": "UINTEGER",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "varchar": "VARCHAR",
    "blob": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "uuid": "UUID",
    "json": "JSON",
}
_STORED_NAMES = {name.lower(): stored for stored, name in _DUCKDB_NAMES.items()} | {"timestamp with time zone": "timestamptz"}
_TEXTS = ("", "a", "b", "it's", 'say "x"', "back\\slash", "ä€😀", "NULL", "a,b", "line\nbreak", "z" * 200)
_POOLS: dict[str, Sequence[Value]] = {
    "boolean": (True, False),
    "float32": ("0.0", "1.5", "-2.25", "NaN", "Infinity", "1e10"),
    "float64": ("0.0", "0.1", "-2.25", "NaN", "-Infinity", "1e300", "12345.678"),
    "varchar": _TEXTS,
    "blob": ("", "00", "00FF", "61626364", "FF" * 20),
    "date": ("1969-12-31", "1970-01-01", "2020-02-29", "2024-12-31", "0001-01-01"),
    "timestamp": ("1969-12-31 23:59:59.999999", "2020-02-29 12:00:00", "2024-01-01 00:00:00.5", "1500-01-01 00:00:00"),
    "timestamptz": ("1969-12-31 23:59:59.999999", "2020-02-29 12:00:00", "2024-01-01 00:00:00.5", "1900-01-01 00:00:00"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "ffffffff-ffff-4fff-bfff-ffffffffffff"),
    "json": ('{"a": 1}', "[1, null]", '"x"', "null"),
}

INT, TEXT = DataType("int32"), DataType("varchar")
_NESTED = (
    DataType("list", (Field("element", INT),)),
    DataType("list", (Field("element", TEXT),)),
    DataType("map", (Field("key", TEXT), Field("value", INT))),
    DataType("struct", (Field("x", INT), Field("y", TEXT))),
    DataType("list", (Field("element", DataType("struct", (Field("x", INT), Field("y", TEXT)))),)),
)
_LEAVES = (
    *(DataType(name) for name in ("int32", "int64", "varchar", "varchar", "int32")),  # again below, so that they are more frequent
    *(DataType(name) for name in _DUCKDB_NAMES),
    DataType("decimal(9,2)"),
    DataType("decimal(20,3)"),
)
PROMOTIONS = {
    "int8": ("int16", "int32", "int64", "float64"),
    "int16": ("int32", "int64", "decimal(9,2)"),
    "int32": ("int64", "float64", "decimal(20,3)"),
    "uint32": ("int64",),
    "float32": ("float64",),
    "decimal(9,2)": ("decimal(20,3)",),
    "date": ("timestamp", "timestamptz"),
    "timestamp": ("timestamptz",),
}
"""Type changes that either side may try; some are refused. VARCHAR to JSON is left out: DuckDB then fails on texts that are not JSON."""


def any_type(rng: random.Random) -> DataType:
    """Return a random type."""
    return rng.choice(_NESTED) if rng.random() < 0.2 else rng.choice(_LEAVES)


def value(rng: random.Random, kind: DataType, nulls: float = 0.15) -> Value:
    """Return a random value of a type; None, with the probability `nulls`, is NULL."""
    if rng.random() < nulls:
        return None
    match kind.name, kind.fields:
        case "list", (element,):
            return [value(rng, element.type) for _ in range(rng.randrange(3))]
        case "map", (key, inside):
            return {value(rng, key.type, 0): value(rng, inside.type) for _ in range(rng.randrange(3))}
        case "struct", fields:
            # DuckDB loses quotes and backslashes of an inlined struct when it writes nested text.
            return [None if rng.random() < nulls else _plain(rng, field.type) for field in fields]
        case name, _ if name in INTEGERS:
            return rng.randrange(0 if name == "uint32" else -20, 100)
        case name, _ if name in _POOLS:
            return rng.choice(_POOLS[name])
        case name, _:
            scale = (decimal_parameters(name) or (0, 0))[1]
            return f"{rng.randrange(-50, 50)}.{rng.randrange(10**scale):0{scale}d}"


def constant(rng: random.Random, kind: DataType) -> Value:
    """Return a random value to compare a column with, not NULL.

    It is a whole number if the column may once have had a type with fewer fraction digits: DuckDB rounds the constant to that type for the
    files that were written with it, see `test_found_faults`.
    """
    if kind.name == "float64" or kind.name.startswith("decimal"):
        return rng.randrange(-20, 100)
    return value(rng, kind, 0)


def _plain(rng: random.Random, kind: DataType) -> Value:
    """Return a random value, not NULL; a text has no quotes and backslashes."""
    if kind.name == "varchar":
        return rng.choice(("a", "b b", "ä"))
    return value(rng, kind, 0)


def literal(kind: DataType, given: Value, dialect: Dialect) -> str:
    """Return a value as SQL of one side, with its type."""
    name = type_text(kind, dialect)
    if given is None:
        return f"CAST(NULL AS {name})"
    for_duckdb = dialect == "duckdb"
    match kind.name, kind.fields:
        case "list", (element,):
            inside = ", ".join(literal(element.type, item, dialect) for item in given)
            return f"CAST({f'[{inside}]' if for_duckdb else f'array({inside})'} AS {name})"
        case "map", (key, item):
            pairs = [(literal(key.type, k, dialect), literal(item.type, v, dialect)) for k, v in given.items()]
            inside = ", ".join(f"{k}: {v}" if for_duckdb else f"{k}, {v}" for k, v in pairs)
            return f"CAST({f'MAP {{{inside}}}' if for_duckdb else f'map({inside})'} AS {name})"
        case "struct", fields:
            texts = [(quoted(f.name), literal(f.type, item, dialect)) for f, item in zip(fields, given, strict=True)]
            inside = ", ".join(f"{k}: {v}" if for_duckdb else f"{k}, {v}" for k, v in texts)
            return f"CAST({f'{{{inside}}}' if for_duckdb else f'named_struct({inside})'} AS {name})"
        case "boolean", _:
            return str(given).lower()
        case "blob", _:
            return f"from_hex('{given}')" if for_duckdb else f"X'{given}'"
        case "timestamptz", _:
            return f"CAST('{given}+00:00' AS {name})"
        case _:
            return f"CAST({_text(str(given), dialect)} AS {name})"


def quoted(text: str) -> str:
    return "'" + text + "'"


def _text(text: str, dialect: Dialect) -> str:
    if dialect == "duckdb":
        return "'" + text.replace("'", "''") + "'"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def type_text(kind: DataType, dialect: Dialect) -> str:
    """Return a type as one side writes it in a cast."""
    return spark_name(kind) if dialect == "spark" else duckdb_name(kind)


def defined_type(kind: DataType, dialect: Dialect) -> str:
    """Return a type as one side writes it in a column definition, where our side also accepts DuckLake's names."""
    if dialect == "duckdb":
        return duckdb_name(kind)
    ducklake_names = {"uint32": "UINTEGER", "uuid": "UUID", "json": "JSON"}
    return ducklake_names.get(kind.name) or spark_name(kind)


def duckdb_name(kind: DataType) -> str:
    match kind.name, kind.fields:
        case "list", (element,):
            return f"{duckdb_name(element.type)}[]"
        case "map", (key, item):
            return f"MAP({duckdb_name(key.type)}, {duckdb_name(item.type)})"
        case "struct", fields:
            return "STRUCT(" + ", ".join(f'"{f.name}" {duckdb_name(f.type)}' for f in fields) + ")"
        case _:
            return _DUCKDB_NAMES.get(kind.name) or kind.name.upper()


def parse_duckdb_type(text: str) -> DataType:
    """Return the type with a name as `duckdb_columns()` shows it."""
    return _stored_type(duckdb.sqltype(text))


def _stored_type(kind: Any) -> DataType:
    match kind.id:
        case "list":
            return DataType("list", (Field("element", _stored_type(kind.children[0][1])),))
        case "map" | "struct":
            return DataType(kind.id, tuple(Field(name, _stored_type(child)) for name, child in kind.children))
        case "decimal":
            (_, precision), (_, scale) = kind.children
            return DataType(f"decimal({precision},{scale})")
        case _:
            name = str(kind).lower()
            return DataType(_STORED_NAMES.get(name, name))
