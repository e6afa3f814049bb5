"""Known faults of DuckDB in the catalogs and files that it writes, and how this adapter behaves in these cases.

DuckDB creates the faulty state itself where it can; otherwise a test writes the rows of the catalog directly.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.engine import Connection

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both
from tests.interop.differential.sides import DuckDB, Ours
from tests.interop.oracle import connect


@contextmanager
def catalog_writer(both: Both) -> Iterator[Connection]:
    """Open the catalog database for writes that no client would make."""
    with both.session.catalog._database.writing() as connection:
        yield connection


def stored(both: Both, query: str) -> list[tuple[Any, ...]]:
    """Return rows of the catalog's own tables."""
    with both.session.catalog._database.reading() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def rows_with_ids(both: Both, catalog: CatalogUnderTest, table: str = "t") -> list[tuple[Any, ...]]:
    """Return rows with their row ids first. They must be equal on both sides."""
    ours, theirs = Ours(both.session), DuckDB(catalog)
    found = next(each for each in ours.shape().tables if each.name == table)
    rows = ours.rows(found, None)
    assert rows == theirs.rows(found, None)
    theirs.connection.close()
    return rows


def require_concurrent_commits(catalog: CatalogUnderTest) -> None:
    """Skip if the catalog database allows no commit while DuckDB has a transaction open, because the faulty state cannot occur then."""
    if catalog.database != "postgres":
        pytest.skip("this catalog database allows no commit while another transaction is open")


def no_inlining(both: Both) -> None:
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")


def test_gross_counts_are_not_used_as_row_counts(both: Both) -> None:
    no_inlining(both)
    both.duckdb("CREATE TABLE t AS SELECT range::INTEGER AS a FROM range(30)")
    both.duckdb("DELETE FROM t WHERE a < 25")
    assert stored(both, "SELECT record_count FROM ducklake_table_stats") == [(30,)]
    (summary,) = both.session.catalog.table_summaries(both.session.catalog.latest()).values()
    assert summary.record_count == 5
    assert both.rows("SELECT count(*) FROM t") == [(5,)]


