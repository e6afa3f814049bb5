"""The manual of DuckLake 0.3: each of its examples that concerns a lake, in its spelling, run in our session.

Each test covers a page or a group of pages; names and values are our own. Where the manual shows a result, it is asserted, and DuckDB must
return the same. Left out because they do not concern our session:

- installing DuckDB and its extension, its secrets and configuration (`CREATE SECRET`, `SET ducklake_max_retry_count`; ours: the profile);
- `ATTACH`, `DETACH`, `USE memory` and `COPY FROM DATABASE`: lakes are attached by the profile (docs/attach.md);
- `glob(…)` and files as tables in DuckDB's spelling (Spark: parquet.`path`);
- what the manual itself shows as refused by the catalog database or object store in its access-control guide;
- the queries on metadata tables, which are for authors of clients.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import DuckLakeError
from tests.interop.conftest import Both


def walk(both: Both, *statements: str) -> None:
    for statement in statements:
        both.spark(statement)


def rows(both: Both, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query that both sides can run, in its order."""
    ours = [tuple(row) for row in both.session.execute(query).fetch()]
    theirs = [tuple(row) for row in both.duck.execute(query).fetchall()]
    assert sorted(ours, key=repr) == sorted(theirs, key=repr)
    return ours


def test_introduction(both: Both) -> None:
    walk(both, "CREATE TABLE stations AS SELECT 'AMS' AS code, 'Amsterdam' AS name_long UNION ALL SELECT 'ASB', 'Arena'")
    walk(both, "UPDATE stations SET name_long = 'Cruijff Arena' WHERE code = 'ASB'")
    assert rows(both, "SELECT name_long FROM stations WHERE code = 'ASB'") == [("Cruijff Arena",)]
    assert [row[0] for row in both.session.execute("FROM lake.snapshots()").fetch()] == [0, 1, 2]
    assert rows(both, "SELECT name_long FROM stations AT (VERSION => 1) WHERE code = 'ASB'") == [("Arena",)]
    assert rows(both, "SELECT name_long FROM stations AT (VERSION => 2) WHERE code = 'ASB'") == [("Cruijff Arena",)]


def test_snapshots(both: Both) -> None:
    walk(both, "CREATE TABLE people (a INTEGER, b VARCHAR)")
    walk(both, "BEGIN", "INSERT INTO people VALUES (1, 'pedro')")
    walk(both, "CALL lake.set_commit_message('Pedro', 'Inserting myself', extra_info => '{''foo'': 7, ''bar'': 10}')", "COMMIT")
    query = "SELECT author, commit_message, commit_extra_info FROM lake.snapshots() WHERE snapshot_id = 2"
    assert rows(both, query) == [("Pedro", "Inserting myself", "{'foo': 7, 'bar': 10}")]
    assert rows(both, "SELECT * FROM lake.current_snapshot()") == [(2,)]
    assert both.session.execute("FROM lake.last_committed_snapshot()").fetch() == [(2,)]


def test_schema_evolution(both: Both) -> None:
    walk(both, "CREATE TABLE tbl (a INTEGER, nested_column STRUCT(x INTEGER))", "INSERT INTO tbl VALUES (1, named_struct('x', 2))")
    walk(both, "ALTER TABLE tbl ADD COLUMN new_column INTEGER", "ALTER TABLE tbl ADD COLUMN other VARCHAR DEFAULT 'my_default'")
    walk(both, "ALTER TABLE tbl ADD COLUMN nested_column.new_field INTEGER")
    walk(both, "ALTER TABLE tbl RENAME new_column TO new_name", "ALTER TABLE tbl RENAME nested_column.new_field TO new_name")
    walk(both, "ALTER TABLE tbl ALTER a SET TYPE BIGINT", "ALTER TABLE tbl ALTER nested_column.new_name SET TYPE BIGINT")
    both.duckdb("USE lake")
    assert both.rows("SELECT * FROM tbl") == [(1, [["x", 2], ["new_name", None]], None, "my_default")]
    walk(both, "ALTER TABLE tbl DROP COLUMN new_name", "ALTER TABLE tbl DROP COLUMN nested_column.new_name")
    walk(both, "ALTER TABLE tbl RENAME TO tbl_new_name")
    assert both.rows("SELECT * FROM tbl_new_name") == [(1, [["x", 2]], "my_default")]


