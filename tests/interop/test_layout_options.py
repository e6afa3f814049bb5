"""DuckDB reads files that were written with layout options, and every maintenance action preserves row ids."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both

CATALOGS = ["sqlite"]
ACTIONS = (
    "CALL flush_inlined_data(table_name => 't')",
    "CALL rewrite_data_files(table_name => 't', delete_threshold => 0.1)",
    "CALL merge_adjacent_files(table_name => 't')",
    "CALL expire_snapshots(older_than => now())",
    "CALL cleanup_old_files(cleanup_all => true)",
    "CALL delete_orphaned_files(cleanup_all => true)",
    "CHECKPOINT",
)


@pytest.mark.parametrize("hive", ["true", "false"])
def test_duckdb_prunes_by_partitions_with_and_without_directories(both: Both, hive: str) -> None:
    options = f"('hive_file_pattern' = '{hive}', 'per_thread_output' = 'true')"
    both.spark(f"CREATE TABLE t (k INT, v BIGINT) PARTITIONED BY (k) TBLPROPERTIES {options}")
    both.spark("INSERT INTO t SELECT CAST(id % 3 AS INT), id FROM range(0, 300, 1, 4)")
    files = [file for (file,) in both.duck.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchall()]
    assert len(files) > 3  # each task writes its own file
    assert [("/k=" in file) for file in files] == [hive == "true"] * len(files)
    assert both.rows("SELECT count(*), min(v) FROM t WHERE k = 2") == [(100, 2)]
    plan = both.duck.execute("EXPLAIN ANALYZE SELECT * FROM t WHERE k = 2").fetchall()[0][1]
    files_read = int(plan.split("Total Files Read:")[1].split()[0])
    assert 0 < files_read < len(files)
    both.duckdb("INSERT INTO t VALUES (2, 1000)")
    assert both.rows("SELECT max(v) FROM t WHERE k = 2") == [(1000,)]


def test_row_ids_survive_every_maintenance_action(both: Both) -> None:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 5")
    both.duckdb("CREATE TABLE t (id INTEGER, b VARCHAR)")
    for start in (0, 20, 40):
        both.duckdb(f"INSERT INTO t SELECT i, 'b' FROM range({start}, {start} + 20) s(i)")
    both.duckdb("INSERT INTO t VALUES (100, 'inlined'), (101, 'inlined')")
    both.spark("UPDATE t SET b = 'ours' WHERE id IN (3, 23, 101)")
    both.duckdb("UPDATE t SET b = 'theirs' WHERE id IN (4, 24, 100)")
    both.duckdb("DELETE FROM t WHERE id IN (5, 25)")
    both.spark("DELETE FROM t WHERE id BETWEEN 40 AND 50")
    row_ids, rows = both.row_ids("t", "id"), both.rows("SELECT * FROM t")
    for action in ACTIONS:
        both.spark(action)
        assert both.row_ids("t", "id") == row_ids, action
        assert both.rows("SELECT * FROM t") == rows, action
