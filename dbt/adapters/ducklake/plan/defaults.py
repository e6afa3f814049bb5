"""The defaults of columns, for the keyword DEFAULT and for columns that an INSERT does not name."""

from __future__ import annotations

from ..errors import StatementError
from ..format.identifiers import spark_literal
from ..format.objects import Column, Default
from ..format.types import data_type_of, spark_name
from ..translate.dialects import to_duckdb, to_spark


def default_sql(column: Column) -> str:
    """Return the column's default in Spark's SQL; NULL if it has none.

    Raises:
        StatementError: DuckDB stored an expression that has no counterpart in Spark.
    """
    if column.default is None:
        return "NULL"
    if column.default.kind == "literal":
        return f"CAST({spark_literal(column.default.text)} AS {spark_name(data_type_of(column))})"
    if column.default.dialect == "spark":
        return column.default.text
    translated = to_spark(f"SELECT {column.default.text}")
    if translated is None:
        raise StatementError(
            f"the default of column {column.name}, {column.default.text}, has no counterpart in Spark; "
            "name the column in the statement and give it a value"
        )
    return translated.strip()[len("SELECT ") :]


def stored_default(default: Default | None) -> Default | None:
    """Return a default as the catalog stores it: an expression of Spark is translated to DuckDB's SQL if that means the same."""
    if default is None or default.kind != "expression":
        return default
    shared = to_duckdb(default.text)
    if shared is None or to_spark(shared) is None:
        return default
    return Default(shared, "expression", "duckdb")
