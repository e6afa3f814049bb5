"""The defaults of columns, for the keyword DEFAULT and for columns that an INSERT does not name."""

from __future__ import annotations

import re
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..errors import LakeError, StatementError
from ..format.identifiers import spark_literal
from ..format.initial_defaults import initial_literal
from ..format.leaf_types import Encoding, leaf_type
from ..format.objects import Column, Default
from ..format.types import data_type_of, spark_name
from ..sql.columns import unquoted_literal
from ..sql.tokens import has_continued_comment
from ..translate.dialects import to_duckdb, to_spark

_NUMBERS = (Encoding.INTEGER, Encoding.HUGE, Encoding.FLOAT, Encoding.DECIMAL)
_NUMBER = re.compile(r"-?[0-9]+([.][0-9]+)?")
_SELECT = "SELECT "
_NOT_IN_DEFAULTS = (exp.Query, exp.AggFunc, exp.Window, exp.Column, exp.Star)
_LITERALS = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.HexString, exp.RawString),
    *(exp.Paren, exp.Neg, exp.Cast, exp.DataType, exp.DataTypeParam),
)
_CONSTANTS = (
    *_LITERALS,
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe, exp.Concat, exp.ConcatWs, exp.Array, exp.Upper, exp.Lower, exp.Trim),
)
_CASTS = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "binary", "date", "timestamp"}
)
"""The types whose names are also names of functions in Spark."""

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
    translated = to_spark(f"{_SELECT}{default.text}")
    if translated is None:
        raise StatementError(f"the default of column {column.name}, {default.text}, has no counterpart in Spark; {remedy}")
    return translated.strip()[len(_SELECT) :]


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
    leaf = leaf_type(column.type)
    if leaf.encoding is Encoding.BLOB:
        return _literal_sql(column, default.text)
    is_number = leaf.encoding in _NUMBERS and _NUMBER.fullmatch(default.text)
    return default.text if is_number else spark_literal(default.text)


def typed_default(default: Default, type_name: str) -> Default:
    """Return a default of a column of a type. A number, date or timestamp without quotes is a literal, unless its string may differ."""
    if default.kind == "literal" or (leaf_type(type_name).is_text and not _INTEGER.fullmatch(default.text)):
        return default
    text = unquoted_literal(default.text)
    return default if text is None else Default(text)


def stored_expression(text: str) -> str | None:
    """Return an expression of Spark in DuckDB's SQL; None if DuckDB has none that means the same, or allows none there, as a subquery."""
    shared = to_duckdb(f"{_SELECT}{text}")
    if shared is None or to_spark(shared) is None:
        return None
    tree = _expression(text)
    return None if tree is None or any(isinstance(node, _NOT_IN_DEFAULTS) for node in tree.walk()) else shared[len(_SELECT) :]


def is_literal(text: str) -> bool:
    """Whether Spark's SQL is a literal, perhaps with casts, such as `bigint(5)` or `CAST('2020-01-01' AS TIMESTAMP)`."""
    return _consists_of(text, _LITERALS)


def is_constant(text: str) -> bool:
    """Whether Spark's SQL has the same value at any time and in any session, except for its time zone."""
    return _consists_of(text, _CONSTANTS)


def _consists_of(text: str, kinds: tuple[type[exp.Expr], ...]) -> bool:
    tree = _expression(text)
    return tree is not None and all(isinstance(node, kinds) or _is_cast(node) for node in tree.walk())


def _is_cast(node: exp.Expr) -> bool:
    """Whether an expression is the call of a function with the name of a type."""
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _CASTS


def _expression(text: str) -> exp.Expr | None:
    """Parse one expression of Spark's SQL; None for other SQL."""
    if has_continued_comment(text):
        return None
    try:
        tree = sqlglot.parse_one(f"{_SELECT}{text}", read="databricks")
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Select) or len(tree.selects) != 1 or tree != exp.Select(expressions=tree.selects):
        return None
    return None if isinstance(tree.selects[0], exp.Alias) else tree.selects[0]
