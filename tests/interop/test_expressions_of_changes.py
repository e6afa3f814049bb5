"""Expressions of UPDATE, DELETE, MERGE and INSERT … PARTITION mean the same however the rows are read: by a scan, a join, or locally."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.lake import small, target
from dbt.adapters.ducklake.spark.read import local
from tests.interop.conftest import Both
from tests.places import nightly, nightly_rows

pytestmark = pytest.mark.local_rows
CATALOGS = ["sqlite"]


@pytest.fixture(params=["in process", *nightly("fetched"), "by Spark"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where rows are read and written: in this process, read by Spark and written in this process ("fetched"), or by Spark."""
    if request.param != "in process":
        monkeypatch.setattr(local, "MAX_ROWS", 0)
    if request.param == "by Spark":
        monkeypatch.setattr(small, "MAX_VALUES", 0)
        monkeypatch.setattr(target, "MAX_DELETED", 0)
    return str(request.param)


def rows(both: Both, query: str = "SELECT * FROM t ORDER BY id") -> list[tuple[Any, ...]]:
    return both.session.execute(query).fetch()


@pytest.fixture
def tables(both: Both, way: str) -> Both:  # noqa: ARG001 (sets limits)
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    both.duckdb("CREATE TABLE t AS SELECT range AS id, 'a' AS v, '' AS j FROM range(4)")
    both.duckdb("CREATE TABLE status AS SELECT range + 2 AS id, 'new' AS v, if(range = 0, NULL, 'shipped') AS status FROM range(3)")
    return both


def test_a_star_in_an_update_has_the_columns_of_the_table(tables: Both) -> None:
    expected = rows(tables, "SELECT to_json(struct(*)), xxhash64(*) FROM t ORDER BY id")
    tables.spark("UPDATE t SET j = concat(to_json(struct(*)), xxhash64(t.*)) WHERE hash(*) IN (SELECT hash(*) FROM t WHERE id > 0)")
    assert [row[2] for row in rows(tables)] == ["", *(f"{json}{number}" for json, number in expected[1:])]
    tables.spark("UPDATE t SET v = to_json(struct(* EXCEPT (j, t.v))) WHERE rowid = 0")
    assert rows(tables)[0][1] == '{"id":0}'
    with pytest.raises(StatementError, match="EXCEPT"):
        tables.spark("UPDATE t SET v = to_json(struct(* EXCEPT (nowhere)))")


def test_a_star_in_a_delete_has_the_columns_of_the_table(tables: Both) -> None:
    tables.spark("DELETE FROM t WHERE xxhash64(*) = (SELECT xxhash64(*) FROM t WHERE id = 2) OR rowid = 0")
    assert [row[0] for row in rows(tables)] == [1, 3]


def test_stars_in_a_merge_have_the_columns_of_their_side(tables: Both) -> None:
    tables.spark(
        "MERGE INTO t USING (SELECT id, v, '' AS j FROM t WHERE id < 2 UNION ALL SELECT 3, 'b', '' UNION ALL SELECT 9, 'n', '') s ON t.id = s.id "
        "WHEN MATCHED AND xxhash64(s.*) <> xxhash64(t.*) THEN UPDATE SET v = s.v, j = to_json(struct(s.*)) "
        "WHEN NOT MATCHED THEN INSERT (id, v, j) VALUES (s.id, to_json(struct(*)), to_json(struct(s.* EXCEPT (v))))"
    )
    assert rows(tables) == [
        *((id, "a", "") for id in range(3)),
        (3, "b", '{"id":3,"v":"b","j":""}'),
        (9, '{"id":9,"v":"n","j":""}', '{"id":9,"j":""}'),
    ]


def test_a_column_that_is_called_like_the_source(tables: Both) -> None:
    tables.spark("MERGE INTO t USING status ON t.id = status.id WHEN MATCHED AND status IS NOT NULL THEN UPDATE SET v = status")
    assert [row[1] for row in rows(tables)] == ["a", "a", "a", "shipped"]
    tables.spark("MERGE INTO t USING status ON t.id = status.id WHEN MATCHED AND status IS NULL THEN DELETE")
    assert [row[0] for row in rows(tables)] == [0, 1, 3]
    with pytest.raises(StatementError):
        tables.spark("MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED AND s IS NOT NULL THEN DELETE")


def test_the_file_of_a_row(tables: Both) -> None:
    tables.spark("INSERT INTO t SELECT id + 10, 'second file', '' FROM range(2)")
    tables.spark("UPDATE t SET j = input_file_name() WHERE id IN (3, 11)")
    names = {row[0]: row[2] for row in rows(tables)}
    assert names[3].endswith(".parquet")
    assert names[11].endswith(".parquet")
    assert names[3] != names[11]
    tables.spark(f"DELETE FROM t WHERE input_file_name() = '{names[3]}'")
    assert [row[0] for row in rows(tables)] == [3, 10, 11]
    tables.spark(f"MERGE INTO t USING (SELECT 10 AS id) s ON t.id = s.id WHEN MATCHED AND input_file_name() = '{names[11]}' THEN DELETE")
    assert [row[0] for row in rows(tables)] == [3, 11]