def test_time_travel(both: Both) -> None:
    walk(both, "CREATE TABLE tbl (a INTEGER)", "INSERT INTO tbl VALUES (1)", "DELETE FROM tbl")
    assert rows(both, "SELECT * FROM tbl AT (VERSION => 2)") == [(1,)]
    assert rows(both, "SELECT * FROM tbl AT (TIMESTAMP => now())") == []
    with pytest.raises(DuckLakeError):
        both.spark("SELECT * FROM tbl AT (TIMESTAMP => now() - INTERVAL '1 week')")


def test_upserting(both: Both) -> None:
    walk(
        both,
        "CREATE TABLE people (id INTEGER, name VARCHAR, salary FLOAT)",
        "INSERT INTO people VALUES (1, 'J', 92000.0), (2, 'A', 100000.0)",
    )
    upserts = "SELECT * FROM VALUES (3, 'S', 95000.0), (1, 'J', 105000.0) AS v(id, name, salary)"
    walk(both, f"MERGE INTO people USING ({upserts}) AS u ON (u.id = people.id) WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT")
    assert rows(both, "SELECT * FROM people ORDER BY id") == [(1, "J", 105000.0), (2, "A", 100000.0), (3, "S", 95000.0)]
    change = "SELECT 1 AS id, 98000.0 AS salary"
    walk(both, f"MERGE INTO people USING ({change}) AS u ON (u.id = people.id) WHEN MATCHED THEN UPDATE SET salary = u.salary")
    walk(both, "MERGE INTO people USING (SELECT 2 AS id) AS d USING (id) WHEN MATCHED AND salary >= 100000 THEN DELETE")
    assert both.rows("FROM people", "FROM people") == [(1, "J", 98000.0), (3, "S", 95000.0)]


def test_configuration(both: Both) -> None:
    walk(both, "CREATE SCHEMA my_schema", "CREATE TABLE my_table (a INTEGER)")
    walk(both, "CALL lake.set_option('parquet_compression', 'zstd')")
    walk(both, "CALL lake.set_option('parquet_compression', 'snappy', schema => 'my_schema')")
    walk(both, "CALL lake.set_option('parquet_compression', 'gzip', table_name => 'my_table')")
    chosen = "SELECT value, scope FROM lake.options() WHERE option_name = 'parquet_compression'"
    assert sorted(rows(both, chosen)) == [("gzip", "TABLE"), ("snappy", "SCHEMA"), ("zstd", "GLOBAL")]


def test_maintenance(both: Both) -> None:
    walk(both, "CREATE SCHEMA some_schema", "CALL lake.set_option('data_inlining_row_limit', 0)")
    for name in ("t", "some_schema.t"):
        walk(both, f"CREATE TABLE {name} (a INTEGER)", f"INSERT INTO {name} VALUES (1), (2), (3)", f"INSERT INTO {name} VALUES (4)")
    walk(both, "CALL ducklake_merge_adjacent_files('lake', 't', schema => 'some_schema')", "CALL ducklake_merge_adjacent_files('lake')")
    walk(both, "DELETE FROM t WHERE a < 4", "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.5)")
    walk(both, "CALL ducklake_rewrite_data_files('lake', 't')", "CALL ducklake_rewrite_data_files('lake')")
    walk(both, "CALL lake.set_option('rewrite_delete_threshold', 0.5)", "CALL lake.set_option('delete_older_than', '1 week')")
    old = both.session.execute("CALL ducklake_expire_snapshots('lake', dry_run => true, older_than => now() - INTERVAL '1 week')").fetch()
    assert old == []
    walk(both, "CALL ducklake_expire_snapshots('lake', versions => [2])")
    walk(both, "CALL ducklake_expire_snapshots('lake', older_than => now() - INTERVAL '1 week')")
    walk(both, "CALL lake.set_option('expire_older_than', '1 month')")
    assert 2 not in {row[0] for row in both.session.execute("FROM lake.snapshots()").fetch()}
    for action in ("cleanup_old_files", "delete_orphaned_files"):
        walk(both, f"CALL ducklake_{action}('lake', dry_run => true, older_than => now() - INTERVAL '1 week')")
        walk(both, f"CALL ducklake_{action}('lake', older_than => now() - INTERVAL '1 week')")
        walk(both, f"CALL ducklake_{action}('lake', cleanup_all => true)")
    walk(both, "CHECKPOINT")
    assert both.rows("SELECT * FROM t") == [(4,)]
    assert both.rows("SELECT * FROM some_schema.t") == [(1,), (2,), (3,), (4,)]


