"""Faults of DuckDB that random runs (`differential`) found, and how this adapter behaves in these cases.

Each test first shows the fault with DuckDB alone, so it fails when a release of DuckDB fixes the fault. Then the random runs need not avoid
it any longer.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest, session_on
from tests.interop.conftest import Both
from tests.interop.oracle import connect


def other_client(catalog: CatalogUnderTest, statement: str, limit: int = 10) -> list[tuple[object, ...]]:
    """Return the result of a statement from a new DuckDB connection that inlines up to `limit` rows."""
    client = connect(catalog, data_inlining_row_limit=limit)
    client.execute("USE lake")
    try:
        return client.execute(statement).fetchall()
    finally:
        client.close()


def in_another_process(place: CatalogUnderTest, *statements: str) -> subprocess.CompletedProcess[str]:
    """Run statements with DuckDB in a process of its own, which may crash. The result of the last one is printed."""
    script = (
        "from tests.interop import oracle; from tests.catalogs import CatalogUnderTest\n"
        f"duck = oracle.connect({place!r}, data_inlining_row_limit=0)\n"
        f"for statement in ('USE lake', *{statements!r}): result = duck.execute(statement)\n"
        "print(result.fetchall())"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_a_column_that_duckdb_adds_without_inlining_breaks_its_next_inlined_insert(both: Both, catalog: CatalogUnderTest) -> None:
    other_client(catalog, "CREATE TABLE t (a INTEGER)")
    other_client(catalog, "ALTER TABLE t ADD COLUMN b INTEGER", limit=0)
    with pytest.raises(duckdb.Error, match="columns"):  # the fault
        other_client(catalog, "INSERT INTO t VALUES (1, 2)")
    both.spark("CALL set_option('data_inlining_row_limit', 10, table_name => 't')")
    both.spark("INSERT INTO t VALUES (3, 4)")
    other_client(catalog, "INSERT INTO t VALUES (5, 6)")  # DuckDB can continue, because we created an inlined table with the new columns
    both.spark("CALL set_option('data_inlining_row_limit', 0, table_name => 't')")
    both.spark("ALTER TABLE t ADD COLUMN c INT")  # our ALTER TABLE never leaves the old inlined table as the newest
    both.spark("CALL set_option('data_inlining_row_limit', 10, table_name => 't')")
    other_client(catalog, "INSERT INTO t VALUES (7, 8, 9)")
    assert both.rows("SELECT a, b, c FROM t WHERE c IS NULL") == [(3, 4, None), (5, 6, None)]
    assert both.rows("SELECT a, b, c FROM t WHERE c IS NOT NULL") == [(7, 8, 9)]


def test_duckdb_loses_added_columns_in_the_first_inlined_rows_of_a_table(both: Both, catalog: CatalogUnderTest) -> None:
    for name in ("theirs", "ours"):
        other_client(catalog, f"CREATE TABLE {name} (a INTEGER)", limit=0)
        other_client(catalog, f"ALTER TABLE {name} ADD COLUMN b INTEGER", limit=0)
    other_client(catalog, "INSERT INTO theirs VALUES (1, 2)")
    both.spark("CALL set_option('data_inlining_row_limit', 10, table_name => 'ours')")
    both.spark("INSERT INTO ours VALUES (1, 2)")
    both.spark("CREATE TABLE another (a INT)")
    assert other_client(catalog, "FROM theirs") == [(1, None)]  # the fault
    assert both.session.execute("SELECT * FROM theirs").fetch() == [(1, 2)]
    assert other_client(catalog, "FROM ours") == [(1, 2)]
    both.spark("CALL flush_inlined_data(table_name => 'theirs')")  # in a file the row is complete again
    assert other_client(catalog, "FROM theirs") == [(1, 2)]


def test_duckdb_forgets_dropped_tables_after_a_compaction(both: Both, catalog: CatalogUnderTest) -> None:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    both.duckdb("CREATE TABLE gone AS SELECT 7 AS a")
    both.duckdb("CREATE TABLE t (a INTEGER)")
    both.duckdb("DROP TABLE gone")
    both.duckdb("INSERT INTO t FROM range(5)")
    both.duckdb("DELETE FROM t WHERE a < 2")
    client = connect(catalog)
    client.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)")
    with pytest.raises(duckdb.CatalogException):  # the fault: it uses the definitions of a later snapshot for an earlier one
        client.execute("FROM lake.gone AT (VERSION => 2)")
    client.close()
    assert both.session.execute("SELECT * FROM gone VERSION AS OF 2").fetch() == [(7,)]
    assert other_client(catalog, "FROM gone AT (VERSION => 2)") == [(7,)]


def test_duckdb_rounds_the_constant_that_a_promoted_column_is_compared_with(both: Both) -> None:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    both.duckdb("CREATE TABLE t (a INTEGER)")
    both.duckdb("INSERT INTO t VALUES (1), (3)")
    both.duckdb("ALTER TABLE t ALTER COLUMN a SET DATA TYPE DECIMAL(20, 3)")
    assert len(both.duck.execute("SELECT a FROM t WHERE a <= 2.596").fetchall()) == 2  # the fault: it reads 2.596 as 3 for that file
    assert [int(a) for (a,) in both.session.execute("SELECT a FROM t WHERE a <= 2.596BD").fetch()] == [1]
    both.spark("UPDATE t SET a = 100 WHERE a <= 2.596BD")
    assert [int(a) for (a,) in both.rows("SELECT a FROM t")] == [3, 100]


def test_duckdb_does_not_find_bytes_that_are_no_text_in_its_own_files(both: Both) -> None:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    both.duckdb("CREATE TABLE t AS SELECT from_hex(CASE WHEN i < 5 THEN '00FF' ELSE '61' END) AS b FROM range(10) r (i)")
    assert both.duck.execute("SELECT * FROM t WHERE b = from_hex('00FF')").fetchall() == []  # the fault: of its Bloom filter
    assert both.session.execute("SELECT count(*) FROM t WHERE b = X'00FF'").fetch() == [(5,)]
    both.spark("DELETE FROM t WHERE b = X'00FF'")
    assert both.rows("SELECT count(*) FROM t") == [(5,)]


def test_duckdb_sorts_flushed_rows_of_an_older_layout_by_another_column(both: Both) -> None:
    for name in ("theirs", "ours"):
        both.duckdb(f"CREATE TABLE {name} (e INTEGER, c INTEGER, b INTEGER)")
        both.duckdb(f"ALTER TABLE {name} SET SORTED BY (b DESC)")
        both.duckdb(f"ALTER TABLE {name} ADD COLUMN z INTEGER")
        both.duckdb(f"INSERT INTO {name} VALUES (1, 2, 3, 0), (4, 5, 2, 0)")
        both.duckdb(f"ALTER TABLE {name} DROP COLUMN e")
    both.duckdb("CALL ducklake_flush_inlined_data('lake', table_name => 'theirs')")
    both.spark("CALL flush_inlined_data(table_name => 'ours')")
    assert both.duck.execute("SELECT b FROM theirs").fetchall() == [(2,), (3,)]  # the fault; an INTERNAL Error if the types differ
    assert both.duck.execute("SELECT b FROM ours").fetchall() == [(3,), (2,)]


def test_duckdb_cannot_write_some_lists_of_strings_with_version_2_of_parquet(both: Both) -> None:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    both.duckdb("CREATE TABLE t (a VARCHAR[])")
    both.duckdb("CALL ducklake_set_option('lake', 'parquet_version', 2)")
    with pytest.raises(duckdb.SerializationException, match="not enough space"):  # the fault
        both.duckdb("INSERT INTO t SELECT ['', 'back slash'] FROM range(4)")
    both.spark("INSERT INTO t SELECT array('', 'back slash') FROM range(4)")
    assert both.rows("SELECT a FROM t") == [(["", "back slash"],)] * 4


@pytest.mark.postgres
def test_duckdb_loses_deletes_when_it_flushes_a_bucketed_table_on_postgres(
    postgres_url: str, tmp_path: Path, runtime: SparkRuntime
) -> None:
    place = CatalogUnderTest("postgres", postgres_url, f"{tmp_path}/files/")
    texts = ["a,b", None, 'say "x"', "ä€😀", "b", None, "a", None, None, "b"]
    kept = [(3,), (5,), (6,), (8,), (9,)]
    with session_on(place.open(runtime)) as session, connect(place, data_inlining_row_limit=30) as duck:
        duck.execute("USE lake")
        for name in ("theirs", "ours"):
            duck.execute(f"CREATE TABLE {name} (a INTEGER, d VARCHAR)")
            duck.execute(f"ALTER TABLE {name} SET PARTITIONED BY (bucket(3, d))")
            duck.execute(f"INSERT INTO {name} SELECT * FROM (SELECT unnest(range(10)), unnest(?::VARCHAR[]))", [texts])
            for deleted in ("4", "1, 2", "0, 7"):  # PostgreSQL then returns the rows in another order
                duck.execute(f"DELETE FROM {name} WHERE a IN ({deleted})")
            assert duck.execute(f"SELECT a FROM {name} ORDER BY a").fetchall() == kept
        session.execute("CALL flush_inlined_data(table_name => 'ours')")
        other_client(place, "CALL ducklake_flush_inlined_data('lake', table_name => 'theirs')")
        assert session.execute("SELECT a FROM ours ORDER BY a").fetch() == kept
        assert other_client(place, "SELECT a FROM ours ORDER BY a") == kept
        assert len(other_client(place, "FROM theirs")) == 6  # the fault: a row of two that were deleted from one file is there again


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("type_name", "value"), [("UINTEGER", "i::UINTEGER"), ("DECIMAL(20,3)", "i::DECIMAL(20,3)"), ("UUID", "md5(i::VARCHAR)::UUID")]
)
def test_duckdb_writes_rows_into_wrong_buckets(both: Both, catalog: CatalogUnderTest, type_name: str, value: str) -> None:
    both.duckdb(f"CREATE TABLE source AS SELECT i, {value} AS k FROM range(2055) r(i)")
    both.duckdb(f"CREATE TABLE t (i BIGINT, k {type_name})")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (bucket(8, k))")
    # Its second vector (of 2048 rows) reads what the first one left behind the selected rows; before that there may be anything.
    for _ in range(5):
        if in_another_process(catalog, "INSERT INTO t FROM source WHERE i NOT IN (2047, 2048)").returncode == 0:
            break
    rows = both.duck.execute("SELECT i, k::VARCHAR FROM t WHERE i > 2047 ORDER BY i").fetchall()
    queries = [f"SELECT i FROM t WHERE k = {repr(key) if type_name == 'UUID' else key}" for _, key in rows]
    assert sum(len(both.duck.execute(query).fetchall()) for query in queries) < len(rows) == 6  # the fault
    assert [both.session.execute(query).fetch() for query in queries] == [[(i,)] for i, _ in rows]


def test_a_flush_by_duckdb_breaks_the_inlined_tables_of_other_connections(both: Both, catalog: CatalogUnderTest) -> None:
    for name in ("theirs", "ours"):
        both.duckdb(f"CREATE TABLE {name} (a INTEGER)")
        both.duckdb(f"INSERT INTO {name} VALUES (1)")
        both.duckdb(f"ALTER TABLE {name} ADD COLUMN b INTEGER")
        both.duckdb(f"INSERT INTO {name} VALUES (1, 2)")
        assert len(both.rows(f"SELECT a FROM {name}")) == 2
    client = connect(catalog)
    assert len(client.execute("SELECT a FROM lake.theirs").fetchall()) == 2
    other_client(catalog, "CALL ducklake_flush_inlined_data('lake', table_name => 'theirs')")
    with pytest.raises(duckdb.Error):  # the fault: its list of inlined tables is cached by schema version
        client.execute("SELECT a FROM lake.theirs").fetchall()
    client.close()
    both.spark("CALL flush_inlined_data(table_name => 'ours')")
    assert len(both.rows("SELECT a FROM ours")) == 2  # our flush empties the inlined table and keeps it until the next flush


def test_duckdb_fails_on_its_statistics_of_a_promoted_column(both: Both, catalog: CatalogUnderTest) -> None:
    for name in ("theirs", "ours"):
        both.duckdb(f"CREATE TABLE {name} (a INTEGER)")
        both.duckdb(f"INSERT INTO {name} VALUES (1), (5)")
    client = connect(catalog)
    client.execute("USE lake")
    assert client.execute("SELECT a FROM theirs WHERE a = 5").fetchall() == [(5,)]
    client.execute("ALTER TABLE theirs ALTER COLUMN a SET DATA TYPE BIGINT")
    with pytest.raises(duckdb.Error, match="INTERNAL"):  # the fault
        client.execute("SELECT a FROM theirs WHERE a = 5").fetchall()
    client.close()
    assert both.duck.execute("SELECT a FROM ours WHERE a = 5").fetchall() == [(5,)]
    both.spark("ALTER TABLE ours ALTER COLUMN a TYPE BIGINT")
    assert both.duck.execute("SELECT a FROM ours WHERE a = 5").fetchall() == [
        (5,)
    ]  # our ALTER TABLE increments the counter that is the key of its cache


MERGE = "MERGE INTO t USING (SELECT 2 AS a, 2 AS b) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b)"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("before", "alter", "change", "rows"),
    [
        ("INSERT INTO t VALUES (1, 2)", "ADD COLUMN c INTEGER", "CREATE OR REPLACE TABLE t AS SELECT b FROM t WHERE b > 0", [(2,)]),
        ("ALTER TABLE t SET PARTITIONED BY (bucket(1, a))", "RESET PARTITIONED BY", MERGE, [(2, 2)]),
        (
            "ALTER TABLE t SET PARTITIONED BY (a)",
            "RESET PARTITIONED BY",
            "INSERT INTO t SELECT i, i FROM range(20) r(i)",
            [(i, i) for i in range(20)],
        ),
    ],
    ids=["replace", "merge", "insert"],
)
def test_duckdb_crashes_when_it_changes_a_table_altered_in_the_same_transaction(
    both: Both, tmp_path: Path, before: str, alter: str, change: str, rows: list[tuple[int, ...]]
) -> None:
    statements = ("CREATE TABLE t (a INTEGER, b INTEGER)", before, "BEGIN", f"ALTER TABLE t {alter}", change, "COMMIT")
    for _ in range(5):  # what it accesses is sometimes still there
        done = in_another_process(CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/x.sqlite", f"{tmp_path}/x/"), *statements)
        if done.returncode != 0:
            break
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert "INTERNAL Error: Attempted to access index" in done.stderr  # the fault
    for statement in statements:
        both.spark(statement)
    assert both.rows("SELECT * FROM t") == rows


def test_duckdb_loses_a_row_that_it_merged_into_inlined_rows_of_the_same_transaction(both: Both) -> None:
    upsert = "MERGE INTO {} AS t USING ({}) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
    for table, run in (("theirs", both.duckdb), ("ours", both.spark)):
        both.duckdb(f"CREATE TABLE {table} (id INTEGER, n INTEGER)")
        run("BEGIN")
        run(f"INSERT INTO {table} VALUES (1, 3)")
        for source in ("SELECT 4 AS id, 2 AS n UNION ALL SELECT 5 AS id, 0 AS n", "SELECT 5 AS id, 1 AS n", "SELECT 1 AS id, 3 AS n"):
            run(upsert.format(table, source))
        run("COMMIT")
    assert both.rows("SELECT id, n FROM ours") == [(1, 3), (4, 2), (5, 1)]
    assert both.rows("SELECT id, n FROM theirs") == [(1, 3), (4, 2)]  # the fault


@pytest.mark.parametrize("flushed_by", ["duckdb", "spark"])
def test_duckdb_repeats_earlier_rows_after_a_rewrite_and_a_flush(both: Both, flushed_by: str) -> None:
    both.duckdb("CREATE TABLE t AS SELECT i AS id FROM range(40) r(i)")
    both.duckdb("DELETE FROM t WHERE id = 1")
    both.duckdb("CALL ducklake_flush_inlined_data('lake')")
    both.duckdb("DELETE FROM t WHERE id = 2")
    version = both.snapshots() - 1
    both.duckdb("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    at = f"SELECT count(*), count(DISTINCT id) FROM t AT (VERSION => {version})"
    assert both.duck.execute(at).fetchall() == [(38, 38)]

    run = both.duckdb if flushed_by == "duckdb" else both.spark
    run("CALL ducklake_flush_inlined_data('lake')")  # the deletes of a file that no longer is in the table
    fault = flushed_by == "duckdb"  # its delete file overlaps with the first one
    assert both.duck.execute(at).fetchall() == [(78, 40) if fault else (38, 38)]
    assert both.session.execute(f"SELECT count(*), count(DISTINCT id) FROM t VERSION AS OF {version}").fetch() == [(38, 38)]
    assert both.rows("SELECT count(*) FROM t") == [(38,)]
