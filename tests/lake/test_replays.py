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
def ours(lake: LakeSession) -> LakeSession:
    lake.execute("CREATE TABLE t AS SELECT CAST(id AS INT) AS id, 'old' AS name FROM range(4)")
    lake.messages = []  # type: ignore[attr-defined]
    lake.notify = lake.messages.append  # type: ignore[attr-defined]
    return lake


@pytest.fixture
def other(ours: LakeSession) -> LakeSession:
    return ours.lake.session()


def rows(session: LakeSession, text: str = "SELECT * FROM t ORDER BY ALL") -> list[Any]:
    return [tuple(row) for row in session.execute(text).fetch()]


@pytest.mark.parity  # the catalog database decides how writers take turns
def test_two_concurrent_merges_of_the_same_new_key_leave_one_row(ours: LakeSession, other: LakeSession) -> None:
    ours.begin()
    merged = ours.execute(UPSERT.format("SELECT 7 AS id, 'mine' AS name"))
    # Reading merged.message itself would require the same count in a replay.
    assert merged.unobserved()[0].message == "MERGE 1 inserted"
    other.execute(UPSERT.format("SELECT 7 AS id, 'theirs' AS name"))
    snapshot = ours.commit()
    assert snapshot == ours.catalog.latest()
    assert [result.message for result in ours.last_commit.results if result] == ["MERGE 1 updated"]
    assert rows(ours, "SELECT name FROM t WHERE id = 7") == [("mine",)]
    (message,) = ours.messages  # type: ignore[attr-defined]
    assert "a concurrent transaction inserted rows" in message
    assert "Trying again at the newest snapshot (attempt 2 of 11)" in message
    ((files,),) = rows(ours, "SELECT count(DISTINCT data_file) FROM ducklake_list_files('lake', 't')")
    assert ours.last_commit.written.count >= 1
    assert files >= 2


def test_a_replay_creates_temporary_views_again_and_restores_earlier_ones(ours: LakeSession, other: LakeSession) -> None:
    ours.execute("CREATE TEMPORARY VIEW x AS SELECT 100 AS id, 'old x' AS name")
    ours.begin()
    ours.execute("CREATE OR REPLACE TEMPORARY VIEW next AS SELECT max(id) + 1 AS id, 'mine' AS name FROM t")
    ours.execute("CREATE TEMPORARY VIEW once AS SELECT * FROM next")
    ours.cache("once")
    ours.execute("INSERT INTO t SELECT * FROM x")
    ours.execute("DROP VIEW x")
    ours.execute("CREATE TEMPORARY VIEW x AS SELECT 200 AS id, 'new x' AS name")
    ours.execute("INSERT INTO t SELECT * FROM x")
    ours.execute(UPSERT.format("SELECT * FROM once"))
    other.execute("INSERT INTO t VALUES (50, 'theirs'), (4, 'theirs')")
    ours.commit()
    assert rows(ours, "SELECT * FROM t WHERE id >= 4 ORDER BY ALL") == [
        (4, "theirs"),
        (50, "theirs"),
        (51, "mine"),
        (100, "old x"),
        (200, "new x"),
    ]
    assert rows(ours, "SELECT name FROM x") == [("new x",)]


