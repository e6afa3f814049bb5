"""Check the DEFAULT of a column against its type when it is declared, so that no later INSERT or read fails."""

from __future__ import annotations

from datetime import datetime, timezone

from ..errors import DuckLakeError, StatementError
from ..format.objects import Column, Default
from ..format.types import DataType, Field, assign_ids, spark_name
from ..plan.defaults import stored_default
from ..plan.literals import Clock, NeedsSparkError, can_store, column_values
from ..spark.arrow.values import converter
from ..spark.errors import translate
from ..spark.rows.fetch import column_types
from ..spark.values.defaults import initial_literal
from ..sql.constants import constant
from ..sql.references import fragment
from ..sql.tokens import Source
from .environment import Environment

_NO_VALUE = (ValueError, ArithmeticError, TypeError, KeyError, DuckLakeError)


def checked_default(env: Environment, name: str, type_: DataType, default: Default | None) -> Default | None:
    """Return the default of a column in its stored form.

    Raises:
        StatementError: its value cannot be stored in the column, or Spark cannot compute it.
    """
    if default is None:
        return None
    column = assign_ids([Field(name, type_)], 1)[0]
    if default.kind == "literal":
        _require_value(column, type_, default.text)
    elif not _is_certain(column, default.text):
        _require_expression(env, column, type_, default.text)
    return stored_default(default)


def _require_value(column: Column, type_: DataType, text: str) -> None:
    """Require a default that inserted rows can have and, if it is the column's initial default, older rows too."""
    try:
        converter(column)(text)
        initial_literal(Column(column.column_id, column.name, column.type, initial_default=text, children=column.children))
    except _NO_VALUE:
        raise StatementError(
            f"the default of column {column.name}, {text!r}, is not a {spark_name(type_)}; write another DEFAULT"
        ) from None


def _is_certain(column: Column, text: str) -> bool:
    """Whether the text is a constant, such as `current_timestamp()`, that fits without asking Spark."""
    value = constant(text)
    if value is None or not can_store(column):
        return False
    try:
        column_values([value], column, Clock(datetime.now(timezone.utc), zone_is_utc=True))
    except NeedsSparkError:
        return False
    return True


def _require_expression(env: Environment, column: Column, type_: DataType, text: str) -> None:
    query = fragment(Source(f"SELECT try_cast({text} AS {spark_name(type_)})"), whole=True)
    try:
        column_types(env.analyzed(query))
    except Exception as error:
        found = translate(error)
        if not isinstance(found, StatementError):
            raise
        raise StatementError(f"the default of column {column.name}, {text}, does not fit a {spark_name(type_)}: {found}") from error
