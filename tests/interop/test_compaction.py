"""Compaction: after files are merged or rewritten, DuckDB and we still read the same rows at every snapshot, and can change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConflictError, LakeError, StatementError
from dbt.adapters.ducklake.spark.write import compaction
from tests.interop.conftest import Both, comparable_rows
from tests.places import nightly

TABLES = {
    "plain": ["CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)"],
    "partitioned": ["CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)", "ALTER TABLE t SET PARTITIONED BY (k)"],
    "bucketed": ["CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)", "ALTER TABLE t SET PARTITIONED BY (bucket(3, v))"],
    "sorted": ["CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)", "ALTER TABLE t SET SORTED BY (v DESC)"],
}


def duckdb_reads(both: Both) -> dict[Any, Any]:
    """Return what DuckDB reads of the table: rows with row ids by snapshot, and the change feed under the key `feed`."""
    first = both.duck.execute(
        "SELECT min(snapshot_id) FROM lake.snapshots() WHERE list_contains(changes['tables_created'], 'main.t')"
    ).fetchone()[0]
    last = both.snapshots() - 1
    found: dict[Any, Any] = {}
    for version in range(first, last + 1):
        found[version] = comparable_rows(both.duck.execute(f"SELECT rowid, snapshot_id, * FROM t AT (VERSION => {version})").fetchall())
    found["feed"] = comparable_rows(both.duck.execute(f"SELECT * FROM lake.table_changes('t', {first}, {last})").fetchall())
    return found


def assert_unchanged(both: Both, before: dict[Any, Any], *, feed_too: bool = True) -> None:
    """Assert that DuckDB and we still read the same rows at every snapshot in `before` and, with `feed_too`, the same change feed."""
    last = max(version for version in before if version != "feed")
    ours = both.ours_at("t", (version for version in before if version != "feed"))
    for version, wanted in before.items():
        if version == "feed":
            continue
        rows = both.duck.execute(f"SELECT rowid, snapshot_id, * FROM t AT (VERSION => {version})").fetchall()
        assert comparable_rows(rows) == wanted, version
        assert ours[version] == comparable_rows([row[2:] for row in wanted]), version
    if feed_too:
        first = min(version for version in before if version != "feed")
        query = f"SELECT * FROM lake.table_changes('t', {first}, {last})"
        assert comparable_rows(both.duck.execute(query).fetchall()) == before["feed"]
        assert comparable_rows(both.session.execute(query).fetch()) == before["feed"]


def files(both: Both) -> int:
    return len(both.duck.execute("SELECT * FROM ducklake_list_files('lake', 't')").fetchall())


def fill(both: Both) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    for number in range(3):
        both.duckdb(f"INSERT INTO t SELECT {number} * 10 + i, i % 2, 'd' || i FROM range(4) r(i)")
    both.spark("INSERT INTO t SELECT 40 + id, id % 2, concat('s', id) FROM range(4)")


@pytest.mark.parametrize("kind", ["partitioned", *nightly("sorted", "plain", "bucketed")])
def test_a_merge_changes_no_result(both: Both, kind: str) -> None:
    for statement in TABLES[kind]:
        both.duckdb(statement)
    fill(both)
    both.spark("UPDATE t SET v = 'changed' WHERE id IN (1, 11, 41)")  # new row versions, whose row ids are not consecutive
    before, many = duckdb_reads(both), files(both)
    result = both.session.execute("CALL ducklake_merge_adjacent_files('lake')").fetch()
    assert result
    assert {row[:2] for row in result} == {("main", "t")}
    assert files(both) < many
    assert files(both) == many - sum(processed - created for _, _, processed, created in result)
    assert_unchanged(both, before)
    changes = both.duck.execute("SELECT changes FROM lake.snapshots() ORDER BY snapshot_id DESC LIMIT 1").fetchone()[0]
    assert changes == {"merge_adjacent": ["1"], "tables_inserted_into": ["1"]}, "see format.changes"
    assert both.session.execute("CALL lake.merge_adjacent_files('t')").fetch() == []
    both.duckdb("DELETE FROM t WHERE id = 2")
    both.spark("UPDATE t SET v = 'again' WHERE id = 3")
    both.duckdb("INSERT INTO t VALUES (99, 1, 'new')")
    after = duckdb_reads(both)
    query = f"SELECT * FROM lake.table_changes('t', 1, {max(version for version in after if version != 'feed')})"
    feed = comparable_rows(both.session.execute(query).fetch())
    both.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    # DuckDB's feed reports deletes of files with embedded row ids at the snapshot of the insert, so our feed is compared with itself.
    assert_unchanged(both, {**after, **{version: rows for version, rows in before.items() if version != "feed"}}, feed_too=False)
    assert comparable_rows(both.session.execute(query).fetch()) == feed


def test_a_setting_of_spark_does_not_split_a_merged_file(both: Both) -> None:
    both.duckdb(*TABLES["plain"])
    fill(both)
    before = duckdb_reads(both)
    both.spark("SET spark.sql.files.maxRecordsPerFile = 3")
    both.spark("CALL ducklake_merge_adjacent_files('lake')")
    assert files(both) == 1
    assert_unchanged(both, before)
    both.spark("DELETE FROM t WHERE id % 2 = 0")
    before = duckdb_reads(both)
    both.spark("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.1)")
    assert_unchanged(both, before, feed_too=False)


def test_rows_that_are_missing_in_a_merged_file_are_an_error(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.duckdb(*TABLES["plain"])
    fill(both)
    before = duckdb_reads(both)
    rows_of_groups = compaction._rows
    monkeypatch.setattr(compaction, "_rows", lambda *given: rows_of_groups(*given).where("id <> 11"))
    with pytest.raises(LakeError, match=r"Spark wrote 15 rows .* that have 16 to 16 rows, so these files are kept"):
        both.spark("CALL ducklake_merge_adjacent_files('lake')")
    assert_unchanged(both, before)


def test_files_with_different_columns_are_not_merged_and_keep_them(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)")
    fill(both)
    both.duckdb("ALTER TABLE t DROP COLUMN k")
    both.duckdb("ALTER TABLE t RENAME COLUMN v TO w")
    both.duckdb("ALTER TABLE t ADD COLUMN k BIGINT DEFAULT 7")
    both.spark("INSERT INTO t VALUES (50, 'x', 1)")
    both.duckdb("INSERT INTO t VALUES (51, 'y', 2)")
    before = duckdb_reads(both)
    assert both.session.execute("CALL lake.merge_adjacent_files('t')").fetch() == [("main", "t", 4, 1), ("main", "t", 2, 1)]
    assert_unchanged(both, before)


def test_files_of_columns_with_any_names_are_merged_and_rewritten(both: Both) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb('CREATE TABLE t (id INTEGER, "a`b" VARCHAR, "c.d" VARCHAR)')
    for number in range(2):
        both.duckdb(f"INSERT INTO t SELECT i, 'x' || i, 'y' FROM range({number * 10}, {number * 10 + 5}) r(i)")
    before = duckdb_reads(both)
    both.spark("CALL lake.merge_adjacent_files('t')")
    assert files(both) == 1
    assert_unchanged(both, before)
    both.duckdb("DELETE FROM t WHERE id < 3")
    before = duckdb_reads(both)
    both.spark("CALL lake.rewrite_data_files('t', delete_threshold => 0.1)")
    assert_unchanged(both, before, feed_too=False)


def test_flushed_and_merged_files_are_merged_again(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)")
    both.duckdb("INSERT INTO t VALUES (1, 1, 'inlined'), (2, 2, 'inlined')")
    both.duckdb("CALL ducklake_flush_inlined_data('lake')")
    fill(both)
    both.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    both.spark("INSERT INTO t SELECT 50 + id, 1, 'x' FROM range(3)")
    before = duckdb_reads(both)
    assert both.session.execute("CALL lake.merge_adjacent_files('t')").fetch() == [("main", "t", 2, 1)]
    assert_unchanged(both, before)


def test_files_outside_the_lake_are_merged_into_the_table(both: Both, tmp_path: Path) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)")
    for number in range(2):
        file = tmp_path / "elsewhere" / f"{number}.parquet"
        file.parent.mkdir(exist_ok=True)
        both.duckdb(f"COPY (SELECT {number}::INTEGER AS id, 1 AS k, 'x' AS v) TO '{file}'")
        both.duckdb(f"CALL ducklake_add_data_files('lake', 't', '{file}')")
    fill(both)
    before = duckdb_reads(both)
    assert both.session.execute("CALL lake.merge_adjacent_files('t')").fetch() == [("main", "t", 6, 1)]
    assert_unchanged(both, before)
    (path,) = both.duck.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchone()
    assert "/elsewhere/" not in path


def test_which_files_are_merged_follows_arguments_and_options(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)")
    both.duckdb("CREATE TABLE u AS SELECT 1 AS a")
    fill(both)
    size = both.duck.execute("SELECT max(data_file_size_bytes) FROM ducklake_list_files('lake', 't')").fetchone()[0]
    for arguments in (f"min_file_size => {size + 1}", "max_file_size => 1", "schema => 'main', table_name => 'u'"):
        assert both.session.execute(f"CALL ducklake_merge_adjacent_files('lake', {arguments})").fetch() == []
    many = files(both)
    both.duckdb("CALL lake.set_option('auto_compact', false, table_name => 't')")
    for arguments in ("'lake'", "'lake', 't'", "'lake', 't', schema => 'main'"):
        assert both.rows(f"CALL ducklake_merge_adjacent_files({arguments})") == []
    assert files(both) == many
    both.duckdb("CALL lake.set_option('auto_compact', true, table_name => 't')")
    both.spark("ALTER TABLE t SET PARTITIONED BY (k)")
    both.spark("INSERT INTO t SELECT id, id % 2, 'p' FROM range(4)")
    both.spark("INSERT INTO t SELECT id, id % 2, 'p' FROM range(4)")
    before = duckdb_reads(both)
    assert len(both.session.execute("CALL lake.merge_adjacent_files('t', max_compacted_files => 1)").fetch()) == 1
    assert_unchanged(both, before)
    both.session.begin()
    with pytest.raises(StatementError, match="runs in its own transaction"):
        both.spark("CALL lake.merge_adjacent_files('t')")
    both.session.rollback()


@pytest.mark.parametrize("kind", ["partitioned", "sorted", *nightly("plain")])
def test_a_rewrite_omits_deleted_rows(both: Both, kind: str) -> None:
    for statement in TABLES[kind]:
        both.duckdb(statement)
    fill(both)
    both.duckdb("DELETE FROM t WHERE id IN (1, 2, 3)")
    both.spark("DELETE FROM t WHERE id = 11")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 10)")
    both.duckdb("DELETE FROM t WHERE id IN (22, 40, 41, 42, 43)")  # some deletes stay in the catalog
    before = duckdb_reads(both)
    gone = both.session.execute("CALL ducklake_rewrite_data_files('lake', delete_threshold => 1)").fetch()
    assert gone
    assert all(row == ("main", "t", 1, 0) for row in gone)  # the files of the rows 40 to 43 have no other rows
    result = both.session.execute("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.2)").fetch()
    assert sum(processed for _, _, processed, _ in result) >= 2
    rows = both.duck.execute("SELECT rowid, * FROM t").fetchall()
    last = max(version for version in before if version != "feed")
    assert comparable_rows(rows) == comparable_rows([(row[0], *row[2:]) for row in before[last]])
    assert_unchanged(both, before, feed_too=False)
    left = both.duck.execute("SELECT delete_file FROM ducklake_list_files('lake', 't') WHERE delete_file IS NOT NULL").fetchall()
    assert left == []
    both.duckdb("DELETE FROM t WHERE id = 20")
    both.rows("SELECT * FROM t ORDER BY id")


@pytest.mark.parity
def test_a_concurrent_delete_is_not_lost(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt.adapters.ducklake.lake import compaction

    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)")
    fill(both)
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 10)")
    write, calls = compaction.write_compacted, []

    def write_then_delete(*arguments: Any) -> Any:
        done = write(*arguments)
        if not calls:
            both.duckdb("DELETE FROM t WHERE id = 1")
        calls.append(done)
        return done

    monkeypatch.setattr(compaction, "write_compacted", write_then_delete)
    result = both.session.execute("CALL lake.merge_adjacent_files('t')").fetch()
    assert len(calls) == 2  # the rewrite was planned again, without the file that the delete changed
    assert result == [("main", "t", 3, 1)]
    assert (1,) not in both.rows("SELECT id FROM t")
    monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)
    calls.clear()
    both.duckdb("INSERT INTO t SELECT 70 + i, 1, 'x' FROM range(20) r(i)")
    both.duckdb("INSERT INTO t SELECT 100 + i, 1, 'x' FROM range(20) r(i)")
    monkeypatch.setattr(both, "duckdb", lambda _statement: both.duck.execute("DELETE FROM t WHERE id = 70"))
    with pytest.raises(ConflictError, match="nothing was written"):
        both.session.execute("CALL lake.merge_adjacent_files('t')")