def test_table_statistics_that_are_too_narrow_hide_no_rows(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT range::INTEGER AS a, 'x' || range AS s FROM range(30)")
    with catalog_writer(both) as connection:
        connection.execute(text("UPDATE ducklake_table_column_stats SET min_value = '3', max_value = '4' WHERE column_id = 1"))
    for query, expected in (("SELECT max(a) FROM t", 29), ("SELECT count(*) FROM t WHERE a > 20", 9)):
        assert both.session.execute(query).fetch() == [(expected,)]
    both.spark("DELETE FROM t WHERE a > 20")
    assert both.session.execute("SELECT count(*), max(a) FROM t").fetch() == [(21, 20)]


def test_statistics_in_two_encodings_are_compared_as_values(both: Both) -> None:
    both.duckdb("CREATE TABLE t (b BOOLEAN, d DOUBLE)")
    both.duckdb("INSERT INTO t VALUES (true, 'nan'), (true, 9)")  # inlined: `true`, and NaN as the greatest value
    both.spark("INSERT INTO t SELECT false, double(id) FROM range(10, 40)")
    for query in (
        "SELECT count(*) FROM t WHERE NOT b",
        "SELECT min(b), max(b) FROM t",
        "SELECT count(*) FROM t WHERE d > 20",
        "SELECT min(d) FROM t",
    ):
        both.rows(query)


@pytest.mark.parity
def test_snapshot_ids_in_delete_files_may_be_lower_than_their_commit(both: Both, catalog: CatalogUnderTest) -> None:
    require_concurrent_commits(catalog)
    no_inlining(both)
    both.duckdb("CREATE TABLE t AS SELECT range::INTEGER AS a FROM range(30)")
    both.duckdb("CREATE TABLE other (a INTEGER)")
    both.duckdb("DELETE FROM t WHERE a = 1")
    late = connect(catalog, data_inlining_row_limit=0)
    late.execute("USE lake")
    late.execute("BEGIN")
    late.execute("DELETE FROM t WHERE a = 2")
    both.duckdb("INSERT INTO other VALUES (1)")  # the first attempt of the late transaction collides with this
    late.execute("COMMIT")
    late.close()
    assert len(both.rows("SELECT a FROM t")) == 28
    both.check_history("t")
    both.spark("DELETE FROM t WHERE a IN (3, 4)")  # replaces that delete file
    both.duckdb("DELETE FROM t WHERE a = 5")
    assert len(both.rows("SELECT a FROM t")) == 25
    both.check_history("t")


def test_inlined_deletes_of_files_that_no_longer_exist_are_ignored(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT range::INTEGER AS a FROM range(30)")
    both.duckdb("DELETE FROM t WHERE a = 1")
    ((name,),) = stored(both, "SELECT 'ducklake_inlined_delete_' || CAST(table_id AS VARCHAR(9)) FROM ducklake_table")
    with catalog_writer(both) as connection:
        connection.execute(text(f"INSERT INTO {name} VALUES (4711, 0, 2)"))
    assert len(both.rows("SELECT a FROM t")) == 29
    both.spark("UPDATE t SET a = -a WHERE a % 2 = 0")
    both.spark("DELETE FROM t WHERE a = 3")
    assert len(both.rows("SELECT a FROM t")) == 28
    both.duckdb("CALL ducklake_flush_inlined_data('lake')")
    assert len(both.rows("SELECT a FROM t")) == 28


def test_rows_that_a_merge_renumbered_keep_their_new_ids(both: Both, catalog: CatalogUnderTest) -> None:
    no_inlining(both)
    both.duckdb("CREATE TABLE t (a INTEGER)")
    for start in (0, 5):
        both.duckdb(f"INSERT INTO t SELECT range FROM range({start}, {start + 5})")
    both.duckdb("UPDATE t SET a = a + 100 WHERE a IN (0, 7)")
    both.duckdb("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    both.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    before = rows_with_ids(both, catalog)
    both.spark("UPDATE t SET a = a + 1000")
    assert rows_with_ids(both, catalog) == sorted(((row_id, a + 1000) for row_id, a in before), key=repr)


def test_delete_files_with_snapshot_ids_and_without_partial_max(both: Both) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER)")
    both.duckdb("INSERT INTO t SELECT range FROM range(8)")
    both.duckdb("DELETE FROM t WHERE a < 2")
    both.duckdb("UPDATE t SET a = 70 WHERE a = 7")
    both.duckdb("CALL ducklake_flush_inlined_data('lake')")
    assert stored(both, "SELECT delete_count, partial_max FROM ducklake_delete_file") == [(3, None)]
    both.check_history("t")
    both.spark("DELETE FROM t WHERE a = 70")
    both.check_history("t")
    assert len(both.rows("SELECT a FROM t")) == 5


def test_ended_files_with_a_live_delete_file(both: Both) -> None:
    no_inlining(both)
    both.duckdb("CREATE TABLE t AS SELECT range::INTEGER AS a FROM range(30)")
    both.duckdb("DELETE FROM t WHERE a < 20")
    both.duckdb("DELETE FROM t")
    assert stored(both, "SELECT end_snapshot FROM ducklake_delete_file") == [(None,)]
    both.spark("INSERT INTO t VALUES (1)")
    assert both.rows("SELECT a FROM t") == [(1,)]
    both.check_history("t")


def test_added_struct_fields_are_nullable_despite_the_catalog(both: Both) -> None:
    both.duckdb("CREATE TABLE t (s STRUCT(x INTEGER))")
    both.duckdb("ALTER TABLE t ADD COLUMN s.y INTEGER")
    assert {bool(allowed) for (allowed,) in stored(both, "SELECT nulls_allowed FROM ducklake_column WHERE column_name = 'y'")} == {False}
    both.spark("INSERT INTO t VALUES (named_struct('x', 1, 'y', NULL)), (NULL)")
    both.spark("UPDATE t SET s = named_struct('x', 2, 'y', NULL) WHERE s IS NOT NULL")
    assert len(both.rows("SELECT s FROM t")) == 2


def test_default_texts_that_mean_no_default(both: Both) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER, s VARCHAR, n STRUCT(x INTEGER), l INTEGER[])")
    assert set(stored(both, "SELECT default_value, default_value_type FROM ducklake_column")) >= {
        ("NULL", "literal"),
        ("NULL", ""),
    }
    both.spark("INSERT INTO t (a) VALUES (1)")
    assert both.rows("SELECT * FROM t") == [(1, None, None, None)]
    both.spark("ALTER TABLE t ALTER COLUMN s SET DEFAULT 'NULL'")  # indistinguishable from no default: DuckDB loses it too
    both.duckdb("INSERT INTO t (a) VALUES (2)")
    both.spark("INSERT INTO t (a) VALUES (3)")
    assert len(both.rows("SELECT a, n FROM t")) == 3


def test_a_column_does_not_get_the_comment_of_a_dropped_one(both: Both) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER, b INTEGER)")
    both.duckdb("COMMENT ON COLUMN t.b IS 'the old b'")
    both.duckdb("ALTER TABLE t DROP COLUMN b")
    assert stored(both, "SELECT end_snapshot FROM ducklake_column_tag") == [(None,)]
    both.spark("ALTER TABLE t ADD COLUMN b INT")
    assert [(column.name, column.comment) for column in both.session.columns(("t",))] == [("a", None), ("b", None)]


