"""The defaults of columns, for the keyword DEFAULT and for columns that an INSERT does not name."""

from __future__ import annotations

import re
from dataclasses import replace

from ..errors import LakeError, StatementError
from ..format.identifiers import spark_literal
from ..format.initial_defaults import initial_literal
from ..format.leaf_types import Encoding, leaf_type
from ..format.objects import Column, Default
from ..format.types import data_type_of, spark_name
from ..sql.columns import unquoted_literal
from ..translate.dialects import to_duckdb, to_spark

_NUMBERS = (Encoding.INTEGER, Encoding.HUGE, Encoding.FLOAT, Encoding.DECIMAL)
_NUMBER = re.compile(r"-?[0-9]+([.][0-9]+)?")

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Integers that Spark converts to strings as they are written."""


def default_sql(column: Column) -> str:
    """Return the column's default in Spark's SQL; NULL if it has none.

    Raises:
        StatementError: DuckDB stored an expression that has no counterpart in Spark.
    """
    if column.default is None:
        return "NULL"
    if column.default.kind == "literal":
        return _literal_sql(column, column.default.text)
    return _expression_sql(column, column.default, "name the column in the statement and give it a value")


def _expression_sql(column: Column, default: Default, remedy: str) -> str:
    if default.dialect == "spark":
        return default.text
    translated = to_spark(f"SELECT {default.text}")
    if translated is None:
        raise StatementError(f"the default of column {column.name}, {default.text}, has no counterpart in Spark; {remedy}")
    return translated.strip()[len("SELECT ") :]


def _literal_sql(column: Column, text: str) -> str:
    """Return a literal default in Spark's SQL: the value that it has as the initial default of older rows, and in DuckDB.

    Spark's casts from text read bytes, geometries, infinity and years BC differently.
    """
    leaf = leaf_type(column.type)
    if leaf.is_dated or leaf.encoding is Encoding.BLOB or leaf.name == "geometry":
        try:
            literal = initial_literal(replace(column, initial_default=text))
        except LakeError:  # then Spark's cast decides, or refuses it
            literal = None
        if literal is not None:
            return literal
    return f"CAST({spark_literal(text)} AS {spark_name(data_type_of(column))})"


def default_ddl(column: Column, default: Default) -> str:
    """Return a default as it is written after DEFAULT; parsing it again gives an equal default, for any type.

    Raises:
        StatementError: DuckDB stored an expression that has no counterpart in Spark.
    """
    if default.kind != "literal":
        return _expression_sql(column, default, "only DuckDB can set it")
    is_number = leaf_type(column.type).encoding in _NUMBERS and _NUMBER.fullmatch(default.text)
    return default.text if is_number else spark_literal(default.text)


def typed_default(default: Default, type_name: str) -> Default:
    """Return a default of a column of a type. A number, date or timestamp without quotes is a literal, unless its string may differ."""
    if default.kind == "literal" or (leaf_type(type_name).is_text and not _INTEGER.fullmatch(default.text)):
        return default
    text = unquoted_literal(default.text)
    return default if text is None else Default(text)


def stored_default(default: Default | None) -> Default | None:
    """Return a default as the catalog stores it: an expression of Spark is translated to DuckDB's SQL if that means the same."""
    if default is None or default.kind != "expression":
        return default
    shared = to_duckdb(default.text)
    if shared is None or to_spark(shared) is None:
        return default
    return Default(shared, "expression", "duckdb")
