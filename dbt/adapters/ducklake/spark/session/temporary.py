"""Temporary views, settings and constants of a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ...errors import StatementError
from ...format.identifiers import backquoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
        StatementError: the value is NULL.
    """
    micros = spark.sql(f"SELECT unix_micros(CAST({text} AS TIMESTAMP))").collect()[0][0]
    if micros is None:
        raise StatementError(f"the time {text} is NULL; time travel needs a time")
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)


def session_settings(setting: Callable[[str, str], str]) -> tuple[str, bool, bool, bool, bool, bool]:
    """Return the settings of `plan.view.Settings`, in that order.

    They are the time zone, whether ANSI mode is on, whether names are case-sensitive, whether TIMESTAMP has a time zone, whether a date
    is cast to a string when it is compared with one, as in Spark 2, and whether literals have their usual types and quotes.

    Args:
        setting: returns the value of a setting; the second argument is its default.
    """

    def is_true(key: str) -> bool:
        return setting(key, "false").lower() == "true"

    return (
        setting(TIME_ZONE, "UTC"),
        is_true("spark.sql.ansi.enabled"),
        is_true("spark.sql.caseSensitive"),
        setting("spark.sql.timestampType", "TIMESTAMP_LTZ").upper() == "TIMESTAMP_LTZ",
        is_true("spark.sql.legacy.typeCoercion.datetimeToString.enabled"),
        not any(map(is_true, _LITERALS)),
    )


def drop_temporary_view(spark: SparkSession, name: str) -> None:
    """Drop a temporary view, if it exists."""
    spark.sql(f"DROP VIEW IF EXISTS {backquoted(name)}")
