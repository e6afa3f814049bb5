"""Check the DEFAULT of a column against its type when it is declared, so that no later INSERT or read fails.

The default of a TIMESTAMP column that is written as a local time is stored in UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

from ..errors import DuckLakeError, StatementError
from ..format.initial_defaults import initial_literal
from ..format.leaf_types import leaf_type
from ..format.objects import Column, Default
from ..format.types import DataType, Field, assign_ids, spark_name
from ..lake.context import Context
from ..plan.defaults import stored_default, typed_default
from ..plan.literals import Clock, NeedsSparkError, can_store, column_values
from ..plan.view import Settings
from ..spark.arrow.values import converter, local_time
from ..spark.errors import translate
from ..spark.rows.fetch import column_types
from ..sql.constants import constant
from ..sql.references import references
from .environment import Environment, OpenLakes

_NO_VALUE = (ValueError, ArithmeticError, TypeError, KeyError, DuckLakeError)


def checked_default(env: Environment, name: str, type_: DataType, default: Default | None) -> Default | None:
    """Return the default of a column in its stored form.

    Args:
        env: the environment of the statement.
        name: the name of the column, for messages.
        type_: the type of the column.
        default: the default, with an expression in Spark's SQL; None for no default.

    Raises:
        StatementError: its value cannot be stored in the column, or Spark cannot compute it.
    """
    if default is None:
        return None
    column = assign_ids([Field(name, type_)], 1)[0]
    default = typed_default(default, column.type)
    if default.kind == "literal":
        _require_value(column, type_, default.text)
        default = _in_utc(env, column, default)
    elif not _is_certain(column, default.text):
        _require_expression(env, column, type_, default.text)
    return stored_default(default)


def in_session_zone(lakes: OpenLakes, context: Context) -> Callable[[datetime], datetime] | None:
    """Return a function that gives a local time the session's time zone; None if that is UTC."""
    return None if Settings(lakes.time_zone()).zone_is_utc else lakes.in_zone(context)


def _in_utc(env: Environment, column: Column, default: Default) -> Default:
    """Return the default with a local time as the same instant in UTC; other sessions, and DuckDB's, may have another time zone."""
    local = local_time(default.text) if leaf_type(column.type).name == "timestamptz" else None
    in_zone = None if local is None else in_session_zone(env.lakes, env.context)
    if local is None or in_zone is None:
        return default
    try:
        instant = in_zone(local).astimezone(timezone.utc)
    except OverflowError:  # before year 1 or after year 9999, which Python's dates cannot express
        return default
    return replace(default, text=f"{instant.replace(tzinfo=None).isoformat(' ')}+00")


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
    """Whether the text is a constant, such as `current_timestamp()`, that can be converted to the column's type without Spark."""
    value = constant(text)
    if value is None or not can_store(column):
        return False
    try:
        column_values([value], column, Clock(datetime.now(timezone.utc), zone_is_utc=True))
    except NeedsSparkError:
        return False
    return True


def _require_expression(env: Environment, column: Column, type_: DataType, text: str) -> None:
    query = references(f"SELECT try_cast({text} AS {spark_name(type_)})")
    try:
        column_types(env.analyzed(query))
    except Exception as error:
        found = translate(error)
        if not isinstance(found, StatementError):
            raise
        raise StatementError(f"the default of column {column.name}, {text}, does not fit a {spark_name(type_)}: {found}") from error
