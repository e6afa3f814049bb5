"""The stored form of a view that only Spark reads."""

from __future__ import annotations

import duckdb
import pytest

from dbt.adapters.ducklake.translate.view_text import text_for_spark_alone


@pytest.mark.parametrize(
    "query",
    [
        "VALUES (X'41')",
        "SELECT 1 AS a -- it's",
        "SELECT 1 AS a /* ` */",
        r"SELECT 'it\'s' AS a",
        "WITH c AS (SELECT 1 AS a) SELECT a FROM c",
    ],
)
def test_duckdb_cannot_parse_a_text_for_spark_alone(query: str) -> None:
    with duckdb.connect() as connection, pytest.raises(duckdb.ParserException):
        connection.execute(text_for_spark_alone(query))
