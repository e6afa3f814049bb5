"""Check the DEFAULT of a column against its type when it is declared, so that no later INSERT or read fails.

The default of a TIMESTAMP column that is written as a local time is stored in UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal

from ..errors import DataError, DuckLakeError, StatementError
from ..format.default_texts import blob_text, default_text
from ..format.initial_defaults import initial_literal
from ..format.leaf_types import Encoding, leaf_type
from ..format.objects import Column, Default
from ..format.statistics import float_text
from ..format.types import DataType, Field, assign_ids, spark_name
from ..lake.context import Context
from ..plan.defaults import is_constant, is_literal, stored_expression, typed_default
from ..plan.literals import Clock, NeedsSparkError, can_store, column_values
from ..plan.view import Settings
from ..spark.arrow.values import array_of, local_time
from ..spark.errors import translate
from ..spark.rows.fetch import column_types, fetch
from ..spark.session.connect import is_connect
from ..spark.session.expressions import WHOLE
from ..spark.session.plan_types import first_difference
from ..sql.constants import constant
from ..sql.references import references
from ..sql.values import CastTo, Constant, CurrentTime
from .environment import Environment, OpenLakes

_NO_VALUE = (ValueError, ArithmeticError, TypeError, KeyError, DuckLakeError)


def checked_default(env: Environment, name: str, type_: DataType, default: Default | None) -> Default | None:
    """Return the default of a column in its stored form: a constant as the text of its value, an expression in DuckDB's SQL.

    Args:
        env: the environment of the statement.
        name: the name of the column, for messages.
        type_: the type of the column.
        default: the default, with an expression in Spark's SQL; None for no default or NULL.

    Raises:
        StatementError: its value cannot be stored in the column, Spark cannot compute it, or DuckDB has no such expression.
    """
    if default is None:
        return None
    column = assign_ids([Field(name, type_)], 1)[0]
    default = typed_default(default, column.type)
    if default.kind == "literal":
        return _stored_literal(env, column, type_, default.text)
    found = constant(default.text)
    value = None if found is None else _value(env, column, found)
    if value is not None and not _is_time(found):
        return _stored_literal(env, column, type_, value)
    is_leaf = bool(leaf_type(column.type).name)
    if not (is_leaf and is_literal(default.text)) and (value is not None or _is_shared(env, column, type_, default.text)):
        stored = stored_expression(default.text)
        if stored is not None:
            return Default(stored, "expression", "duckdb")
    if is_leaf and is_constant(default.text):
        return _computed(env, column, type_, default.text)
    raise StatementError(
        f"the default of column {column.name}, {default.text}, has no counterpart in DuckDB's SQL, which evaluates it too: write a "
        f"literal, or an expression that both have with the type {spark_name(type_)}"
    )


def _stored_literal(env: Environment, column: Column, type_: DataType, text: str) -> Default:
    return Default(_require_value(column, type_, _in_utc(env, column, text)))


def _computed(env: Environment, column: Column, type_: DataType, text: str) -> Default | None:
    """Return the value of a constant, which Spark computes; None if it is NULL."""
    is_blob = leaf_type(column.type).encoding is Encoding.BLOB
    value = f"CAST({text} AS {spark_name(type_)})"
    shown = f"hex({value})" if is_blob else f"CAST({value} AS STRING)"
    try:
        ((found,),) = fetch(env.analyzed(references(f"SELECT {shown}")))
    except Exception as error:
        raise _misfit(column, type_, text, error) from error
    if found is None:
        return None
    return _stored_literal(env, column, type_, blob_text(bytes.fromhex(found)) if is_blob else found)


def _is_shared(env: Environment, column: Column, type_: DataType, text: str) -> bool:
    """Whether the values that an expression gives to the column are the same in DuckDB: a cast, even to the column's type, may differ.

    DuckDB rounds fractions to integers, Spark truncates them.

    Raises:
        StatementError: Spark cannot compute it, or cast it to the type of the column.
    """
    kind = spark_name(type_)
    try:
        (_, own), _ = column_types(env.analyzed(references(f"SELECT {text}, try_cast({text} AS {kind})")))
        frame = env.analyzed(references(f"SELECT CAST({text} AS {kind})"))
        differs = not is_connect(frame.sparkSession) and first_difference(frame, (), from_spark=True) is not None
    except Exception as error:
        raise _misfit(column, type_, text, error) from error
    return not differs and not (kind in WHOLE and own.startswith(("float", "double", "decimal")))


def in_session_zone(lakes: OpenLakes, context: Context) -> Callable[[datetime], datetime] | None:
    """Return a function that gives a local time the session's time zone; None if that is UTC."""
    return None if Settings(lakes.time_zone()).zone_is_utc else lakes.in_zone(context)


def _in_utc(env: Environment, column: Column, text: str) -> str:
    """Return a default with a local time as the same instant in UTC; other sessions, and DuckDB's, may have another time zone."""
    local = local_time(text) if leaf_type(column.type).name == "timestamptz" else None
    in_zone = None if local is None else in_session_zone(env.lakes, env.context)
    if local is None or in_zone is None:
        return text
    try:
        instant = in_zone(local).astimezone(timezone.utc)
    except OverflowError:  # before year 1 or after year 9999, which Python's dates cannot express
        return text
    return f"{instant.replace(tzinfo=None).isoformat(' ')}+00"


def _require_value(column: Column, type_: DataType, text: str) -> str:
    """Require a default that inserted rows can have and, if it is the column's initial default, older rows too; return DuckDB's text."""
    try:
        array_of([text], column)
        initial_literal(Column(column.column_id, column.name, column.type, initial_default=text, children=column.children))
        return default_text(column.type, text)
    except _NO_VALUE:
        raise StatementError(
            f"the default of column {column.name}, {text!r}, is not a {spark_name(type_)}; write another DEFAULT"
        ) from None


def _value(env: Environment, column: Column, found: Constant) -> str | None:
    """Return the text of a constant, such as `true` or `current_timestamp()`, as a value of the column; None if Spark must compute it."""
    if not can_store(column):
        return None
    try:
        clock = Clock(datetime.now(timezone.utc), zone_is_utc=_is_time(found) or Settings(env.lakes.time_zone()).zone_is_utc)
        (value,) = column_values([found], column, clock)
    except NeedsSparkError:
        return None
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return blob_text(value)
        case float():
            return float_text(value, column.type)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat(" ")
    return None if value is None else str(value)


def _is_time(found: Constant | None) -> bool:
    """Whether a constant is the current time, perhaps with casts."""
    return _is_time(found.value) if isinstance(found, CastTo) else isinstance(found, CurrentTime)


def _misfit(column: Column, type_: DataType, text: str, error: Exception) -> StatementError:
    """Return the error about an expression that Spark cannot compute. Another kind of error, such as a lost connection, is raised."""
    found = translate(error)
    if not isinstance(found, StatementError | DataError):
        raise error
    return StatementError(f"the default of column {column.name}, {text}, does not fit a {spark_name(type_)}: {found}")
