"""Small sets of rows in SQL statements: which rows are inlined, and how later statements of the same transaction treat them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import time

import duckdb
import pytest

from dbt.adapters.ducklake.errors import DataError, DuckLakeError
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest, session_on
from tests.interop.oracle import connect as connect_duckdb


@pytest.fixture
def session(catalog: CatalogUnderTest, runtime: SparkRuntime) -> Iterator[LakeSession]:
    """A session on an empty lake with the default limit."""
    with session_on(catalog.open(runtime)) as opened:
        yield opened


@pytest.fixture
def duck(catalog: CatalogUnderTest, session: LakeSession) -> Iterator[duckdb.DuckDBPyConnection]:  # noqa: ARG001 (creates the lake)
    connection = connect_duckdb(catalog)
    connection.execute("USE lake")
    yield connection
    connection.close()


def in_files(session: LakeSession, table: str) -> int:
    """Return how many rows of a table are in files."""
    with session.reading() as reader:
        return sum(file.record_count for file in reader.scan_plan(reader.find("main", table)).files)


@pytest.mark.parametrize(
    ("query", "inlined"),
    [
        ("VALUES (1, 'a'), (2, NULL)", True),
        ("SELECT 1, upper('a') UNION ALL SELECT 2, 'b'", False),
        ("SELECT 1, 'a'", True),
        ("SELECT CAST(id AS INT), 'a' FROM range(3)", False),
        ("SELECT * FROM VALUES (1, 'a'), (2, 'b'), (3, 'c') AS v(a, b) WHERE a > 1", True),
        ("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) LIMIT 0", True),
    ],
)
def test_constants_are_inlined(session: LakeSession, duck: duckdb.DuckDBPyConnection, query: str, inlined: bool) -> None:
    session.execute("CREATE TABLE t (a INT, b STRING)")
    session.execute(f"INSERT INTO t {query}")
    assert (in_files(session, "t") == 0) is inlined
    rows = session.execute("SELECT * FROM t ORDER BY a").fetch()
    assert duck.execute("SELECT * FROM t ORDER BY a").fetchall() == [tuple(row) for row in rows]


def test_small_results_defaults_and_not_null(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.execute("CREATE TABLE made AS SELECT 1 AS id, TIMESTAMP '2020-01-02 03:04:05+00' AS created, array('x', NULL) AS l")
    session.execute("CREATE TABLE t (a INT NOT NULL, b STRING DEFAULT 'd')")
    session.execute("INSERT INTO t (a) VALUES (1)")
    with pytest.raises(DataError, match="NOT NULL"):
        session.execute("INSERT INTO t VALUES (CAST(NULL AS INT), 'x')")
    assert in_files(session, "made") == in_files(session, "t") == 0
    assert duck.execute("SELECT id, created::VARCHAR, l FROM made").fetchall() == [(1, "2020-01-02 03:04:05+00", ["x", None])]
    assert duck.execute("SELECT * FROM t").fetchall() == [(1, "d")]


def test_rows_of_the_same_transaction_are_read_changed_and_deleted(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.execute("CREATE TABLE t (a INT, b STRING)")
    session.execute("INSERT INTO t VALUES (0, 'before')")
    session.begin()
    session.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    session.execute("DELETE FROM t WHERE a = 1")
    session.execute("UPDATE t SET b = 'zwei' WHERE a = 2")
    session.execute("MERGE INTO t USING (SELECT 3 AS a, 'drei' AS b UNION ALL SELECT 4, 'vier') s ON t.a = s.a "
                    "WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT *")  # fmt: skip
    with pytest.raises(DuckLakeError):
        session.execute("INSERT INTO t SELECT CAST('x' AS INT), 'no number'")
    session.execute("ALTER TABLE t ADD COLUMN c INT")
    session.execute("INSERT INTO t VALUES (6, 'sechs', 6)")
    expected = [(0, "before", None), (2, "zwei", None), (3, "drei", None), (4, "vier", None), (6, "sechs", 6)]
    assert [tuple(row) for row in session.execute("SELECT * FROM t ORDER BY a").fetch()] == expected
    session.commit()
    assert duck.execute("SELECT * FROM t ORDER BY a").fetchall() == expected
    ids = [row_id for (row_id,) in duck.execute("SELECT rowid FROM t").fetchall()]
    assert len(set(ids)) == 5
    duck.execute("INSERT INTO t VALUES (7, 'their', 7)")
    assert duck.execute("SELECT rowid FROM t WHERE a = 7").fetchone()[0] > max(ids)


def test_inlined_rows_get_columns_that_are_added_later(session: LakeSession, duck: duckdb.DuckDBPyConnection) -> None:
    session.begin()
    session.execute("CREATE TABLE t (a INT, gone STRING, s STRUCT<x: INT>)")
    session.execute("INSERT INTO t VALUES (1, 'x', named_struct('x', 1))")
    session.execute("ALTER TABLE t DROP COLUMN gone")
    session.execute("ALTER TABLE t ADD COLUMN b STRING DEFAULT 'd'")
    session.execute("ALTER TABLE t ALTER COLUMN a TYPE BIGINT")
    session.execute("ALTER TABLE t ADD COLUMN s.y STRING")
    session.commit()
    assert in_files(session, "t") == 0
    assert duck.execute("SELECT * FROM t").fetchall() == [(1, {"x": 1, "y": None}, "d")]


@pytest.mark.parity
def test_concurrent_inserts_do_not_conflict_but_deletes_do(
    session: LakeSession, duck: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)  # else the insert is planned again, after the delete
    session.execute("CREATE TABLE t (a INT)")
    session.begin()
    session.execute("INSERT INTO t VALUES (1)")
    duck.execute("INSERT INTO t VALUES (2)")
    session.commit()
    assert duck.execute("SELECT a, rowid FROM t ORDER BY rowid").fetchall() == [(2, 0), (1, 1)]
    session.begin()
    session.execute("INSERT INTO t VALUES (3)")
    duck.execute("DELETE FROM t WHERE a = 2")
    with pytest.raises(Exception, match="deleted rows"):
        session.commit()


@pytest.mark.parametrize("limit", [10, 0], ids=["inlined", "in a file"])
def test_dates_that_python_lacks_are_read_as_text(session: LakeSession, duck: duckdb.DuckDBPyConnection, limit: int) -> None:
    duck.execute("CREATE TABLE t (id INTEGER, d DATE, t TIMESTAMP, z TIMESTAMPTZ, l DATE[])")
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => 't')")
    duck.execute(
        "INSERT INTO t VALUES (1, 'infinity', '-infinity', 'infinity', ['infinity']), (2, '12345-06-07', '12345-06-07', NULL, NULL)"
    )
    for column, kind in {"d": "date", "t": "timestamp", "z": "timestamp", "l": "date"}.items():
        with pytest.raises(DataError, match=rf"column {column} contains a {kind} outside the years 1 to 9999.*CAST\({column} AS STRING\)"):
            session.execute(f"SELECT {column} FROM t").fetch()
    assert session.execute("SELECT CAST(d AS STRING), CAST(t AS STRING) FROM t WHERE id = 2").fetch() == [
        ("+12345-06-07", "+12345-06-07 00:00:00")
    ]
    assert session.execute("SELECT id FROM t WHERE d > DATE '9999-12-31' AND t < TIMESTAMP_NTZ '0001-01-01'").fetch() == [(1,)]


@pytest.mark.parametrize("limit", [10, 0], ids=["inlined", "in a file"])
def test_the_time_24_00_is_stored_and_only_reading_it_is_an_error(
    session: LakeSession, duck: duckdb.DuckDBPyConnection, limit: int
) -> None:
    duck.execute("CREATE TABLE t (id INTEGER, t TIME, l TIME[], s STRUCT(t TIME), m MAP(INTEGER, TIME))")
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => 't')")
    duck.execute(
        "INSERT INTO t SELECT i, t, [t], {'t': t}, MAP {1: t} FROM (VALUES (1, TIME '24:00:00'), (2, TIME '12:00:00'), (3, NULL)) v(i, t)"
    )
    assert in_files(session, "t") == (3 if limit == 0 else 0)
    assert session.execute("SELECT id FROM t ORDER BY id").fetch() == [(1,), (2,), (3,)]
    assert session.execute("SELECT id FROM t WHERE t > TIME '23:59:59'").fetch() == [(1,)]
    assert session.execute("SELECT t, l, s, m FROM t WHERE id = 2").fetch() == [
        (time(12), [time(12)], {"t": time(12)}, [(1, time(12))]),
    ]
    for column in ("t", "l", "s", "m"):
        with pytest.raises(DataError, match=f"column {column} contains the TIME 24:00:00"):
            session.execute(f"SELECT {column} FROM t").fetch()
    with pytest.raises(DataError, match="A TIME is 24:00:00"):
        session.execute("SELECT string(t) FROM t").fetch()
    session.execute("CREATE TABLE copy AS SELECT * FROM t")
    session.execute("UPDATE t SET id = id + 10")
    assert duck.execute("SELECT t, l FROM copy ORDER BY id").fetchall() == duck.execute("SELECT t, l FROM t ORDER BY id").fetchall()
    assert duck.execute("SELECT t::VARCHAR FROM t ORDER BY id").fetchall() == [("24:00:00",), ("12:00:00",), (None,)]