@pytest.mark.usefixtures("way")
def test_a_column_cannot_have_a_value_in_partition_and_in_the_query(both: Both) -> None:
    both.spark("CREATE TABLE p (id BIGINT, v STRING) PARTITIONED BY (v)")
    both.spark("INSERT INTO p VALUES (0, 'x')")
    for query in ("BY NAME SELECT 1 AS id, 'y' AS v", "(id, v) SELECT 1, 'y'"):
        for how in ("OVERWRITE", "INTO"):
            with pytest.raises(StatementError, match="column v has a value in PARTITION"):
                both.spark(f"INSERT {how} p PARTITION (v = 'x') {query}")
    assert rows(both, "SELECT * FROM p") == [(0, "x")]


@pytest.mark.usefixtures("way")
def test_partitions_of_rounded_timestamps_are_replaced(both: Both) -> None:
    both.duckdb("CREATE TABLE p (id INTEGER, ts TIMESTAMP_S)")
    both.duckdb("ALTER TABLE p SET PARTITIONED BY (ts)")
    both.duckdb("INSERT INTO p VALUES (0, '2024-01-01 10:00:01'), (1, '2024-01-01 10:00:02')")
    both.spark("INSERT OVERWRITE p PARTITION (ts) SELECT 5, TIMESTAMP_NTZ'2024-01-01 10:00:00.6'")
    assert both.rows("SELECT id FROM p ORDER BY id") == [(1,), (5,)]


STORED: list[tuple[str, str | None, str]] = [
    ("TIMESTAMP_S", "2024-01-01 10:00:01", "TIMESTAMP_NTZ'2024-01-01 10:00:00.6'"),
    ("TIMESTAMP_MS", "2024-01-01 10:00:00.002", "'2024-01-01T10:00:00.0015'"),
    ("TIMESTAMP_NS", "2024-01-01 10:00:00.5", "'2024-01-01T10:00:00.500'"),
    ("TIMESTAMP_NS", "2024-01-01 00:00:00", "DATE'2024-01-01'"),
    ("UUID", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
    ("TIMESTAMP_S", None, "NULL"),
]


@pytest.mark.parametrize(
    ("kind", "stored", "value", "ansi"),
    [*((*each, "true") for each in STORED), (*STORED[1], "false"), *nightly_rows(*((*each, "false") for each in (STORED[0], *STORED[2:])))],
)
def test_a_partition_with_a_value_is_replaced_by_the_stored_value(both: Both, kind: str, stored: str | None, value: str, ansi: str) -> None:
    both.spark(f"SET spark.sql.ansi.enabled = {ansi}")
    both.duckdb(f"CREATE TABLE p (id INTEGER, v {kind})")
    both.duckdb("ALTER TABLE p SET PARTITIONED BY (v)")
    both.duck.execute("INSERT INTO p VALUES (0, ?)", [stored])
    other = "NULL" if stored else "'2024-02-02'"
    both.duckdb(f"INSERT INTO p VALUES (1, {other})")
    both.spark(f"INSERT INTO p PARTITION (v = {value}) SELECT 2")
    assert both.rows("SELECT count(DISTINCT v) FROM p") == [(1,)]
    both.spark(f"INSERT OVERWRITE p PARTITION (v = {value}) SELECT 5")
    assert both.rows("SELECT id FROM p ORDER BY id") == [(1,), (5,)]
    assert both.duck.execute("SELECT v::VARCHAR FROM p WHERE id = 5").fetchall() == [(stored,)]


def test_a_subquery_over_a_table_of_the_same_name(tables: Both) -> None:
    tables.spark("CREATE SCHEMA staging")
    tables.spark("CREATE TABLE staging.t AS SELECT id + 2 AS id, concat('new ', id) AS v FROM range(9)")
    tables.spark("UPDATE main.t SET v = (SELECT max(staging.t.v) FROM staging.t WHERE staging.t.id = main.t.id) WHERE id <> 2")
    assert [row[1] for row in rows(tables)] == [None, None, "a", "new 1"]
    tables.spark("DELETE FROM main.t WHERE EXISTS (SELECT 1 FROM staging.t WHERE staging.t.id = main.t.id AND t.v = 'new 0')")
    assert [row[0] for row in rows(tables)] == [0, 1, 3]
    assert tables.rows(
        "SELECT staging.t.id FROM staging.t WHERE EXISTS (SELECT 1 FROM main.t WHERE main.t.id = staging.t.id)",
    ) == [(3,)]