def test_a_partition_spec_without_columns_means_unpartitioned(both: Both) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (a)")
    both.duckdb("ALTER TABLE t RESET PARTITIONED BY")
    both.spark("INSERT INTO t SELECT id FROM range(30)")
    assert stored(both, "SELECT count(*) FROM ducklake_data_file WHERE path NOT LIKE '%=%'") == [(1,)]
    both.spark("DELETE FROM t WHERE a = 3")
    assert len(both.rows("SELECT a FROM t")) == 29


@pytest.mark.parity
def test_a_live_table_without_columns_is_treated_as_dropped(both: Both, catalog: CatalogUnderTest) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER)")
    both.duckdb("CREATE TABLE other (a INTEGER)")
    require_concurrent_commits(catalog)
    late = connect(catalog)
    late.execute("USE lake")
    late.execute("BEGIN")
    late.execute("ALTER TABLE t RENAME TO u")
    both.duckdb("DROP TABLE t")
    late.execute("COMMIT")
    late.close()
    assert stored(both, "SELECT table_name FROM ducklake_table WHERE end_snapshot IS NULL ORDER BY 1") == [("other",), ("u",)]
    assert [row[1] for row in both.session.execute("SHOW TABLES").fetch()] == ["other"]
    with pytest.raises(NotFoundError):
        both.spark("INSERT INTO u VALUES (1)")
    both.spark("CREATE TABLE u AS SELECT 7 AS b")
    assert both.rows("SELECT b FROM u") == [(7,)]


def test_inlined_structs_in_the_form_of_sql_literals(both: Both) -> None:
    both.duckdb("CREATE TABLE t (s STRUCT(a VARCHAR, d DATE, f DOUBLE))")
    both.duckdb("INSERT INTO t VALUES ({'a': 'o''k', 'd': DATE '2020-02-29', 'f': 'nan'})")
    ((value,),) = both.session.execute("SELECT s FROM t").fetch()
    assert (value["a"], value["d"]) == ("o'k", dt.date(2020, 2, 29))
    assert value["f"] != value["f"]
    both.spark("UPDATE t SET s = named_struct('a', s.a, 'd', s.d, 'f', 1.5D)")  # now DuckDB can read it too
    assert both.rows("SELECT s.a, s.d, s.f FROM t") == [("o'k", dt.date(2020, 2, 29), 1.5)]


def test_snapshot_times_that_decrease(both: Both) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER)")
    for number in range(3):
        both.duckdb(f"INSERT INTO t VALUES ({number})")
    with catalog_writer(both) as connection:
        rows = connection.execute(text("SELECT snapshot_id, snapshot_time FROM ducklake_snapshot ORDER BY 1")).fetchall()
        for snapshot, other in ((2, 3), (3, 2)):
            connection.execute(
                text("UPDATE ducklake_snapshot SET snapshot_time = :time WHERE snapshot_id = :id"),
                {"time": rows[other].snapshot_time, "id": snapshot},
            )
    times = [
        both.duck.execute("SELECT snapshot_time::VARCHAR FROM ducklake_snapshots('lake') WHERE snapshot_id = ?", [i]).fetchone()[0]
        for i in (2, 3)
    ]
    for time in times:
        both.rows(f"SELECT a FROM t AT (TIMESTAMP => TIMESTAMPTZ '{time}')", f"SELECT a FROM t TIMESTAMP AS OF '{time}'")
    both.spark("INSERT INTO t VALUES (9)")
    assert len(both.rows("SELECT a FROM t")) == 4


def test_columns_and_layouts_that_remain_after_expiry(both: Both) -> None:
    both.duckdb("CREATE TABLE t (a INTEGER, b INTEGER)")
    both.duckdb("INSERT INTO t SELECT range, range FROM range(20)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (a)")
    both.duckdb("ALTER TABLE t RESET PARTITIONED BY")
    both.duckdb("ALTER TABLE t RENAME COLUMN b TO c")
    both.duckdb("ALTER TABLE t DROP COLUMN a")
    both.duckdb("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)")
    assert stored(both, "SELECT count(*) FROM ducklake_column") == [(3,)]
    both.spark("ALTER TABLE t ADD COLUMN a STRING")
    both.spark("INSERT INTO t VALUES (100, 'x')")
    assert len(both.rows("SELECT c, a FROM t")) == 21
    assert stored(both, "SELECT max(column_id) FROM ducklake_column") == [(3,)]


