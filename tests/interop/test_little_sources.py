"""A MERGE whose source reads little computes it without caching it, and computes it again, cached, if Spark must find the matches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.lake import merge, small_merge
from dbt.adapters.ducklake.lake.small_merge import SourceReader
from dbt.adapters.ducklake.run.environment import Environment
from dbt.adapters.ducklake.spark.rows import plans
from dbt.adapters.ducklake.spark.rows.plans import reads_little, returns_little
from tests.interop.conftest import Both

CATALOGS = ["sqlite"]
pytestmark = pytest.mark.local_rows  # the tests count what is computed if this process reads the small tables
UPSERT = "MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
RANDOM = "(SELECT id, uuid() AS name FROM (SELECT DISTINCT CAST(rand() * 50 AS INT) AS id FROM range(30)))"
"""Other keys and other names each time that it is computed."""


@pytest.fixture
def cached_sources(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The DataFrames that merges cache."""
    found: list[Any] = []

    @contextmanager
    def noted(frame: Any) -> Iterator[Any]:
        found.append(frame)
        with cached(frame) as rows:
            yield rows

    cached = merge.cached
    monkeypatch.setattr(merge, "cached", noted)
    return found


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The scan plans that statements record."""
    found: list[Any] = []
    monkeypatch.setattr(Environment, "note_scan", lambda _, _table, plan: found.append(plan))
    return found


@pytest.mark.parametrize("matches_in_process", [True, False])
def test_a_source_that_differs_each_time_is_one_source(
    both: Both, monkeypatch: pytest.MonkeyPatch, cached_sources: list[Any], scans: list[Any], matches_in_process: bool
) -> None:
    both.spark("CREATE TABLE t AS SELECT CAST(id AS INT) AS id, 'old' AS name FROM range(25)")
    if not matches_in_process:
        monkeypatch.setattr(small_merge, "_local_pairs", lambda *_: None)
    merged = both.session.execute(UPSERT.format(source=RANDOM))
    assert len(cached_sources) == (0 if matches_in_process else 1)
    assert len(scans) == 1
    ((rows, ids, new),) = both.rows("SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE name <> 'old') FROM t")
    assert rows == ids
    assert new == merged.rowcount > 0
    both.check_history("t")


@pytest.mark.parametrize(("ids", "condition"), [("id", "t.id = s.id AND upper(t.name) = 'OLD'"), ("CAST(id AS INT) AS id", "t.id = s.id")])
def test_a_source_whose_matches_only_spark_can_find_is_computed_once(
    both: Both, monkeypatch: pytest.MonkeyPatch, cached_sources: list[Any], ids: str, condition: str
) -> None:
    fetched: list[Any] = []
    fetch = SourceReader.fetch
    monkeypatch.setattr(SourceReader, "fetch", lambda *given, **more: fetched.append(given) or fetch(*given, **more))
    both.spark("CREATE TABLE t AS SELECT id, 'old' AS name FROM range(5)")
    both.spark(UPSERT.format(source=f"(SELECT {ids}, 'new' AS name FROM range(3, 8))").replace("t.id = s.id", condition))
    assert len(fetched) == len(cached_sources) == 1
    assert both.rows("SELECT name, count(*) FROM t GROUP BY name") == [("new", 5), ("old", 3)]


@pytest.mark.parametrize("bytes_of_strings", [90, 91])
def test_a_cached_source_of_large_strings_is_not_fetched(both: Both, monkeypatch: pytest.MonkeyPatch, bytes_of_strings: int) -> None:
    monkeypatch.setattr(merge, "reads_little", lambda _: False)
    monkeypatch.setattr(small_merge, "MAX_BYTES", 2 * 90)  # each value is fetched twice
    both.spark("CREATE TABLE t AS SELECT id, 'old' AS name FROM range(5)")
    fetched: list[Any] = []
    monkeypatch.setattr(SourceReader, "fetch", lambda *_, **__: fetched.append(1))
    source = f"(SELECT id, repeat('n', IF(id = 3, {bytes_of_strings} - 40, 10)) AS name FROM range(3, 8))"
    both.spark(UPSERT.format(source=source))
    assert len(fetched) == (1 if bytes_of_strings == 90 else 0)
    assert both.rows("SELECT count(*), sum(length(name)) FROM t") == [(8, bytes_of_strings + 9)]


def test_columns_whose_values_are_checked_are_merged_in_this_process(both: Both, cached_sources: list[Any]) -> None:
    both.duckdb("CREATE TABLE t AS SELECT i AS id, uuid() AS u, '[1]'::JSON AS j FROM range(5) r(i)")
    both.spark(UPSERT.format(source="(SELECT id, u, '[2]' AS j FROM t WHERE id = 3)"))
    assert cached_sources == []
    assert both.rows("SELECT id, CAST(j AS STRING) FROM t WHERE id IN (3, 4) ORDER BY id") == [(3, "[2]"), (4, "[1]")]


@pytest.mark.parametrize("sent", [9, 10])
def test_more_rows_than_are_fetched_are_merged_by_spark(
    both: Both, monkeypatch: pytest.MonkeyPatch, cached_sources: list[Any], sent: int
) -> None:
    monkeypatch.setattr("dbt.adapters.ducklake.lake.small.MAX_ROWS_OF_UNKNOWN_SIZE", 9)
    both.spark("CREATE TABLE t AS SELECT id, 'old' AS name FROM range(5)")
    both.spark(UPSERT.format(source=f"(SELECT explode(sequence(3L, {sent + 2}L)) AS id, 'new' AS name)"))
    assert len(cached_sources) == (0 if sent == 9 else 2), "the source and the pairs"
    assert both.rows("SELECT count(*), count(*) FILTER (WHERE name = 'new') FROM t") == [(sent + 3, sent)]


def test_a_condition_is_analyzed_although_the_source_is_empty(both: Both, cached_sources: list[Any]) -> None:
    both.spark("CREATE TABLE t AS SELECT id, 'old' AS name FROM range(5)")
    empty = "(SELECT id, 'new' AS name FROM range(0))"
    with pytest.raises(StatementError, match="nope"):
        both.spark(UPSERT.format(source=empty).replace("t.id = s.id", "t.id = s.id AND t.nope = 1"))
    with pytest.raises(StatementError, match="nope"):
        both.spark(UPSERT.format(source=empty).replace("INSERT *", "INSERT (id, name) VALUES (s.id, s.nope)"))
    assert both.session.execute(UPSERT.format(source=empty)).rowcount == 0
    assert cached_sources == []
    assert both.rows("SELECT DISTINCT name FROM t") == [("old",)]


def test_an_insert_clause_is_analyzed_although_a_cached_source_is_empty(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "reads_little", lambda _: False)
    both.spark("CREATE TABLE t AS SELECT id, 'old' AS name FROM range(5)")
    for clause in ("INSERT (id, name) VALUES (s.id, s.nope)", "AND s.nope = 1 THEN INSERT *"):
        text = UPSERT.format(source="(SELECT id, 'new' AS name FROM range(0))")
        with pytest.raises(StatementError, match="nope"):
            both.spark(text.replace("THEN INSERT *" if clause.startswith("AND") else "INSERT *", clause))


@pytest.mark.parametrize("second", ["name", "NAME"])
def test_columns_with_one_name_that_no_clause_names(both: Both, cached_sources: list[Any], second: str) -> None:
    both.spark("CREATE TABLE t AS SELECT id, 'old' AS name FROM range(5)")
    source = f"(SELECT a.id, string(a.id) AS name, b.word AS {second}, 'new' AS new FROM range(3, 6) a JOIN (SELECT 'x' AS word) b)"
    both.spark(f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.new")
    assert len(cached_sources) == 1
    assert both.rows("SELECT count(*) FROM t WHERE name = 'new'") == [(2,)]


def test_what_a_query_reads_is_known(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = both.session.spark()
    spark.udf.register("plus_one", lambda number: number + 1, "bigint")
    both.spark("CREATE TABLE t AS SELECT id FROM range(100)")
    queries = {
        "SELECT * FROM t": True,
        "WITH a AS (SELECT id FROM t) SELECT * FROM a JOIN a AS b USING (id)": True,
        "SELECT 1 AS id UNION ALL VALUES (2), (3)": True,
        "SELECT * FROM range(1000)": True,
        "SELECT * FROM range(10000000)": False,
        "SELECT plus_one(id) AS id FROM t": False,
        "SELECT * FROM t WHERE id IN (SELECT id FROM range(10000000))": False,
    }
    assert {query: reads_little(both.session.execute(query).frame) for query in queries} == queries
    assert returns_little(both.session.execute("SELECT * FROM t").frame)
    assert not returns_little(both.session.execute("SELECT * FROM t AS a CROSS JOIN t AS b CROSS JOIN t AS c CROSS JOIN t AS d").frame)
    monkeypatch.setattr(plans, "LITTLE_BYTES", 1)
    assert not reads_little(both.session.execute("SELECT * FROM t").frame)
