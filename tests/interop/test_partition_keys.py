"""Files have the same partition values whichever engine writes them, and overwrites and replaced tables use the right partition keys."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import text

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.lake import small
from tests.interop.conftest import Both
from tests.places import nightly

CATALOGS = ["sqlite"]
DECIMALS = {
    "DECIMAL(20,20)": ("0.5", "-0.5", "0", "0.00000000012", "-0.00000000012", "0.99999999999999999999"),
    "DECIMAL(38,38)": ("0.5", "-0.25", "0", "0.00000000012"),
    "DECIMAL(20,19)": ("0.5", "-0.5", "0", "1.5", "-9.25", "0.00000000012"),
    "DECIMAL(38,0)": ("0", "-7", "12345678901234567890123"),
    "DECIMAL(18,18)": ("0.5", "-0.5", "0", "0.000000000123"),
    "DECIMAL(12,3)": ("0.5", "-1234.5", "0", "0.001"),
}


def no_inlining(both: Both) -> None:
    both.spark("CALL set_option('data_inlining_row_limit', 0)")
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")  # DuckDB reads options only when it attaches


def partition_values(both: Both, table: str) -> list[tuple[int, str]]:
    """Return the partition values of all files of a table, each as the index of its key and the stored text."""
    query = (
        "SELECT v.partition_key_index, v.partition_value FROM ducklake_file_partition_value v "
        f"JOIN ducklake_table t ON t.table_id = v.table_id WHERE t.table_name = '{table}'"
    )
    with both.session.catalog._database.reading() as connection:
        return sorted((row[0], row[1]) for row in connection.execute(text(query)))


@pytest.mark.nightly
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_buckets_of_decimals_are_those_of_duckdb(both: Both, ansi: str) -> None:
    no_inlining(both)
    both.spark(f"SET spark.sql.ansi.enabled = {ansi}")
    for number, (kind, values) in enumerate(DECIMALS.items()):
        ours, theirs = f"ours_{number}", f"theirs_{number}"
        for name in (ours, theirs):
            both.spark(f"CREATE TABLE {name} (a {kind}) PARTITIONED BY (bucket(1000, a))")
        literals = [f"CAST('{value}' AS {kind})" for value in values]
        both.spark(f"INSERT INTO {ours} SELECT explode(array({', '.join(literals)}))")
        for literal in literals:
            both.duckdb(f"INSERT INTO {theirs} SELECT {literal}")
        assert set(partition_values(both, ours)) == set(partition_values(both, theirs)), kind
        assert both.rows(f"SELECT count(*) FROM {theirs} WHERE a = {values[0]}") == [(1,)]


def test_parts_of_timestamps_are_in_utc_whoever_writes(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    no_inlining(both)
    both.spark("SET TIME ZONE 'America/New_York'")
    rows = "SELECT id AS i, timestamp_seconds(1704076200 + id * 1800) AS z FROM range(4)"  # half-hours from 2024-01-01 02:30 UTC
    for name, most_values in (("by_python", 1_000_000), ("by_spark", 0)):
        monkeypatch.setattr(small, "MAX_VALUES", most_values)
        both.spark(f"CREATE TABLE {name} (i BIGINT, z TIMESTAMP) PARTITIONED BY (year(z), hour(z))")
        both.spark(f"INSERT INTO {name} {rows}")
        both.spark(f"UPDATE {name} SET i = i + 10")
    both.duckdb("CREATE TABLE theirs (i BIGINT, z TIMESTAMPTZ)")
    both.duckdb("ALTER TABLE theirs SET PARTITIONED BY (year(z), hour(z))")
    both.duckdb("INSERT INTO theirs SELECT * FROM by_python")
    assert (
        set(partition_values(both, "by_python"))
        == set(partition_values(both, "by_spark"))
        == set(partition_values(both, "theirs"))
        == {(0, "2024"), (1, "2"), (1, "3"), (1, "4")}
    )
    both.duckdb("SET TimeZone = 'Asia/Tokyo'")
    both.duckdb("INSERT INTO theirs SELECT * FROM by_python")
    for condition in ("year(z) = 2023", "hour(z) = 21", "z = TIMESTAMP'2024-01-01 02:30:00Z'", "date(z) = DATE'2023-12-31'"):
        counts = [both.session.execute(f"SELECT count(*) FROM {name} WHERE {condition}").fetch()[0][0] for name in ("by_python", "theirs")]
        assert counts[0] > 0
        assert counts[1] == 2 * counts[0], condition


@pytest.mark.parametrize("transform", ["day(z)", "bucket(5, z)", "i", "z", *nightly("hour(z)", "bucket(5, i)")])
def test_an_overwrite_replaces_the_partitions_of_the_files(both: Both, transform: str) -> None:
    """The partitions are those of the files, in UTC, although the session has another time zone."""
    no_inlining(both)
    rows = "SELECT id AS i, timestamp_seconds(1704034800 + id * 14400) AS z FROM range(12)"  # from midnight in Tokyo
    both.spark(f"CREATE TABLE t PARTITIONED BY ({transform}) AS {rows}")
    files = dict(both.duck.execute("SELECT i, filename FROM t").fetchall())  # one file for each partition
    both.spark("SET TIME ZONE 'Asia/Tokyo'")
    column = transform.rstrip(")")[-1]  # i or z
    both.spark(f"INSERT OVERWRITE t PARTITION ({column}) SELECT i, z FROM t WHERE i = 3")
    expected = {i for i, file in files.items() if file != files[3]} | {3}
    assert {i for i, _ in both.rows("SELECT i, z FROM t")} == expected


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        ("PARTITION (day(z))", {0, 1, 2, 3, 9, 10, 11}),
        ("PARTITION (z)", {0, 1, 2, 3, 9, 10, 11}),
        ("PARTITION (i)", set(range(12)) - {3}),
        ("PARTITION (day(z), i)", set(range(12))),
    ],
)
def test_an_overwrite_compares_the_keys_that_it_names(both: Both, named: str, kept: set[int]) -> None:
    both.spark("CREATE TABLE t (i BIGINT, z TIMESTAMP, v STRING) PARTITIONED BY (day(z), i)")
    both.spark("INSERT INTO t SELECT id, timestamp_seconds(1704034800 + id * 14400), 'old' FROM range(12)")
    both.spark("SET TIME ZONE 'Asia/Tokyo'")
    z = "z + INTERVAL 10 DAYS" if named == "PARTITION (i)" else "z"  # another day: only i is compared
    both.spark(f"INSERT OVERWRITE t {named} SELECT i, {z}, 'new' FROM t WHERE i = 3")
    found = both.rows("SELECT i, v FROM t")
    assert found == sorted([(i, "old") for i in kept - {3}] + [(3, "new")])


@pytest.mark.parametrize("key", ["month(z)", "bucket(4, i)", "year(v)", "day(i)"])
def test_an_overwrite_names_only_keys_of_the_table(both: Both, key: str) -> None:
    both.spark("CREATE TABLE t (i BIGINT, z TIMESTAMP, v STRING) PARTITIONED BY (day(z), i, bucket(5, v))")
    with pytest.raises(StatementError, match=re.escape(f"{key} is not a partition key of the table")):
        both.spark(f"INSERT OVERWRITE t PARTITION ({key}) SELECT 1, NULL, 'x'")


@pytest.mark.parametrize("key", ["SET PARTITIONED BY (year(c))", "SET PARTITIONED BY (a, c)", "SET SORTED BY (a, c)"])
def test_a_replaced_table_loses_keys_that_its_new_types_do_not_allow(both: Both, key: str) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER, c TIMESTAMP)")
    both.duckdb(f"ALTER TABLE t {key}")
    both.spark("CREATE OR REPLACE TABLE t AS SELECT 1 AS a, map('x', 2) AS c UNION ALL SELECT 0, map('y', 3)")
    assert both.rows("SELECT a FROM t") == [(0,), (1,)]
    both.duckdb("INSERT INTO t VALUES (2, MAP {'z': 4})")
    both.spark("INSERT INTO t SELECT 3, map('x', 5)")
    assert both.rows("SELECT a, c['x'] FROM t") == [(0, None), (1, 2), (2, None), (3, 5)]


def test_rows_of_a_table_that_is_sorted_by_a_map(both: Both) -> None:
    """Spark cannot sort by maps as DuckDB does, so it sorts only by the sort keys before the map."""
    no_inlining(both)
    both.duckdb("CREATE TABLE t (a INTEGER, c MAP(VARCHAR, INTEGER))")
    both.duckdb("ALTER TABLE t SET SORTED BY (a DESC, c)")
    both.spark("INSERT INTO t SELECT id, map('x', id) FROM range(20)")
    both.spark("CALL merge_adjacent_files()")
    assert both.duck.execute("SELECT a FROM t").fetchall() == [(i,) for i in reversed(range(20))]
    assert both.rows("SELECT a, c['x'] FROM t") == [(i, i) for i in range(20)]
