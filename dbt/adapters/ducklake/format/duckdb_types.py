"""DuckDB's type names, which declare the columns of inlined-data tables in a DuckDB catalog.

Specification: the pages "Data Types" and "Data Inlining". A DuckDB catalog stores inlined rows in the columns' own types.
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
"""DuckLake's name without parameters → DuckDB's name."""


def duckdb_type(column: Column) -> str:
    """Return the type of a column for DuckDB's CREATE TABLE.

    Raises:
        KeyError: a DuckDB catalog cannot store the type.
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
