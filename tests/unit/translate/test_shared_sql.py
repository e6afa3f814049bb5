"""The interop tests compare everything that the list of shared SQL allows, and nothing else is translated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from dbt.adapters.ducklake.translate import rules_to_duckdb, rules_to_spark, shared_sql
from dbt.adapters.ducklake.translate.dialects import plain_duckdb, to_duckdb, to_spark
from tests.duckdb_instances import open_duckdb
from tests.interop import view_samples

MADE_HERE = {exp.TimestampAdd, exp.TimestampSub, exp.SafeDivide}
"""Intermediate expressions of the translation."""
NOT_COMPARED = {exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, exp.Uuid, exp.Rand, exp.HistoricalData, exp.AnyValue}
"""Timestamps, random values and earlier snapshots, which other tests cover."""


def each(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def as_stored(queries: Iterable[str]) -> Iterator[str]:
    """Return queries as DuckDB stores them in views."""
    with duckdb.connect() as connection:
        for statement in view_samples.TABLES:
            connection.execute(statement)
        for query in queries:
            connection.execute(f"CREATE OR REPLACE VIEW stored AS {query}")
            row = connection.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'stored'").fetchone()
            assert row is not None
            yield plain_duckdb(row[0].split(" AS ", 1)[1])


def classes(dialect: str, queries: Iterable[str]) -> set[type[exp.Expr]]:
    return {type(node) for query in queries for node in sqlglot.parse_one(query, read=dialect).walk()}


def test_every_class_on_the_list_is_compared() -> None:
    expressions = [f"SELECT {line} AS z FROM t" for line in each(view_samples.EXPRESSIONS)]
    aggregates = [f"SELECT {line} AS z FROM t GROUP BY o" for line in each(view_samples.AGGREGATES)]
    of_duckdb = classes("duckdb", as_stored([*expressions, *aggregates, *each(view_samples.QUERIES)]))
    expressions = [f"SELECT {line}" for line in each(view_samples.EXPRESSIONS_OF_SPARK) + each(view_samples.AGGREGATES_OF_SPARK)]
    of_spark = classes("databricks", [*expressions, *each(view_samples.QUERIES_OF_SPARK)])
    either = MADE_HERE | NOT_COMPARED
    assert set(shared_sql.SHARED) - of_duckdb - of_spark - either == set()
    assert set(rules_to_spark.RULES.additional) - of_duckdb - either == set()
    assert set(rules_to_duckdb.RULES.additional) - of_spark - either == set()


@pytest.mark.parametrize(
    "text", [f"SELECT {line} FROM t" for line in each(view_samples.UNTRANSLATABLE)] + each(view_samples.UNTRANSLATABLE_QUERIES)
)
def test_expressions_without_an_equivalent_in_spark_are_not_translated(text: str) -> None:
    assert to_spark(text) is None


@pytest.mark.parametrize("text", each(view_samples.UNTRANSLATABLE_OF_SPARK))
def test_expressions_without_an_equivalent_in_duckdb_are_not_translated(text: str) -> None:
    assert to_duckdb(f"SELECT {text} FROM t") is None


def test_the_queries_of_tpch_can_be_translated_to_both() -> None:
    with open_duckdb("tpch") as connection:
        connection.execute("CALL dbgen(sf=0)")
        for number, query in connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall():
            connection.execute(f"CREATE OR REPLACE VIEW stored AS {query}")
            row = connection.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'stored'").fetchone()
            assert row is not None
            assert to_spark(row[0].split(" AS ", 1)[1].rstrip().rstrip(";")) is not None, number
            assert to_duckdb(query.strip().rstrip(";")) is not None, number