def test_wrong_statistics_prune_no_rows(both: Both) -> None:
    no_inlining(both)
    both.duckdb("CREATE TABLE t (a INTEGER, z TIMETZ, i INTERVAL)")
    both.duckdb("INSERT INTO t SELECT range, '01:02:03+02', INTERVAL 1 MONTH FROM range(30)")
    assert set(stored(both, "SELECT value_count FROM ducklake_file_column_stats WHERE column_id > 1")) == {(0,)}
    for column in ("z", "i"):
        assert both.session.execute(f"SELECT count(*) FROM t WHERE {column} IS NOT NULL").fetch() == [(30,)]
    both.spark("DELETE FROM t WHERE z IS NOT NULL AND i IS NOT NULL AND a < 10")
    assert both.rows("SELECT count(*) FROM t") == [(20,)]


def test_huge_integers_that_files_store_as_doubles(both: Both) -> None:
    no_inlining(both)
    both.duckdb("CREATE TABLE t (h HUGEINT)")
    both.duckdb("INSERT INTO t VALUES (12345678901234567890123), (-7)")
    assert len(both.rows("SELECT h FROM t")) == 2
    both.spark("INSERT INTO t VALUES (12345678901234567890123)")  # our files are exact
    assert Decimal("12345678901234567890123") in [Decimal(h) for (h,) in both.rows("SELECT h FROM t")]


def test_partition_values_of_another_time_zone_prune_no_rows(both: Both) -> None:
    no_inlining(both)
    both.duckdb("CREATE TABLE t (a INTEGER, z TIMESTAMPTZ)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (year(z), hour(z))")
    both.duckdb("SET TimeZone = 'Pacific/Auckland'")
    both.duckdb("INSERT INTO t SELECT range, TIMESTAMPTZ '2023-12-31 20:00:00+00' + range * INTERVAL 1 HOUR FROM range(8)")
    both.duckdb("SET TimeZone = 'UTC'")
    assert both.session.execute("SELECT count(*) FROM t WHERE year(z) = 2023").fetch() == [(4,)]
    both.spark("DELETE FROM t WHERE z < TIMESTAMP'2024-01-01 00:00:00+00:00'")
    assert both.rows("SELECT a FROM t") == [(4,), (5,), (6,), (7,)]


def test_names_are_case_insensitive(both: Both) -> None:
    both.duckdb('CREATE SCHEMA "Sales"')
    both.duckdb('CREATE TABLE "Sales"."Orders" ("Id" INTEGER)')
    both.spark("INSERT INTO sales.ORDERS (id) VALUES (1)")
    assert both.rows('SELECT "ID" FROM SALES.orders', "SELECT ID FROM SALES.orders") == [(1,)]
    for statement in ("CREATE TABLE sales.orders (a INT)", "CREATE SCHEMA SALES", "ALTER TABLE sales.orders ADD COLUMN ID INT"):
        with pytest.raises(StatementError):
            both.spark(statement)


def test_rows_of_files_without_buckets_are_found(both: Both) -> None:
    no_inlining(both)
    both.duckdb("CREATE TABLE t AS SELECT range::INTEGER AS k FROM range(30)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (bucket(4, k))")
    assert both.duck.execute("SELECT k FROM t WHERE k = 1").fetchall() == []  # the fault
    assert both.session.execute("SELECT k FROM t WHERE k = 1").fetch() == [(1,)]
    both.spark("UPDATE t SET k = k + 100 WHERE k = 1")
    assert both.duck.execute("SELECT k FROM t WHERE k = 101").fetchall() == [(101,)]  # our file has its bucket
    assert len(both.rows("SELECT k FROM t")) == 30


def test_an_inlining_limit_above_a_view(both: Both, catalog: CatalogUnderTest) -> None:
    both.spark("CREATE TABLE t AS SELECT 1 AS a")
    both.spark("CREATE VIEW v AS SELECT a FROM t")
    both.spark("CALL set_option('data_inlining_row_limit', 3)")  # DuckDB 1.5.5 crashes on this call
    late = connect(catalog)  # DuckDB reads options when it attaches
    late.execute("INSERT INTO lake.t SELECT range FROM range(3)")
    late.execute("INSERT INTO lake.t SELECT range FROM range(4)")
    late.close()
    assert len(both.rows("SELECT a FROM v")) == 8
    assert (4,) in stored(both, "SELECT record_count FROM ducklake_data_file")
    assert (3,) not in stored(both, "SELECT record_count FROM ducklake_data_file")
