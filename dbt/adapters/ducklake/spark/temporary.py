"""Questions to a Spark session about its own names and constants."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ..errors import StatementError
from ..spec.identifiers import backquoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UTC = frozenset({"UTC", "ETC/UTC", "GMT", "Z", "+00:00", "ZULU"})


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Whether the session has a temporary view of that one-part name."""
    java = getattr(spark, "_jsparkSession", None)
    if java is not None:
        return bool(java.sessionState().catalog().getRawTempView(name).isDefined())
    return bool(spark.catalog.tableExists(backquoted(name))) and bool(spark.catalog.getTable(backquoted(name)).isTemporary)


def timestamp_value(spark: SparkSession, text: str) -> datetime:
    """The value of a constant expression of type timestamp, in UTC.

    Raises:
        StatementError: it is NULL.
    """
    micros = spark.sql(f"SELECT unix_micros(CAST({text} AS TIMESTAMP))").collect()[0][0]
    if micros is None:
        raise StatementError(f"the time {text} is NULL; a time travel needs a moment")
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)


def drop_temporary_view(spark: SparkSession, name: str) -> None:
    """DROP VIEW of a temporary view."""
    spark.sql(f"DROP VIEW IF EXISTS {backquoted(name)}")


def zone_is_utc(spark: SparkSession) -> bool:
    """Whether the session's time zone is UTC, under one of its names."""
    return (spark.conf.get("spark.sql.session.timeZone") or "").upper() in _UTC


def compares_dates_as_texts(spark: SparkSession) -> bool:
    """Whether a date or timestamp is turned into a text to be compared with one, as Spark 2 did."""
    return (spark.conf.get("spark.sql.legacy.typeCoercion.datetimeToString.enabled", "false") or "").lower() == "true"


def timestamps_are_instants(spark: SparkSession) -> bool:
    """Whether TIMESTAMP means an instant, not the time on a wall clock."""
    return (spark.conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ") or "").upper() == "TIMESTAMP_LTZ"
