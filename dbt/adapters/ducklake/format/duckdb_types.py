"""DuckDB's name of a column's type: how a DuckDB file declares the columns of an inlined-data table.

Specification: the page "Data Types", and "Data Inlining": a catalog in DuckDB holds inlined rows in the types themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from .identifiers import double_quoted
from .objects import Column

NAMES: Mapping[str, str] = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "int128": "HUGEINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "decimal": "DECIMAL",
    "date": "DATE",
    "time": "TIME",
    "timetz": "TIME WITH TIME ZONE",
    "time_ns": "TIME_NS",
    "timestamp": "TIMESTAMP",
    "timestamp_us": "TIMESTAMP",
    "timestamp_s": "TIMESTAMP_S",
    "timestamp_ms": "TIMESTAMP_MS",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL",
    "varchar": "VARCHAR",
    "json": "JSON",
    "blob": "BLOB",
    "uuid": "UUID",
    "variant": "VARIANT",
    "list": "LIST",
    "struct": "STRUCT",
    "map": "MAP",
}
"""By DuckLake name without parameters."""


def duckdb_type(column: Column) -> str:
    """The type of a column as DuckDB's CREATE TABLE takes it.

    Raises:
        KeyError: DuckDB has none that a catalog may use.
    """
    name, bracket, parameters = column.type.partition("(")
    children = column.children
    match name.strip().lower():
        case "list":
            return f"{duckdb_type(children[0])}[]"
        case "map":
            return f"MAP({duckdb_type(children[0])}, {duckdb_type(children[1])})"
        case "struct":
            return f"STRUCT({', '.join(f'{double_quoted(each.name)} {duckdb_type(each)}' for each in children)})"
        case plain:
            return NAMES[plain] + bracket + parameters
