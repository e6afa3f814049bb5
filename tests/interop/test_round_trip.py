"""We write, then DuckDB reads and writes, then we read and write again: on one table, on every catalog database.

After every step both sides must read the same rows with the same row ids. If they differ, DuckDB, the reference implementation, is right.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from tests.interop.conftest import Both
from tests.places import FULL_MATRIX, METADATA_SCHEMA, REFERENCE_DATABASES

CATALOGS = [*REFERENCE_DATABASES, *([METADATA_SCHEMA] if FULL_MATRIX else [])]  # the tests of the catalog always run on it

UTC = dt.timezone.utc


@pytest.mark.parity
def test_ctas_insert_update_delete_merge_in_turn(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id, concat('n', id) AS name FROM range(1, 6)")
    assert both.rows("SELECT id, name FROM t") == [(i, f"n{i}") for i in range(1, 6)]
    both.duckdb("INSERT INTO lake.t VALUES (6, 'six'), (7, 'seven')")  # inlined by default
    both.duckdb("UPDATE lake.t SET name = 'two' WHERE id = 2")  # an inlined delete and an inlined row
    both.duckdb("DELETE FROM lake.t WHERE id IN (1, 6)")
    assert both.rows("SELECT id, name FROM t") == [(2, "two"), (3, "n3"), (4, "n4"), (5, "n5"), (7, "seven")]
    both.spark("UPDATE t SET name = upper(name) WHERE id IN (3, 7)")
    both.spark("DELETE FROM t WHERE id = 5")
    both.spark(
        "MERGE INTO t USING (SELECT * FROM VALUES (2, 'zwei'), (8, 'acht'), (4, 'x') AS v(id, name)) s ON t.id = s.id "
        "WHEN MATCHED AND s.name = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    )
    assert both.rows("SELECT id, name FROM t") == [(2, "zwei"), (3, "N3"), (7, "SEVEN"), (8, "acht")]
    both.duckdb("MERGE INTO lake.t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    both.duckdb("DELETE FROM lake.t WHERE id = 8")
    assert both.rows("SELECT id, name FROM t") == [(2, "zwei"), (7, "SEVEN")]


def test_row_ids_survive_updates_of_either_side(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id, 'a' AS v FROM range(0, 30)")
    both.duckdb("UPDATE lake.t SET v = 'b' WHERE id % 3 = 0")
    both.spark("UPDATE t SET v = 'c' WHERE id % 2 = 0")
    both.spark("MERGE INTO t USING (SELECT 5 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'd'")
    assert both.row_ids("t", "id") == {i: i for i in range(30)}
    changes = both.duck.execute(
        "SELECT change_type, count(*) FROM ducklake_table_changes('lake', 'main', 't', 4, 4) GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert changes == [("update_postimage", 1), ("update_preimage", 1)]


@pytest.mark.parity
def test_every_snapshot_reads_the_same_on_both_sides(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT id, id * 10 AS v FROM range(0, 25)")
    both.spark("DELETE FROM t WHERE id < 5")
    both.duckdb("DELETE FROM lake.t WHERE id BETWEEN 5 AND 8")
    both.spark("DELETE FROM t WHERE id IN (9, 10)")  # replaces the delete file
    both.duckdb("UPDATE lake.t SET v = -1 WHERE id = 20")
    both.spark("ALTER TABLE t ADD COLUMN w INT DEFAULT 7")
    both.spark("INSERT INTO t VALUES (100, 1000, 8)")
    both.spark("ALTER TABLE t RENAME COLUMN v TO u")
    both.duckdb("ALTER TABLE lake.t ALTER w SET DATA TYPE BIGINT")
    both.spark("UPDATE t SET w = 5000000000 WHERE id = 11")
    both.check_history("t")


@pytest.mark.parity
def test_schema_changes_of_either_side(both: Both) -> None:
    both.duckdb("CREATE TABLE lake.t (a INTEGER, s STRUCT(x INTEGER, y VARCHAR), l INTEGER[], m MAP(VARCHAR, INTEGER))")
    both.duckdb("INSERT INTO lake.t SELECT i, {'x': i, 'y': 'y' || i}, [i, NULL], MAP {'k': i} FROM range(20) r(i)")
    both.spark("ALTER TABLE t ADD COLUMN b STRING")
    both.spark("ALTER TABLE t DROP COLUMN a")
    both.spark("ALTER TABLE t ADD COLUMN a STRING")  # another column with the same name
    both.spark("INSERT INTO t SELECT named_struct('x', 99, 'y', 'z'), array(1, 2), map('q', 1), 'b', 'a'")
    both.duckdb("ALTER TABLE lake.t ADD COLUMN s.z INTEGER")
    both.duckdb("ALTER TABLE lake.t RENAME COLUMN s.x TO xx")
    both.spark("INSERT INTO t SELECT named_struct('xx', 1, 'y', 'w', 'z', 5), array(), map(), NULL, 'c'")
    assert len(both.rows("SELECT s, l, m, b, a FROM t")) == 22
    assert both.rows("SELECT count(*) FROM t WHERE a IS NULL") == [(20,)]
    both.check_history("t")


@pytest.mark.parity
def test_a_replaced_table_keeps_id_comment_and_history(both: Both) -> None:
    both.spark("CREATE TABLE t (a INT COMMENT 'the a', b STRING) COMMENT 'the table'")
    both.spark("INSERT INTO t VALUES (1, 'x')")
    before = both.duck.execute("SELECT table_id, table_uuid FROM ducklake_table_info('lake')").fetchall()
    both.spark("CREATE OR REPLACE TABLE t AS SELECT 2.5D AS c, a FROM t")
    assert both.duck.execute("SELECT table_id, table_uuid FROM ducklake_table_info('lake')").fetchall() == before
    assert both.rows("SELECT c, a FROM t") == [(2.5, 1)]
    assert both.duck.execute("SELECT comment FROM duckdb_tables() WHERE table_name = 't'").fetchall() == [("the table",)]
    assert both.duck.execute("SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 't' ORDER BY column_index").fetchall() == [
        ("c", None), ("a", "the a"),
    ]  # fmt: skip
    both.duckdb("INSERT INTO lake.t VALUES (1.5, 5)")
    both.check_history("t")


def test_duckdb_has_the_types_and_values_of_our_table(both: Both) -> None:
    both.spark(
        "CREATE TABLE t AS SELECT * FROM VALUES "
        "(true, 1Y, 2S, 3, 4L, 1.5F, 2.5D, 12345.678BD, 'ä\\'\\\\\"', X'00FF', DATE'1969-12-31', TIMESTAMP'2020-01-02 03:04:05.123456+02:00', TIMESTAMP_NTZ'1500-01-01 00:00:00', array(1, null), map('k', 1.5D), named_struct('a', 1, 'b', array('x'))), "
        "(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null) "
        "AS v(b, i8, i16, i32, i64, f, d, n, s, x, dt, ts, tn, l, m, st)"
    )
    expected = (
        True, 1, 2, 3, 4, 1.5, 2.5, Decimal("12345.678"), "ä'\\\"", b"\x00\xff", dt.date(1969, 12, 31),
        dt.datetime(2020, 1, 2, 1, 4, 5, 123456, tzinfo=UTC), dt.datetime(1500, 1, 1), [1, None], [["k", 1.5]], [["a", 1], ["b", ["x"]]],
    )  # fmt: skip
    assert both.rows("SELECT * FROM t WHERE i32 = 3") == [expected]
    assert both.rows("SELECT * FROM t WHERE i32 IS NULL") == [(None,) * 16]
    types = both.duck.execute("SELECT data_type FROM duckdb_columns() WHERE table_name = 't' ORDER BY column_index").fetchall()
    assert [t for (t,) in types] == [
        "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(8,3)", "VARCHAR", "BLOB", "DATE",
        "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "INTEGER[]", "MAP(VARCHAR, DOUBLE)", "STRUCT(a INTEGER, b VARCHAR[])",
    ]  # fmt: skip
    both.duckdb("INSERT INTO lake.t SELECT * FROM lake.t")
    both.check_history("t")


def test_statistics_never_hide_rows_from_duckdb(both: Both) -> None:
    """If table statistics are too wide or too narrow, DuckDB computes min() and max() wrongly or prunes rows."""
    both.spark("CREATE TABLE t AS SELECT id, CAST(id AS STRING) AS s, id / 4.0D AS d FROM range(0, 1000)")
    both.spark("DELETE FROM t WHERE id >= 900")
    both.spark("INSERT INTO t VALUES (-5, 'zzz', double('NaN'))")
    for query in (
        "SELECT min(id), max(id) FROM t",
        "SELECT count(*) FROM t WHERE id > 850",
        "SELECT count(*) FROM t WHERE id < 0",
        "SELECT count(*) FROM t WHERE s > 'z'",
        "SELECT count(*) FROM t WHERE d > 200",
    ):
        both.rows(query)  # asserts that both sides return the same


def test_views_are_shared_if_their_sql_can_be_translated(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
    both.spark("CREATE VIEW v AS SELECT a + 1 AS `a b`, b FROM t")
    both.duckdb("CREATE VIEW lake.w AS SELECT a, count(*) AS n FROM lake.t GROUP BY a")
    both.spark("CREATE VIEW only_spark AS SELECT transform(array(1, 2), x -> x + a) AS l FROM t")
    assert both.rows('SELECT "a b", b FROM v', "SELECT `a b`, b FROM v") == [(2, "x")]
    assert both.rows("SELECT * FROM w") == [(1, 1)]
    both.duckdb("SHOW TABLES")


@pytest.mark.parametrize("name", ["Mixed Case", "ä-ö", "select", "with.dot"])
def test_names_that_need_quoting(both: Both, name: str) -> None:
    both.spark(f"CREATE SCHEMA `{name}`")
    both.spark(f"CREATE TABLE `{name}`.`{name}` AS SELECT 1 AS `{name}`")
    both.spark(f"INSERT INTO lake.`{name}`.`{name}` VALUES (2)")
    both.duckdb(f'INSERT INTO lake."{name}"."{name}" VALUES (3)')
    assert both.rows(f'SELECT "{name}" FROM lake."{name}"."{name}"', f"SELECT `{name}` FROM lake.`{name}`.`{name}`") == [(1,), (2,), (3,)]


@pytest.mark.parity
def test_a_transaction_is_one_snapshot(both: Both) -> None:
    before = both.snapshots()
    with both.transaction():
        both.spark("CREATE SCHEMA s")
        both.spark("CREATE TABLE s.a AS SELECT id FROM range(10)")
        both.spark("DELETE FROM s.a WHERE id > 7")
        both.spark("INSERT INTO s.a VALUES (100)")
        both.spark("UPDATE s.a SET id = id + 1 WHERE id = 100")
        both.spark("ALTER TABLE s.a ADD COLUMN b STRING")
        both.spark("COMMENT ON TABLE s.a IS 'hello'")
        both.spark("CREATE TABLE gone AS SELECT 1 AS x")
        both.spark("DROP TABLE gone")
    assert both.snapshots() == before + 1
    assert both.rows("SELECT id, b FROM s.a") == [*[(i, None) for i in range(8)], (101, None)]
