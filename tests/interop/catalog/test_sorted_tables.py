"""Sorted tables: the catalog rows equal those of DuckDB, and DuckDB sorts by them, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.catalog_objects import table_of
from tests.catalogs import session_on
from tests.interop.catalog.conftest import Connect, rows_of
from tests.places import CatalogPlace

COLUMNS = "`A b` INT, Abc INT, ts TIMESTAMP, s STRING, `é` INT, `order` INT, _x1 INT"
SORTS = """
    SELECT expression, e.dialect, sort_direction, null_order, sort_key_index FROM {meta}.ducklake_sort_expression e
    JOIN {meta}.ducklake_sort_info i USING (sort_id) WHERE i.end_snapshot IS NULL ORDER BY sort_id, sort_key_index
"""


@pytest.fixture
def session(place: CatalogPlace) -> Iterator[LakeSession]:
    with session_on(place.lake(data_inlining_row_limit=0)) as opened:
        yield opened


SAME = [
    "Abc",
    "s DESC",
    "_x1 ASC NULLS FIRST",
    "_x1 DESC NULLS FIRST, s NULLS LAST, Abc DESC NULLS LAST",
    "{q}A b{q}",
    "{q}é{q}",
    "{q}order{q} DESC",
    "lower(s)",
    "length(s) DESC, Abc",
    "abs(Abc)",
]


def test_sort_keys_equal_those_of_duckdb(session: LakeSession, duckdb_on: Connect) -> None:
    session.execute(f"CREATE TABLE t ({COLUMNS})")
    duck = duckdb_on()
    for order in SAME:
        duck.execute(f"ALTER TABLE t SET SORTED BY ({order.format(q=chr(34))})")
        theirs = rows_of(duck, SORTS)
        assert theirs, order
        session.execute("ALTER TABLE t RESET SORTED BY")
        assert rows_of(duck, SORTS) == [], order
        session.execute(f"ALTER TABLE t SET SORTED BY ({order.format(q='`')})")
        ours = rows_of(duck, SORTS)
        assert [(row[0].lower(), *row[1:]) for row in ours] == [(row[0].lower(), *row[1:]) for row in theirs], order
        with duckdb_on() as other:
            assert other.execute("INSERT INTO t SELECT i, i, NULL, 's', i, i, i FROM range(20) r(i)").fetchone() == (20,), order


@pytest.mark.parity
def test_a_new_sort_order_ends_the_old_one(session: LakeSession, duckdb_on: Connect) -> None:
    session.execute(f"CREATE TABLE t ({COLUMNS}) SORTED BY (s, Abc DESC)")
    session.execute("ALTER TABLE t SET SORTED BY (s)")
    before = session.catalog.latest()
    session.execute("ALTER TABLE t SET SORTED BY (s)")
    assert session.catalog.latest() == before, "the same order is no change"
    session.execute("ALTER TABLE t RESET SORTED BY")
    last = session.catalog.latest()
    session.execute("ALTER TABLE t RESET SORTED BY")
    assert session.catalog.latest() == last, "removing no sort order creates no snapshot"
    duck = duckdb_on()
    ids = [row[0] for row in rows_of(duck, "SELECT sort_id FROM {meta}.ducklake_sort_info ORDER BY 1")]
    assert len(ids) == len(set(ids)) == 2
    lives = rows_of(duck, "SELECT end_snapshot - begin_snapshot, begin_snapshot FROM {meta}.ducklake_sort_info ORDER BY 2")
    assert [life[0] for life in lives] == [1, 1]
    assert rows_of(duck, "SELECT count(*) FROM {meta}.ducklake_schema_versions") == [(1,)], "a sort order does not change the schema"
    assert duck.execute("SELECT changes['tables_altered'] FROM lake.snapshots() ORDER BY snapshot_id DESC LIMIT 1").fetchone() == (["1"],)


@pytest.mark.parity
def test_a_rename_rewrites_the_expressions(session: LakeSession, duckdb_on: Connect) -> None:
    session.execute("CREATE TABLE t (a INT, b STRING, c INT) SORTED BY (a % 4 DESC, lower(b), a)")
    duck = duckdb_on()
    old = rows_of(duck, "SELECT max(sort_id) FROM {meta}.ducklake_sort_info")
    session.execute("ALTER TABLE t RENAME COLUMN a TO `select`")
    session.execute("ALTER TABLE t RENAME COLUMN b TO `B c`")
    assert [row[0].upper() for row in rows_of(duck, SORTS)] == ['"SELECT" % 4', 'LOWER("B C")', '"SELECT"']
    assert rows_of(duck, "SELECT max(sort_id) FROM {meta}.ducklake_sort_info") > old
    theirs = duckdb_on()
    theirs.execute("INSERT INTO t SELECT 100 - i, 'x', i FROM range(50) r(i)")
    session.execute("ALTER TABLE t RENAME COLUMN c TO d")
    assert len(rows_of(duck, SORTS)) == 3


def test_a_sort_key_cannot_be_dropped(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (a INT, b STRING, c INT) SORTED BY (a, lower(b))")
    for name in ("a", "b"):
        with pytest.raises(StatementError, match="RESET SORTED BY first"):
            session.execute(f"ALTER TABLE t DROP COLUMN {name}")
    session.execute("ALTER TABLE t DROP COLUMN c")
    session.execute("ALTER TABLE t RESET SORTED BY")
    session.execute("ALTER TABLE t DROP COLUMN b")


REFUSED: list[tuple[str, type[Exception], str]] = [
    ("nope", NotFoundError, "nope of main.t"),
    ("t.a", StatementError, "is qualified"),
    ("1", StatementError, "names no column"),
    ('"a"', StatementError, "backquotes"),
    ("made_up(a)", StatementError, "no counterpart in DuckDB"),
    ("a NULLS", StatementError, "FIRST or LAST"),
    ("", StatementError, "was expected"),
    ("a +", StatementError, "is not an expression"),
]


def test_sort_keys_that_duckdb_could_not_use_are_refused(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (a INT)")
    for order, error, message in REFUSED:
        with pytest.raises(error, match=message):
            session.execute(f"ALTER TABLE t SET SORTED BY ({order})")
        with pytest.raises(error):
            session.execute(f"CREATE TABLE main.t2 (a INT) SORTED BY ({order.replace('t.a', 't2.a')})")


def values_in(session: LakeSession, name: str = "t") -> list[list[Any]]:
    reader = session.catalog.reader()
    files = reader.scan_plan(table_of(reader, name)).files
    return [[tuple(row.values()) for row in pq.read_table(file.path, partitioning=None).to_pylist()] for file in files]


def test_a_table_that_is_sorted_by_a_list_can_be_flushed(session: LakeSession, duckdb_on: Connect) -> None:
    with duckdb_on() as duck:
        duck.execute("CREATE TABLE lists (l INTEGER[], i INTEGER); ALTER TABLE lists SET SORTED BY (l)")
        duck.execute("CALL lake.set_option('data_inlining_row_limit', 10, table_name => 'lists')")
        duck.execute("INSERT INTO lists VALUES ([2], 1), ([1], 2)")
    session.execute("CALL flush_inlined_data()")
    assert [[row[:2] for row in file] for file in values_in(session, "lists")] == [[([1], 2), ([2], 1)]]


def test_seeds_are_written_in_order(session: LakeSession, duckdb_on: Connect) -> None:
    session.execute("CREATE TABLE t (a INT, b STRING) SORTED BY (b DESC NULLS FIRST, a)")
    rows = [(i % 7, None if i % 10 == 0 else f"k{i % 3}") for i in range(100)]
    session.load_seed("main", "t", [("a", "int"), ("b", "string")], rows, rebuild=False)
    (written,) = values_in(session)
    assert written == sorted(rows, key=lambda row: (row[1] is not None, [-ord(c) for c in row[1] or ""], row[0]))
    assert duckdb_on().execute("SELECT count(*), count(b), sum(a) FROM t").fetchone() == (100, 90, sum(row[0] for row in rows))


def test_seeds_keep_their_order_if_the_option_is_off(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (a INT) SORTED BY (a) TBLPROPERTIES ('sort_on_insert' = 'false')")
    session.load_seed("main", "t", [("a", "int")], [(3,), (1,), (2,)], rebuild=False)
    assert values_in(session) == [[(3,), (1,), (2,)]]
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('sort_on_insert' = 'true')")
    session.load_seed("main", "t", [("a", "int")], [(3,), (1,), (2,)], rebuild=False)
    assert values_in(session) == [[(1,), (2,), (3,)]]


def test_an_expression_that_needs_spark_leaves_a_seed_unsorted(session: LakeSession, caplog: pytest.LogCaptureFixture) -> None:
    session.execute("CREATE TABLE t (a INT, b STRING) SORTED BY (a, lower(b))")
    session.load_seed("main", "t", [("a", "int"), ("b", "string")], [(2, "x"), (1, "z"), (1, "Y")], rebuild=False)
    assert values_in(session) == [[(1, "z"), (1, "Y"), (2, "x")]]
    assert "needs Spark" in caplog.text


def test_buckets_are_refused_for_a_table_with_files(session: LakeSession, duckdb_on: Connect) -> None:
    session.execute("CREATE TABLE t (a INT, b INT)")
    session.execute("ALTER TABLE t SET PARTITIONED BY (bucket(4, a))")
    session.load_seed("main", "t", [("a", "int"), ("b", "int")], [(i, i) for i in range(20)], rebuild=False)
    before = session.catalog.latest()
    session.execute("ALTER TABLE t SET PARTITIONED BY (bucket(4, a))")
    assert session.catalog.latest() == before, "the same keys are no change"
    for keys in ("bucket(8, a)", "b, bucket(4, a)"):
        with pytest.raises(StatementError, match="CREATE OR REPLACE TABLE"):
            session.execute(f"ALTER TABLE t SET PARTITIONED BY ({keys})")
    session.execute("ALTER TABLE t RESET PARTITIONED BY")
    assert duckdb_on().execute("SELECT b FROM t WHERE a = 7").fetchall() == [(7,)]
    live = rows_of(
        duckdb_on(),
        "SELECT count(c.column_id) FROM {meta}.ducklake_partition_info i LEFT JOIN {meta}.ducklake_partition_column c USING (partition_id) "
        "WHERE i.end_snapshot IS NULL GROUP BY i.partition_id",
    )
    assert live == [(0,)], "a spec without keys means that the table is unpartitioned"