def test_constraints(both: Both) -> None:
    walk(both, "CREATE TABLE tbl (col INTEGER NOT NULL)")
    with pytest.raises(DuckLakeError, match="NOT NULL"):
        both.spark("INSERT INTO tbl VALUES (NULL)")
    walk(both, "ALTER TABLE tbl ALTER col DROP NOT NULL", "INSERT INTO tbl VALUES (1)", "ALTER TABLE tbl ALTER col SET NOT NULL")
    assert both.rows("SELECT * FROM tbl") == [(1,)]


def test_change_feed(both: Both) -> None:
    walk(both, "CREATE TABLE lake.tbl (id INTEGER, val VARCHAR)", "INSERT INTO lake.tbl VALUES (1, 'Hello'), (2, 'Lake')")
    walk(both, "DELETE FROM lake.tbl WHERE id = 1", "UPDATE lake.tbl SET val = concat(val, val, val)")
    assert both.session.execute("FROM lake.table_changes('tbl', 2, 2)").fetch() == [
        (2, 0, "insert", 1, "Hello"),
        (2, 1, "insert", 2, "Lake"),
    ]
    changes = both.session.execute("FROM lake.table_changes('tbl', 3, 4) ORDER BY snapshot_id, change_type DESC").fetch()
    assert changes == [
        (3, 0, "delete", 1, "Hello"),
        (4, 1, "update_preimage", 2, "Lake"),
        (4, 1, "update_postimage", 2, "LakeLakeLake"),
    ]
    assert len(both.session.execute("FROM lake.table_changes('tbl', TIMESTAMP '2020-01-01 00:00:00', now())").fetch()) == 5


def test_data_inlining(both: Both) -> None:
    walk(both, "CALL lake.set_option('data_inlining_row_limit', 10)")
    walk(both, "CREATE SCHEMA my_schema", "CREATE TABLE tbl (col INTEGER)", "CREATE TABLE my_schema.t (col INTEGER)")
    walk(both, "INSERT INTO tbl VALUES (1), (2), (3)", "INSERT INTO my_schema.t VALUES (1)")
    assert both.session.execute("FROM ducklake_list_files('lake', 'tbl')").fetch() == []
    walk(both, "CALL ducklake_flush_inlined_data('lake', schema_name => 'my_schema', table_name => 't')")
    walk(both, "CALL ducklake_flush_inlined_data('lake', schema_name => 'my_schema')", "CALL ducklake_flush_inlined_data('lake')")
    assert len(both.session.execute("FROM ducklake_list_files('lake', 'tbl')").fetch()) == 1
    assert both.rows("SELECT * FROM tbl") == [(1,), (2,), (3,)]


def test_partitioning(both: Both) -> None:
    walk(both, "CREATE TABLE tbl (part_key INTEGER, ts TIMESTAMP)", "ALTER TABLE tbl SET PARTITIONED BY (part_key)")
    walk(both, "INSERT INTO tbl VALUES (1, TIMESTAMP '2025-01-02 00:00:00')", "ALTER TABLE tbl SET PARTITIONED BY (year(ts), month(ts))")
    walk(both, "INSERT INTO tbl VALUES (2, TIMESTAMP '2025-02-02 00:00:00')", "ALTER TABLE tbl RESET PARTITIONED BY")
    walk(both, "INSERT INTO tbl VALUES (3, TIMESTAMP '2025-03-02 00:00:00')")
    assert both.rows("SELECT part_key FROM tbl WHERE ts >= TIMESTAMP '2025-02-01 00:00:00'") == [(2,), (3,)]


