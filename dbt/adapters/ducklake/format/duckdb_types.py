"""DuckDB's type names, which declare the columns of inlined-data tables in a DuckDB catalog.

Specification: the pages "Data Types" and "Data Inlining". A DuckDB catalog stores inlined rows in the columns' own types.
"""

from __future__ import annotations

from collections.abc import Mapping

from .identifiers import double_quoted
from .leaf_types import STORED_NAMES
from .objects import Column
from .types import NESTED

NAMES: Mapping[str, str] = {
    **{name: leaf.duckdb for name, leaf in STORED_NAMES.items() if leaf.duckdb is not None},
    **{name: name.upper() for name in NESTED},
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
