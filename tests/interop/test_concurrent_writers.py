"""Results stay correct while others commit, expire, merge or roll back: DuckDB reads each snapshot as its committer intended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError, LakeError, MissingFileError, NotFoundError
from dbt.adapters.ducklake.session import LakeSession
from dbt.adapters.ducklake.spark.read import local
from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both, comparable_rows
from tests.places import FULL_MATRIX, NIGHTLY, nightly_rows


@pytest.fixture
def other(both: Both) -> LakeSession:
    """A second session of this adapter."""
    return both.session.lake.session()


@pytest.fixture(params=["duckdb", "ours"])
def writer(request: pytest.FixtureRequest, catalog: CatalogUnderTest, both: Both, other: LakeSession) -> Callable[[str], Any]:
    """A concurrent writer, of each kind in turn; on other databases than SQLite, DuckDB alone in `make test`."""
    if request.param == "ours" and catalog.database != "sqlite" and not FULL_MATRIX:
        pytest.skip(NIGHTLY)
    return both.duckdb if request.param == "duckdb" else other.execute


def newest(both: Both) -> int:
    return both.duck.execute("SELECT max(snapshot_id) FROM lake.snapshots()").fetchone()[0]


def ids(both: Both, version: int) -> list[int]:
    """Return the ids that DuckDB reads from `t` at a snapshot."""
    return [row[0] for row in both.duck.execute(f"SELECT id FROM t AT (VERSION => {version}) ORDER BY id").fetchall()]


def feed(both: Both, first: int, last: int) -> list[tuple[Any, ...]]:
    """Return the change feed of `t`, which must be equal on both sides."""
    query = f"SELECT snapshot_id, change_type, id, v FROM lake.table_changes('t', {first}, {last})"
    reported = comparable_rows(both.duck.execute(query).fetchall())
    assert comparable_rows(both.session.execute(query).fetch()) == reported
    return reported


@pytest.mark.parametrize(
    ("vectors", "writer"), [(False, "duckdb"), (True, "ours"), *nightly_rows((True, "duckdb"), (False, "ours"))], indirect=["writer"]
)
def test_deletes_have_the_snapshot_that_commits_them(both: Both, writer: Callable[[str], Any], vectors: bool) -> None:
    both.duckdb("CREATE TABLE other (id INT)")
    both.duckdb("CREATE TABLE t (id INT, v VARCHAR)")
    both.duckdb(f"CALL lake.set_option('write_deletion_vectors', {vectors}, table_name => 't')")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("INSERT INTO t SELECT i, 'a' FROM range(10) r (i)")
    both.duckdb("INSERT INTO t SELECT 10 + i, 'a' FROM range(10) r (i)")
    both.spark("DELETE FROM t WHERE id = 1")
    start = newest(both)
    with both.transaction():
        both.spark("DELETE FROM t WHERE id = 2")  # its file has a delete file
        both.spark("DELETE FROM t WHERE id = 3")
        both.spark("DELETE FROM t WHERE id = 12")  # its file has none and gets two deletes
        both.spark("UPDATE t SET v = 'b' WHERE id = 13")
        writer("INSERT INTO other VALUES (1)")
        writer("INSERT INTO other VALUES (2)")
    done = newest(both)
    assert done == start + 3
    before = [0, *range(2, 20)]
    after = [each for each in before if each not in (2, 3, 12)]
    assert [ids(both, version) for version in range(start, done + 1)] == [before, before, before, after]
    both.check_history("t")
    changed = [(done, "delete", each, "a") for each in (2, 3, 12)]
    changed += [(done, "update_postimage", 13, "b"), (done, "update_preimage", 13, "a")]
    assert feed(both, start + 1, done) == comparable_rows(changed)
    assert feed(both, done, done) == comparable_rows(changed)
    assert feed(both, start + 1, done - 1) == []
    orphans = "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true, dry_run => true)"
    assert both.session.execute(orphans).fetch() == []
    both.spark(f"CALL ducklake_rollback('lake', version => {done - 1}, table_name => 't')")
    assert ids(both, newest(both)) == before
    both.check_history("t")


@pytest.mark.parity
def test_a_transaction_whose_snapshot_expires_is_replayed(both: Both, writer: Callable[[str], Any]) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t AS SELECT i AS id, 'a' AS v FROM range(5) r (i)")
    both.duckdb("CREATE TABLE made (n BIGINT)")
    both.duckdb("CREATE TABLE unread AS SELECT 1 AS id")
    with both.transaction():
        both.spark("INSERT INTO made SELECT 0")
        start = newest(both)
        writer("DELETE FROM t WHERE id >= 0")
        writer("INSERT INTO t SELECT 7, 'b'")
        writer(f"CALL ducklake_expire_snapshots('lake', versions => [{start}])")
        both.spark("INSERT INTO made SELECT count(*) FROM t")
    assert both.rows("SELECT n FROM made") == [(0,), (1,)]
    both.session.begin()
    assert both.session.execute("SELECT id FROM t").fetch() == [(7,)]
    start = newest(both)
    writer("INSERT INTO t SELECT 8, 'b'")
    writer("DELETE FROM t WHERE id = 7")
    writer(f"CALL ducklake_expire_snapshots('lake', versions => [{start}])")
    both.spark("INSERT INTO made SELECT count(*) FROM t")  # the files of the earlier plan still exist
    with pytest.raises(
        ConflictError, match=f"snapshot {start}, which this transaction reads, was expired.*a result that the caller received has changed"
    ):
        both.session.commit()
    assert not both.session.in_transaction
    both.session.begin()
    assert both.session.execute("SELECT sum(n) FROM made").fetch() == [(1,)]
    start = newest(both)
    writer("INSERT INTO made SELECT 5")
    writer("DELETE FROM unread WHERE id = 1")
    writer(f"CALL ducklake_expire_snapshots('lake', versions => [{start}])")
    with pytest.raises(
        ConflictError, match=f"snapshot {start}, which this transaction reads, was expired.*a result that the caller received has changed"
    ):
        both.session.execute("SELECT id FROM unread")
    assert not both.session.in_transaction
    assert both.rows("SELECT n FROM made") == [(0,), (1,), (5,)]


@pytest.mark.parity
def test_files_that_are_merged_and_removed_while_a_transaction_reads_them(
    both: Both, writer: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MAX_ROWS", -1)  # the rows of a small table are read at once
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t (id INT, v VARCHAR)")
    both.duckdb("CREATE TABLE made (n BIGINT)")
    for number in range(3):
        both.duckdb(f"INSERT INTO t SELECT {number}, 'a'")
    reported: list[str] = []
    both.session.notify = reported.append
    late = both.session.execute("SELECT id FROM t ORDER BY id")
    with both.transaction():
        assert both.session.execute("SELECT count(*) FROM t").fetch() == [(3,)]
        slow = both.session.execute("SELECT id FROM t ORDER BY id DESC")
        writer("CALL ducklake_merge_adjacent_files('lake')")
        writer("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        both.spark("INSERT INTO made SELECT count(*) FROM t")
        assert slow.fetch() == [(2,), (1,), (0,)]
    assert late.fetch() == [(0,), (1,), (2,)]
    assert both.rows("SELECT n FROM made") == [(3,)]
    assert any("was merged, rewritten or expired, and then removed, by concurrent maintenance" in each for each in reported)


@pytest.mark.parametrize(
    ("between", "reason"),
    [
        ("USE s", "the current schema, a temporary view or a setting"),
        ("CREATE TEMPORARY VIEW u AS SELECT 1 AS id", "the current schema, a temporary view or a setting"),
        ("SET spark.sql.ansi.enabled = false", "the current schema, a temporary view or a setting"),
        ("CREATE OR REPLACE TABLE main.t AS SELECT 'b' AS v, 2 AS id", "its columns have changed"),
        ("INSERT INTO main.t VALUES (2)", None),
    ],
)
def test_a_query_runs_again_after_its_files_were_removed_only_if_it_is_the_same(
    both: Both, other: LakeSession, monkeypatch: pytest.MonkeyPatch, between: str, reason: str | None
) -> None:
    monkeypatch.setattr(local, "MAX_ROWS", -1)  # the rows of a small table are read at once
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE SCHEMA s")
    for table in ("main.t", "s.t"):
        both.duckdb(f"CREATE TABLE {table} AS SELECT 1 AS id")
    late = both.session.execute("SELECT * FROM t")
    (both.session if between.split()[0] in ("USE", "SET") or "VIEW" in between else other).execute(between)
    both.duckdb("DELETE FROM main.t WHERE id = 1")
    both.duckdb("CALL ducklake_expire_snapshots('lake', older_than => now())")
    both.duckdb("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    if reason is None:
        assert late.fetch() == [(2,)]
        return
    with pytest.raises(ConflictError, match=f"then removed, by concurrent maintenance.* did not run again by itself, because {reason}"):
        late.fetch()


def test_a_missing_file_is_not_a_conflict(both: Both) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t AS SELECT 1 AS id, 'a' AS v")
    ((path,),) = both.session.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetch()
    os.remove(path)
    both.session.begin()
    with pytest.raises(MissingFileError, match="is missing, though the lake's catalog lists it"):
        both.session.execute("SELECT id FROM t").fetch()
    both.session.rollback()


def test_a_file_that_duckdb_added_twice(both: Both, tmp_path: Path) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t (id INT, v VARCHAR)")
    both.duckdb(f"COPY (SELECT i::INT AS id, 'a' AS v FROM range(4) r (i)) TO '{tmp_path}/f.parquet'")
    for _ in range(2):
        both.duckdb(f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/f.parquet')")
    both.duckdb("INSERT INTO t SELECT 9, 'b'")
    assert both.rows("SELECT rowid, id FROM t") == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (5, 1), (6, 2), (7, 3), (8, 9)]
    assert both.rows("SELECT count(*) FROM t") == [(9,)]
    both.spark("DELETE FROM t WHERE id = 1 OR rowid = 6")
    assert both.rows("SELECT rowid, id FROM t") == [(0, 0), (2, 2), (3, 3), (4, 0), (7, 3), (8, 9)]
    both.spark("UPDATE t SET v = 'c' WHERE id = 0")
    assert both.rows("SELECT rowid, id, v FROM t") == [(0, 0, "c"), (2, 2, "a"), (3, 3, "a"), (4, 0, "c"), (7, 3, "a"), (8, 9, "b")]
    both.check_history("t")


@pytest.mark.parity
def test_a_file_that_two_sessions_add_concurrently(both: Both, other: LakeSession, tmp_path: Path) -> None:
    both.duckdb("CREATE TABLE t (id INT)")
    both.duckdb("CREATE TABLE u (id INT)")
    for name in "fg":
        both.duckdb(f"COPY (SELECT 1::INT AS id) TO '{tmp_path}/{name}.parquet'")
    os.symlink(tmp_path / "f.parquet", tmp_path / "link.parquet")

    def add(name: str, table: str = "t") -> str:
        return f"CALL ducklake_add_data_files('lake', '{table}', '{tmp_path}/{name}.parquet')"

    with both.transaction():
        both.spark(add("f"))
        for again in (add("f"), add("f", "u"), add("*"), add("link")):
            with pytest.raises(LakeError, match="is already a file of this lake"):
                both.spark(again)
        both.session.rollback()
        both.session.begin()
        both.spark(add("f"))
        other.execute(add("f", "u"))
        with pytest.raises(ConflictError, match=r"now fails: .* is already a file of this lake"):
            both.session.commit()
        both.session.begin()
        both.spark(add("g"))
        both.duckdb(add("g", "u"))
        with pytest.raises(ConflictError, match=r"now fails: .* is already a file of this lake"):
            both.session.commit()
        both.session.begin()
    with pytest.raises(LakeError, match="is already a file of this lake"):
        both.spark(add("[fl]*"))
    assert both.rows("SELECT id FROM t") == []
    assert both.rows("SELECT id FROM u") == [(1,), (1,)]


def before_the_next_commit(monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any]) -> None:
    """Let a change happen once, just before the next transaction commits."""
    commit = Transaction.commit

    def after_the_change(transaction: Transaction) -> object:
        monkeypatch.setattr(Transaction, "commit", commit)
        change()
        return commit(transaction)

    monkeypatch.setattr(Transaction, "commit", after_the_change)


@pytest.mark.parametrize("command", ["merge_adjacent_files()", "rewrite_data_files(delete_threshold => 0)"])
def test_a_type_that_changes_during_a_compaction(both: Both, other: LakeSession, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    both.spark("CREATE TABLE t (id INT, f FLOAT)")
    both.spark("INSERT INTO t VALUES (1, CAST(0.1 AS FLOAT)), (2, CAST(0.05 AS FLOAT))")
    both.spark("INSERT INTO t VALUES (3, CAST(0.1 AS FLOAT)), (4, CAST(0.05 AS FLOAT))")
    if "rewrite" in command:
        both.spark("DELETE FROM t WHERE id IN (2, 4)")
    before_the_next_commit(monkeypatch, lambda: other.execute("ALTER TABLE t ALTER COLUMN f TYPE DOUBLE"))
    both.spark(f"CALL {command}")
    assert both.rows("SELECT id FROM t WHERE f = CAST(0.10000000149011612 AS DOUBLE)") == [(1,), (3,)]


def test_a_macro_that_expires_during_a_rollback(both: Both, writer: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER)")
    both.duckdb("CREATE MACRO plus(a) AS a + 1")
    version = newest(both)
    both.duckdb("DROP MACRO plus")
    both.duckdb("INSERT INTO t VALUES (1)")
    earlier = ", ".join(map(str, range(newest(both))))
    before_the_next_commit(monkeypatch, lambda: writer(f"CALL ducklake_expire_snapshots('lake', versions => [{earlier}])"))
    with pytest.raises(NotFoundError, match=f"snapshot {version} does not exist"):
        both.spark(f"CALL ducklake_rollback('lake', version => {version})")
    assert both.rows("SELECT * FROM t") == [(1,)]
