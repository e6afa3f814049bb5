"""A transaction that conflicts with a concurrent commit is replayed at the newest snapshot if its earlier results would stay the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConflictError, DataError, EngineError, StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.interop import oracle

UPSERT = "MERGE INTO t USING ({}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


@pytest.fixture
def t(lake: LakeSession) -> LakeSession:
    lake.execute("CREATE TABLE t AS SELECT CAST(id AS INT) AS id, 'old' AS name FROM range(4)")
    lake.messages = []  # type: ignore[attr-defined]
    lake.notify = lake.messages.append  # type: ignore[attr-defined]
    return lake


@pytest.fixture
def other(t: LakeSession) -> LakeSession:
    return t.lake.session()


def rows(session: LakeSession, text: str = "SELECT * FROM t ORDER BY ALL") -> list[Any]:
    return [tuple(row) for row in session.execute(text).fetch()]


@pytest.mark.parity  # the catalog database decides how writers take turns
def test_two_merges_of_one_key_update_one_row(t: LakeSession, other: LakeSession) -> None:
    t.begin()
    merged = t.execute(UPSERT.format("SELECT 7 AS id, 'mine' AS name"))
    assert merged.unobserved()[0].message == "MERGE 1 inserted"
    other.execute(UPSERT.format("SELECT 7 AS id, 'theirs' AS name"))
    snapshot = t.commit()
    assert snapshot == t.catalog.latest()
    assert [result.message for result in t.last_commit.results if result] == ["MERGE 1 updated"]
    assert rows(t, "SELECT name FROM t WHERE id = 7") == [("mine",)]
    (message,) = t.messages  # type: ignore[attr-defined]
    assert "a concurrent transaction inserted rows" in message
    assert "Trying again at the newest snapshot (attempt 2 of 11)" in message
    files = rows(t, "SELECT count(DISTINCT data_file) FROM ducklake_list_files('lake', 't')")
    assert t.last_commit.written.count >= 1
    assert files >= [(2,)]


def test_a_replay_creates_temporary_views_again_and_restores_earlier_ones(t: LakeSession, other: LakeSession) -> None:
    t.execute("CREATE TEMPORARY VIEW x AS SELECT 100 AS id, 'x of before' AS name")
    t.begin()
    t.execute("CREATE OR REPLACE TEMPORARY VIEW next AS SELECT max(id) + 1 AS id, 'mine' AS name FROM t")
    t.execute("CREATE TEMPORARY VIEW once AS SELECT * FROM next")
    t.cache("once")
    t.execute("INSERT INTO t SELECT * FROM x")
    t.execute("DROP VIEW x")
    t.execute("CREATE TEMPORARY VIEW x AS SELECT 200 AS id, 'x of mine' AS name")
    t.execute("INSERT INTO t SELECT * FROM x")
    t.execute(UPSERT.format("SELECT * FROM once"))
    other.execute("INSERT INTO t VALUES (50, 'theirs'), (4, 'theirs')")
    t.commit()
    assert rows(t, "SELECT * FROM t WHERE id >= 4 ORDER BY ALL") == [
        (4, "theirs"),
        (50, "theirs"),
        (51, "mine"),
        (100, "x of before"),
        (200, "x of mine"),
    ]
    assert rows(t, "SELECT name FROM x") == [("x of mine",)]


@pytest.mark.parity  # the catalog database decides how writers take turns
def test_a_row_that_arrives_late_in_the_window_is_replaced_too(t: LakeSession, other: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    for replans in (10, 0):
        monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", replans)
        t.execute("CREATE OR REPLACE TABLE w AS SELECT CAST(id AS INT) AS id, timestamp '2026-01-02 01:00:00' AS at FROM range(2)")
        t.begin()
        t.execute("DELETE FROM w WHERE at >= timestamp '2026-01-02 00:00:00+00:00' AND at < timestamp '2026-01-03 00:00:00+00:00'")
        t.execute("INSERT INTO w SELECT 10, timestamp '2026-01-02 02:00:00' FROM range(1)")
        other.execute("INSERT INTO w VALUES (5, timestamp '2026-01-02 23:59:59'), (6, timestamp '2026-01-03 00:00:00')")
        if replans:
            t.commit()
            assert rows(t, "SELECT id FROM w ORDER BY ALL") == [(6,), (10,)]
        else:
            with pytest.raises(ConflictError, match="inserted rows"):
                t.commit()
            assert rows(t, "SELECT id FROM w ORDER BY ALL") == [(0,), (1,), (5,), (6,)]


def test_a_replay_is_refused_if_a_result_would_change(t: LakeSession, other: LakeSession) -> None:
    for question, message in (
        ("SELECT count(*) FROM t WHERE id < 4", None),
        ("DESCRIBE t", None),
        ("SELECT count(*) FROM t", "a result that the caller received has changed"),
        ("SELECT id FROM range(1001)", "more than 1000 rows"),
    ):
        t.begin()
        rows(t, question)
        t.columns(["t"])
        t.execute("UPDATE t SET name = name || '+' WHERE id >= 0")
        other.execute("INSERT INTO t VALUES (60, 'theirs')")
        if message is None:
            t.commit()
        else:
            with pytest.raises(ConflictError, match=rf"main\.t.* not replayed, because .*{message}"):
                t.commit()
    assert rows(t, "SELECT DISTINCT name FROM t WHERE id < 4") == [("old++",)]


def test_a_replay_computes_the_queries_again_that_nobody_fetched(t: LakeSession, other: LakeSession) -> None:
    guard = "SELECT raise_error('no negative ids'), make_interval(1) AS i, 1 AS i FROM t WHERE id < 0"
    for inserted in (70, -1):
        t.begin()
        t.execute("UPDATE t SET name = 'guarded' WHERE id >= 0")
        query = t.execute(guard)
        query.run()
        other.execute(f"INSERT INTO t VALUES ({inserted}, 'theirs')")
        if inserted > 0:
            t.commit()
        else:
            with pytest.raises(EngineError, match="no negative ids"):
                t.commit()
            assert not t.in_transaction
    with pytest.raises(EngineError, match="no negative ids"):
        t.execute(guard).run()
    t.execute("SET spark.sql.shuffle.partitions = 3").run()
    with pytest.raises(EngineError, match="no negative ids"):
        t.execute("EXECUTE IMMEDIATE 'SELECT raise_error(''no negative ids'')'").run()
    assert rows(t, "SELECT DISTINCT name FROM t WHERE id BETWEEN 0 AND 4") == [("guarded",)]


def test_the_error_names_the_statement_that_prevents_a_replay(t: LakeSession, other: LakeSession) -> None:
    def fails() -> None:
        with pytest.raises(StatementError):
            t.execute("INSERT INTO t SELECT nosuch FROM t")

    def fails_when_fetched() -> None:
        with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
            t.execute("SELECT 1 DIV (count(*) - count(*)) FROM t").fetch()

    for work, reason in (
        (lambda: t.execute("/* dbt */ SET spark.sql.shuffle.partitions = 3"), "a statement such as SET changed the Spark session"),
        (lambda: t.sql("SELECT * FROM t").count(), "received a DataFrame of its rows"),
        (lambda: t.create_temp_view("made", t.spark().range(3)), "rows of a DataFrame"),
        (fails, "one of its statements failed"),
        (fails_when_fetched, "the rows of a query could not be computed"),
        (lambda: other.execute("ALTER TABLE t ALTER COLUMN id COMMENT 'The key'"), r"the definition of main\.t has changed"),
    ):
        t.begin()
        work()
        t.execute("DELETE FROM t WHERE id = 1")
        other.execute("INSERT INTO t VALUES (1, 'theirs')")
        with pytest.raises(ConflictError, match=f"The transaction was not replayed, because .*{reason}"):
            t.commit()
        assert not t.in_transaction
    assert rows(t, "SELECT count(*) FROM t WHERE id = 1") == [(7,)]


def test_seeds_are_loaded_again(t: LakeSession, other: LakeSession) -> None:
    t.begin()
    t.load_seed("main", "t", [("id", "int"), ("name", "string")], iter([(1, "a"), (2, "b")]))
    other.execute("INSERT INTO t VALUES (9, 'theirs')")
    t.commit()
    assert rows(t) == [(1, "a"), (2, "b")]


@pytest.mark.parity  # the catalog database decides how writers take turns
def test_eight_concurrent_windows_of_one_file(t: LakeSession, catalog: Any) -> None:
    t.execute("CREATE TABLE w AS SELECT /*+ COALESCE(1) */ CAST(id AS INT) AS id, id div 10 AS day, 'old' AS run FROM range(80)")
    assert rows(t, "SELECT count(DISTINCT data_file) FROM ducklake_list_files('lake', 'w')") == [(1,)]

    def batch(day: int) -> int:
        session = t.lake.session()
        session.begin()
        session.execute(f"CREATE OR REPLACE TEMPORARY VIEW fresh AS SELECT id, day, 'new' AS run FROM w WHERE day = {day} AND id % 2 = 0")
        session.execute(f"DELETE FROM w WHERE day = {day}")
        session.execute(f"INSERT INTO w SELECT id, {day}, 'new' FROM range({day * 10}, {day * 10 + 5}) r(id)")
        snapshot = session.commit()
        assert snapshot is not None
        return snapshot.snapshot_id

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(batch, range(8)))
    assert len(set(made)) == 8
    with oracle.connect(catalog) as theirs:
        found = theirs.execute("SELECT day, count(*), min(id), max(id), min(run) FROM lake.w GROUP BY day ORDER BY day").fetchall()
    assert found == [(day, 5, day * 10, day * 10 + 4, "new") for day in range(8)]