@pytest.mark.parity  # the catalog database decides how writers take turns
def test_a_concurrently_inserted_row_of_the_replaced_window_is_replaced_too(
    ours: LakeSession, other: LakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for replans in (10, 0):
        monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", replans)
        ours.execute("CREATE OR REPLACE TABLE w AS SELECT CAST(id AS INT) AS id, timestamp '2026-01-02 01:00:00' AS at FROM range(2)")
        ours.begin()
        ours.execute("DELETE FROM w WHERE at >= timestamp '2026-01-02 00:00:00+00:00' AND at < timestamp '2026-01-03 00:00:00+00:00'")
        ours.execute("INSERT INTO w SELECT 10, timestamp '2026-01-02 02:00:00' FROM range(1)")  # Spark runs it, because of range(1)
        other.execute("INSERT INTO w VALUES (5, timestamp '2026-01-02 23:59:59'), (6, timestamp '2026-01-03 00:00:00')")
        if replans:
            ours.commit()
            assert rows(ours, "SELECT id FROM w ORDER BY ALL") == [(6,), (10,)]
        else:
            with pytest.raises(ConflictError, match="inserted rows"):
                ours.commit()
            assert rows(ours, "SELECT id FROM w ORDER BY ALL") == [(0,), (1,), (5,), (6,)]


def test_a_replay_is_refused_if_a_result_would_change_or_is_too_large_to_compare(ours: LakeSession, other: LakeSession) -> None:
    for question, message in (
        ("SELECT count(*) FROM t WHERE id < 4", None),
        ("DESCRIBE t", None),
        ("SELECT count(*) FROM t", "a result that the caller received has changed"),
        ("SELECT id FROM range(1001)", "more than 1000 rows"),
    ):
        ours.begin()
        rows(ours, question)
        ours.columns(["t"])
        ours.execute("UPDATE t SET name = name || '+' WHERE id >= 0")
        other.execute("INSERT INTO t VALUES (60, 'theirs')")
        if message is None:
            ours.commit()
        else:
            with pytest.raises(ConflictError, match=rf"main\.t.* not replayed, because .*{message}"):
                ours.commit()
    assert rows(ours, "SELECT DISTINCT name FROM t WHERE id < 4") == [("old++",)]


def test_a_replay_repeats_queries_that_were_run_but_not_fetched(ours: LakeSession, other: LakeSession) -> None:
    # run() must also work with an interval and with two columns of the same name.
    guard = "SELECT raise_error('no negative ids'), make_interval(1) AS i, 1 AS i FROM t WHERE id < 0"
    for inserted in (70, -1):
        ours.begin()
        ours.execute("UPDATE t SET name = 'guarded' WHERE id >= 0")
        query = ours.execute(guard)
        query.run()
        other.execute(f"INSERT INTO t VALUES ({inserted}, 'theirs')")
        if inserted > 0:
            ours.commit()
        else:
            with pytest.raises(EngineError, match="no negative ids"):
                ours.commit()
            assert not ours.in_transaction
    assert rows(ours, "SELECT DISTINCT name FROM t WHERE id BETWEEN 0 AND 4") == [("guarded",)]


def test_run_computes_a_query_without_fetching_its_rows(ours: LakeSession) -> None:
    for query in ("SELECT raise_error('no negative ids') FROM t", "EXECUTE IMMEDIATE 'SELECT raise_error(''no negative ids'')'"):
        with pytest.raises(EngineError, match="no negative ids"):
            ours.execute(query).run()
    ours.execute("SET spark.sql.shuffle.partitions = 3").run()  # SET ran at once; run() does nothing


def test_the_error_says_why_a_transaction_was_not_replayed(ours: LakeSession, other: LakeSession) -> None:
    def fails() -> None:
        with pytest.raises(StatementError):
            ours.execute("INSERT INTO t SELECT nosuch FROM t")

    def fails_when_fetched() -> None:
        with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
            ours.execute("SELECT 1 DIV (count(*) - count(*)) FROM t").fetch()

    for work, reason in (
        (lambda: ours.execute("/* dbt */ SET spark.sql.shuffle.partitions = 3"), "a statement such as SET changed the Spark session"),
        (lambda: ours.sql("SELECT * FROM t").count(), "received a DataFrame of its rows"),
        (lambda: ours.create_temp_view("made", ours.spark().range(3)), "rows of a DataFrame"),
        (fails, "one of its statements failed"),
        (fails_when_fetched, "the rows of a query could not be computed"),
        (lambda: other.execute("ALTER TABLE t ALTER COLUMN id COMMENT 'The key'"), r"the definition of main\.t has changed"),
    ):
        ours.begin()
        work()
        ours.execute("DELETE FROM t WHERE id = 1")
        other.execute("INSERT INTO t VALUES (1, 'theirs')")
        with pytest.raises(ConflictError, match=f"The transaction was not replayed, because .*{reason}"):
            ours.commit()
        assert not ours.in_transaction
    assert rows(ours, "SELECT count(*) FROM t WHERE id = 1") == [
        (7,)
    ]  # the row of the fixture and six of the other session: no DELETE was committed


def test_seeds_are_loaded_again(ours: LakeSession, other: LakeSession) -> None:
    ours.begin()
    ours.load_seed("main", "t", [("id", "int"), ("name", "string")], iter([(1, "a"), (2, "b")]))
    other.execute("INSERT INTO t VALUES (9, 'theirs')")
    ours.commit()
    assert rows(ours) == [(1, "a"), (2, "b")]


@pytest.mark.parity  # the catalog database decides how writers take turns
def test_eight_concurrent_batches_replace_their_rows_in_one_file(ours: LakeSession, catalog: Any) -> None:
    ours.execute("CREATE TABLE w AS SELECT /*+ COALESCE(1) */ CAST(id AS INT) AS id, id div 10 AS day, 'old' AS run FROM range(80)")
    assert rows(ours, "SELECT count(DISTINCT data_file) FROM ducklake_list_files('lake', 'w')") == [(1,)]

    def batch(day: int) -> int:
        session = ours.lake.session()
        session.begin()
        # A replay creates this view again; the rows come from elsewhere.
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
        found = theirs.execute("SELECT day, count(*), min(id), max(id), max(run) FROM lake.w GROUP BY day ORDER BY day").fetchall()
    assert found == [(day, 5, day * 10, day * 10 + 4, "new") for day in range(8)]
