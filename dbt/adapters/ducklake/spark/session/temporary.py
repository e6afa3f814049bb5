"""Temporary views, settings and constants of a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ...errors import StatementError
from ...format.identifiers import backquoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Setting = Callable[[str, str], str]
"""Returns the value of a setting; the second argument is its default."""
TIME_ZONE = "spark.sql.session.timeZone"
_LITERALS = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.legacy.consecutiveStringLiterals.enabled",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled",
)
"""Settings that change what a literal is: its quotes, two quotes in it, or the type of `1e3`."""


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Whether the session has a temporary view with that one-part name."""
    java = getattr(spark, "_jsparkSession", None)
    if java is not None:
        return bool(java.sessionState().catalog().getRawTempView(name).isDefined())
    return bool(spark.catalog.tableExists(backquoted(name))) and bool(spark.catalog.getTable(backquoted(name)).isTemporary)


def timestamp_value(spark: SparkSession, text: str) -> datetime:
    """Return the value of a constant timestamp expression, in UTC.

    Raises:
        StatementError: the value is NULL, or outside the years 1 to 9999.
    """
    micros = spark.sql(f"SELECT unix_micros(CAST({text} AS TIMESTAMP))").collect()[0][0]
    if micros is None:
        raise StatementError(f"the time {text} is NULL; time travel needs a time")
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    except OverflowError:
        raise StatementError(f"the time {text} is outside the years 1 to 9999") from None


def session_settings(setting: Setting) -> tuple[str, bool, bool, bool, bool]:
    """Return the settings of `plan.view.Settings`, in that order.

    They are the time zone, whether ANSI mode is on, whether names are case-sensitive, whether TIMESTAMP has a time zone, and whether a date
    is cast to a string when it is compared with one, as in Spark 2.

    Args:
        setting: returns the value of a setting.
    """
    return (
        setting(TIME_ZONE, "UTC"),
        _is_true(setting, "spark.sql.ansi.enabled"),
        _is_true(setting, "spark.sql.caseSensitive"),
        setting("spark.sql.timestampType", "TIMESTAMP_LTZ").upper() == "TIMESTAMP_LTZ",
        _is_true(setting, "spark.sql.legacy.typeCoercion.datetimeToString.enabled"),
    )


def literals_are_usual(setting: Setting) -> bool:
    """Whether literals have their usual quotes and types; see `session_settings`."""
    return not any(_is_true(setting, key) for key in _LITERALS)


def _is_true(setting: Setting, key: str) -> bool:
    return setting(key, "false").lower() == "true"


def drop_temporary_view(spark: SparkSession, name: str) -> None:
    """Drop a temporary view, if it exists."""
    spark.sql(f"DROP VIEW IF EXISTS {backquoted(name)}")
