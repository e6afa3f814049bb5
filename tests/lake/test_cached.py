"""Rows that are cached for the length of a block."""

from __future__ import annotations

from dbt.adapters.ducklake.spark.rows.cached import cached
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime


def test_cached_rows_are_computed_once_and_planned_as_one_node(runtime: SparkRuntime) -> None:
    numbers = runtime.session().range(5).selectExpr("id", "uuid() AS random", "id AS `a.b`").repartition(3)
    with cached(numbers) as rows:
        first = sorted(rows.collect())
        assert sorted(rows.collect()) == first
        assert sorted(rows.join(rows.selectExpr("id AS other"), rows["id"] == 1).select("id", "random").distinct().collect()) == [
            first[1][:2]
        ]
        assert rows._jdf.queryExecution().analyzed().children().isEmpty()
        assert rows._jdf.queryExecution().withCachedData().getClass().getSimpleName() == "InMemoryRelation"


def test_two_frames_over_the_same_rows_are_cached_with_their_own_column_names(runtime: SparkRuntime) -> None:
    numbers = runtime.session().range(5)
    with cached(numbers.selectExpr("id + 1 AS a")) as rows, cached(numbers.selectExpr("id + 1 AS b")) as others:
        assert (rows.columns, others.columns) == (["a"], ["b"])
        assert others.filter("b > 3").count() == 2
        assert rows.join(others, rows["a"] == others["b"]).count() == 5


def test_rows_that_another_block_released_are_computed_again(runtime: SparkRuntime) -> None:
    numbers = runtime.session().range(5).selectExpr("id * 2 AS a")
    with cached(numbers) as rows:
        with cached(numbers) as others:
            assert others.count() == 5
        assert rows.count() == 5
