"""Bucket keys whose type changes, or that a table gets while its inlined rows are flushed: DuckDB finds all rows by the key."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import ConflictError, StatementError
from tests.interop.conftest import Both

CATALOGS = ["sqlite"]
SAME_HASH = [
    ("INT", "BIGINT", "7"),
    ("TINYINT", "SMALLINT", "-7"),
    ("UTINYINT", "UBIGINT", "7"),
    ("UINTEGER", "DECIMAL(20,0)", "7"),
    ("INT", "DECIMAL(12,0)", "-7"),
    ("FLOAT", "DOUBLE", "0.5"),
    ("BOOLEAN", "INT", "1"),
    ("DECIMAL(5,2)", "DECIMAL(18,2)", "-1.5"),
    ("DECIMAL(20,2)", "DECIMAL(30,2)", "-1.5"),
    ("STRING", "JSON", "'7'"),
]
OTHER_HASH = [
    ("INT", "DOUBLE", "7"),
    ("INT", "DECIMAL(12,1)", "7"),
    ("UTINYINT", "INT", "7"),
    ("BIGINT", "DECIMAL(20,0)", "7"),
    ("DECIMAL(5,2)", "DECIMAL(19,2)", "1.5"),
    ("DECIMAL(20,20)", "DECIMAL(21,20)", "0.5"),
    ("DATE", "TIMESTAMP_NTZ", "DATE'2024-01-01'"),
]


def filled(both: Both, table: str, kind: str, value: str) -> None:
    """Create a table that is partitioned by the bucket of a column of this type, with one file written by each side."""
    both.spark("CALL set_option('data_inlining_row_limit', 0)")
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    both.spark(f"CREATE TABLE {table} (a {kind}, n INT) PARTITIONED BY (bucket(1000, a))")
    both.spark(f"INSERT INTO {table} VALUES ({value}, 1)")
    both.duckdb(f"INSERT INTO {table} SELECT a, 2 FROM {table}")


def files(both: Both) -> list[tuple[str, ...]]:
    """Return the data files of the table t."""
    return both.duck.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchall()


def test_a_bucket_key_gets_a_type_with_the_same_hash(both: Both) -> None:
    for number, (before, after, value) in enumerate(SAME_HASH):
        filled(both, f"t{number}", before, value)
        both.spark(f"ALTER TABLE t{number} ALTER COLUMN a TYPE {after}")
        both.spark(f"INSERT INTO t{number} VALUES ({value}, 3)")
        assert both.rows(f"SELECT n FROM t{number} WHERE a = {value}") == [(1,), (2,), (3,)], (before, after)


def test_a_bucket_key_keeps_its_type_if_the_new_type_hashes_differently(both: Both) -> None:
    for number, (before, after, value) in enumerate(OTHER_HASH):
        table = f"t{number}"
        filled(both, table, before, value)
        with pytest.raises(StatementError, match=rf"main[.]{table} has rows and the partition key bucket\(1000, a\).*rewrites all rows"):
            both.spark(f"ALTER TABLE {table} ALTER COLUMN a TYPE {after}")
        both.spark(f"CREATE OR REPLACE TABLE {table} PARTITIONED BY (bucket(1000, a)) AS SELECT CAST(a AS {after}) AS a, n FROM {table}")
        found = both.duck.execute(f"SELECT n FROM {table} WHERE a = {value} ORDER BY n").fetchall()
        assert found == [(1,), (2,)], (before, after)


def test_the_type_of_a_bucket_key_with_inlined_rows(both: Both) -> None:
    both.spark("CALL set_option('data_inlining_row_limit', 10)")
    both.spark("CREATE TABLE t (a INT, n INT) PARTITIONED BY (bucket(1000, a))")
    both.spark("INSERT INTO t VALUES (7, 1)")
    assert not files(both)
    with pytest.raises(StatementError, match="values of the new type are in other buckets"):
        both.spark("ALTER TABLE t ALTER COLUMN a TYPE DOUBLE")
    both.spark("ALTER TABLE t ALTER COLUMN n TYPE DOUBLE")
    both.spark("CREATE TABLE empty (a INT) PARTITIONED BY (bucket(4, a))")
    both.spark("ALTER TABLE empty ALTER COLUMN a TYPE DOUBLE")


def test_a_partition_key_does_not_become_a_variant(both: Both) -> None:
    both.spark("CREATE TABLE t (a INT, d DATE, n INT) PARTITIONED BY (a, year(d))")
    with pytest.raises(StatementError, match="cannot be partitioned by a, a variant"):
        both.spark("ALTER TABLE t ALTER COLUMN a TYPE VARIANT")
    with pytest.raises(StatementError, match=r"year\(d\) needs a date or timestamp"):
        both.spark("ALTER TABLE t ALTER COLUMN d TYPE VARIANT")
    both.spark("ALTER TABLE t ALTER COLUMN d TYPE TIMESTAMP")
    both.spark("ALTER TABLE t ALTER COLUMN n TYPE VARIANT")


def test_buckets_of_a_table_that_gets_inlined_rows_meanwhile(both: Both) -> None:
    both.spark("CALL set_option('data_inlining_row_limit', 10)")
    both.spark("CREATE TABLE t (a INT)")
    both.spark("BEGIN")
    both.spark("ALTER TABLE t SET PARTITIONED BY (bucket(1000, a))")
    both.duckdb("INSERT INTO t VALUES (1), (2), (3)")
    assert not files(both)
    with pytest.raises(ConflictError, match=r"main[.]t has rows"):
        both.spark("COMMIT")
    both.spark("ROLLBACK")
    assert both.rows("SELECT * FROM t WHERE a = 2") == [(2,)]


@pytest.mark.parametrize("later", ["RESET PARTITIONED BY", "SET PARTITIONED BY (v)"])
@pytest.mark.parametrize("clones", [True, False])
def test_rows_that_were_inlined_with_buckets_are_found_after_a_flush_and_a_rollback(both: Both, later: str, clones: bool) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER, v VARCHAR)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (bucket(4, a))")
    both.duckdb("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    then = both.snapshots() - 1
    both.duckdb(f"ALTER TABLE t {later}")
    both.duckdb("INSERT INTO t VALUES (4, 'x')")
    both.spark("CALL ducklake_flush_inlined_data('lake')")
    assert files(both)
    expected = {1: "x", 2: "y", 3: "z", 4: "x"}
    assert {a: v for a in expected for (v,) in both.duck.execute(f"SELECT v FROM t WHERE a = {a}").fetchall()} == expected
    assert both.duck.execute("SELECT a FROM t WHERE v = 'x' ORDER BY a").fetchall() == [(1,), (4,)]
    both.spark("CREATE SCHEMA s")
    target = f"version => {then}, table_name => 't'"
    both.spark(f"CALL ducklake_clone('lake', {target}, into => 's.t')" if clones else f"CALL ducklake_rollback('lake', {target})")
    table = "s.t" if clones else "t"
    del expected[4]
    assert dict(both.duck.execute(f"SELECT a, v FROM {table}").fetchall()) == expected
    assert {a: v for a in (1, 2, 3, 4) for (v,) in both.duck.execute(f"SELECT v FROM {table} WHERE a = {a}").fetchall()} == expected


@pytest.mark.parametrize("partitioned", ["PARTITIONED BY (bucket(4, a))", ""])
@pytest.mark.parametrize("rolls_back", [True, False])
def test_rows_that_were_inlined_before_a_rebuild_moved_their_bucket_key(both: Both, partitioned: str, rolls_back: bool) -> None:
    both.spark("CALL set_option('data_inlining_row_limit', 10)")
    both.spark("CREATE TABLE t (a INT, b INT) PARTITIONED BY (bucket(4, a))")
    both.spark("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    then = both.snapshots() - 1
    both.spark(f"CREATE OR REPLACE TABLE t {partitioned} AS SELECT b, a FROM t")
    assert not files(both)
    both.spark("CALL ducklake_flush_inlined_data('lake')")
    assert files(both)
    version = f"AT (VERSION => {then})"
    if rolls_back:
        both.spark(f"CALL ducklake_rollback('lake', version => {then}, table_name => 't')")
        version = ""
    for a in (1, 2, 3):
        assert both.duck.execute(f"SELECT b FROM t {version} WHERE a = {a}").fetchall() == [(10 * a,)]
        assert both.duck.execute(f"SELECT b FROM t WHERE a = {a}").fetchall() == [(10 * a,)]