def test_transactions(both: Both) -> None:
    walk(both, "CREATE TABLE t (a INTEGER)", "BEGIN TRANSACTION", "INSERT INTO t VALUES (1)", "COMMIT")
    walk(both, "BEGIN TRANSACTION", "INSERT INTO t VALUES (2)", "ROLLBACK", "BEGIN TRANSACTION", "INSERT INTO t VALUES (3)", "ABORT")
    assert both.rows("SELECT * FROM t") == [(1,)]


def test_lineage_views_and_comments(both: Both) -> None:
    walk(both, "CREATE TABLE tbl (a INTEGER)", "INSERT INTO tbl VALUES (1)", "CREATE VIEW v1 AS SELECT * FROM tbl")
    assert both.rows("SELECT * FROM v1") == [(1,)]
    walk(both, "COMMENT ON TABLE tbl IS 'very nice table'", "COMMENT ON COLUMN tbl.a IS 'very nice column'")
    assert both.duck.execute("SELECT comment FROM duckdb_tables() WHERE table_name = 'tbl'").fetchall() == [("very nice table",)]
    assert both.duck.execute("SELECT comment FROM duckdb_columns() WHERE table_name = 'tbl'").fetchall() == [("very nice column",)]
    walk(both, "COMMENT ON VIEW v1 IS 'a view'", "UPDATE tbl SET a = 2")
    assert rows(both, "SELECT rowid, a FROM tbl") == [(0, 2)]


def test_list_files(both: Both) -> None:
    walk(both, "CALL lake.set_option('data_inlining_row_limit', 0)", "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    walk(both, "INSERT INTO t VALUES (2)")
    queries = {
        "FROM ducklake_list_files('lake', 't')": 2,
        "FROM ducklake_list_files('lake', 't', snapshot_version => 2)": 1,
        "FROM ducklake_list_files('lake', 't', snapshot_time => '2099-06-16 15:24:30')": 2,
        "FROM ducklake_list_files('lake', 't', schema => 'main')": 2,
    }
    for query, number in queries.items():
        assert len(both.session.execute(query).fetch()) == number, query


def test_adding_files(both: Both, tmp_path: Path) -> None:
    walk(both, "CREATE SCHEMA some_schema", "CREATE TABLE people (id BIGINT, name VARCHAR)", "CREATE TABLE some_schema.people (id BIGINT)")
    files = {
        "plain": {"id": [1], "name": ["a"]},
        "other": {"id": [1]},
        "missing": {"id": [2]},
        "extra": {"id": [3], "name": ["c"], "x": [0]},
    }
    for name, columns in files.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    walk(both, f"CALL ducklake_add_data_files('lake', 'people', '{tmp_path}/plain.parquet')")
    walk(both, f"CALL ducklake_add_data_files('lake', 'people', '{tmp_path}/other.parquet', schema => 'some_schema')")
    walk(both, f"CALL ducklake_add_data_files('lake', 'people', '{tmp_path}/missing.parquet', allow_missing => true)")
    walk(both, f"CALL ducklake_add_data_files('lake', 'people', '{tmp_path}/extra.parquet', ignore_extra_columns => true)")
    assert both.rows("SELECT id FROM people") == [(1,), (2,), (3,)]


def test_default_values(both: Both) -> None:
    walk(both, "CREATE TABLE t1 (id INTEGER, d DATE DEFAULT '2025-08-08')", "INSERT INTO t1 (id) VALUES (2)")
    assert len(both.rows("SELECT * FROM t1")) == 1
    walk(both, "CREATE TABLE t2 (id INTEGER, d DATE)", "INSERT INTO t2 VALUES (2, now())")
    assert len(both.rows("SELECT * FROM t2")) == 1


def test_schemas_of_the_access_guide(both: Both) -> None:
    walk(both, "CREATE SCHEMA IF NOT EXISTS some_schema", "CREATE TABLE IF NOT EXISTS some_schema.some_table (id INTEGER, name VARCHAR)")
    walk(both, "INSERT INTO some_schema.some_table VALUES (1, 'test')", "INSERT INTO some_schema.some_table VALUES (2, 'test2')")
    assert both.rows("SELECT * FROM some_schema.some_table") == [(1, "test"), (2, "test2")]
