"""A scan leaves out the deleted rows in each of its ways: by a list, a bitmap, an anti join with positions read here, and one read by Spark."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.spark.read import local, positions
from dbt.adapters.ducklake.spark.read.scan import scan
from tests.interop.conftest import Both
from tests.places import nightly

CATALOGS = ["sqlite"]
WAYS = {
    "list": {"MAX_LITERALS": 10_000},
    "bitmap": {"MAX_LITERALS": 0},
    "bitmap by file": {"MAX_LITERALS": 0, "POSITIONS_AT_ONCE": 1, "KEYS_AT_ONCE": 7},
    "join": {"MAX_LITERALS": 0, "MAX_BITS": 0},
    "join of few": {"MAX_LITERALS": 0, "MAX_POSITIONS_OF_FILE": 0},
    "join in Spark": {"MAX_LITERALS": 0, "MAX_BITS": 0, "FETCH_LIMIT": 0},
}


@contextmanager
def limited(monkeypatch: pytest.MonkeyPatch, way: str) -> Iterator[None]:
    """Have scans leave out the deleted rows in one way."""
    with monkeypatch.context() as patch:
        patch.setattr(local, "MAX_ROWS", -1)
        for name, value in WAYS[way].items():
            patch.setattr(positions, name, value)
        yield


@pytest.mark.parametrize("deletes", ["", *nightly("WHERE part = 1")], ids=["all files", "one file"])
def test_rows_that_are_left(both: Both, monkeypatch: pytest.MonkeyPatch, deletes: str) -> None:
    both.duckdb("CREATE TABLE t (id BIGINT, part INTEGER)")
    for part, (start, end) in enumerate([(0, 100), (100, 164), (164, 165), (165, 400)]):
        both.duckdb(f"INSERT INTO t SELECT range, {part} FROM range({start}, {end})")
    both.spark("INSERT INTO t SELECT id, 4 FROM range(400, 1000)")
    condition = f"id IN (SELECT id FROM t {deletes})"
    both.duckdb(f"DELETE FROM t WHERE {condition} AND id % 3 = 0")
    for number, way in enumerate(WAYS):
        with limited(monkeypatch, way):
            both.spark(f"DELETE FROM t WHERE {condition} AND (id % 64 = 36 OR id BETWEEN 110 AND 120) AND id % {len(WAYS)} = {number}")
    both.spark("ALTER TABLE t SET TBLPROPERTIES ('data_inlining_row_limit' = '100')")
    both.duckdb(f"DELETE FROM t WHERE {condition} AND id % 128 IN (0, 100, 127)")
    for way in WAYS:
        with limited(monkeypatch, way):
            rows = both.rows("SELECT * FROM t")
            assert rows == [row for row in rows if row[0] % 3 or (deletes and row[1] != 1)], way
            assert both.rows("SELECT part, count(*), sum(id) FROM t WHERE id > 90 GROUP BY part"), way
            both.check_history("t")


def test_the_query_of_a_bitmap_needs_one_scan_and_no_join(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.spark("CREATE TABLE t AS SELECT id, id AS n FROM range(3000)")
    both.spark("DELETE FROM t WHERE id % 2 = 0")
    reader = both.session.catalog.reader()
    table = reader.find("main", "t")
    assert isinstance(table, Table)
    plan = reader.scan_plan(table)
    spark = both.session.spark()

    def text() -> str:
        return str(scan(spark, plan)._jdf.queryExecution().executedPlan().toString())

    assert "Join" not in text()
    monkeypatch.setattr(positions, "MAX_BITS", 0)
    assert "BroadcastHashJoin" in text()


@pytest.mark.parametrize("deleted", [(1, 98, 150), (1, 110)], ids=["deletes beyond", "deletes in the next file"])
def test_a_file_with_more_rows_than_the_catalog_counts(both: Both, monkeypatch: pytest.MonkeyPatch, deleted: tuple[int, ...]) -> None:
    monkeypatch.setattr(positions, "MAX_LITERALS", 0)
    monkeypatch.setattr(local, "MAX_ROWS", -1)
    both.spark("CREATE TABLE t AS SELECT id FROM range(100)")
    both.spark("INSERT INTO t SELECT id FROM range(100, 200)")
    both.spark(f"DELETE FROM t WHERE id IN {deleted}")
    with sqlite3.connect(str(both.session.catalog.location.file)) as connection:
        connection.execute("UPDATE ducklake_data_file SET record_count = 64")
    found = [row[0] for row in both.session.execute("SELECT id FROM t").fetch()]
    assert sorted({*range(200)} - {*found}) == [*deleted]
