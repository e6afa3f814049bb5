"""Compaction: after files are merged or rewritten, DuckDB and we still read the same rows at every snapshot, and can change them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dbt.adapters.ducklake.catalog.read.reader import SnapshotReader
from dbt.adapters.ducklake.errors import ConflictError, LakeError, StatementError
from dbt.adapters.ducklake.lake import compaction as compacting
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


def data_files(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "lake_files").rglob("*.parquet"))


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


def test_each_new_file_is_written_by_a_task_of_its_own(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER)")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (k)")
    for _ in range(2):
        both.spark("INSERT INTO t SELECT id, id % 8 FROM range(16)")
    write, tasks = compaction.run_write_job, []

    def count_tasks(rows: DataFrame, *arguments: Any, **options: Any) -> Any:
        tasks.extend(rows.select("__ducklake_group", F.spark_partition_id()).distinct().collect())
        return write(rows, *arguments, **options)

    monkeypatch.setattr(compaction, "run_write_job", count_tasks)
    both.spark("CALL merge_adjacent_files()")
    assert len(tasks) == len({task for _, task in tasks}) == 8


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


@pytest.fixture
def during_the_first_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[str]]:
    """Let a change happen once, after the first files of a compaction are written; return the tables whose files are written."""

    def install(change: Callable[[], Any]) -> list[str]:
        write, written = compacting.write_compacted, []

        def write_then_change(spark: Any, groups: Any, job: Any) -> Any:
            done = write(spark, groups, job)
            if not written:
                change()
            written.append(job.table.name)
            return done

        monkeypatch.setattr(compacting, "write_compacted", write_then_change)
        return written

    return install


@pytest.mark.parity
def test_a_concurrent_delete_is_not_lost(
    both: Both, during_the_first_write: Callable[[Callable[[], Any]], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)")
    fill(both)
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 10)")
    written = during_the_first_write(lambda: both.duckdb("DELETE FROM t WHERE id = 1"))
    result = both.session.execute("CALL lake.merge_adjacent_files('t')").fetch()
    assert written == ["t", "t"]  # the merge was planned again, without the file that the delete changed
    assert result == [("main", "t", 3, 1)]
    assert (1,) not in both.rows("SELECT id FROM t")
    monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)
    both.duckdb("INSERT INTO t SELECT 70 + i, 1, 'x' FROM range(20) r(i)")
    both.duckdb("INSERT INTO t SELECT 100 + i, 1, 'x' FROM range(20) r(i)")
    during_the_first_write(lambda: both.duckdb("DELETE FROM t WHERE id = 70"))
    before = both.snapshots()
    with pytest.raises(ConflictError, match="have changed since their compaction began"):
        both.session.execute("CALL lake.merge_adjacent_files('t')")
    during_the_first_write(lambda: both.duckdb("DELETE FROM t WHERE id = 100"))
    result = both.session.execute("CALL lake.merge_adjacent_files()")
    assert (result.fetch(), result.snapshot, both.snapshots()) == ([], None, before + 2)
    assert result.message == (
        "MERGE ADJACENT FILES: 0 files became 0; left for the next time, because of concurrent writers: "
        "main.t (files of main.t have changed since their compaction began)"
    )


@pytest.mark.parametrize("inlined", [0, 10])
def test_a_group_with_a_changed_file_is_left_and_the_others_are_merged(
    both: Both, tmp_path: Path, inlined: int, during_the_first_write: Callable[[Callable[[], Any]], list[str]]
) -> None:
    for statement in TABLES["partitioned"]:
        both.duckdb(statement)
    fill(both)
    both.duckdb(f"CALL lake.set_option('data_inlining_row_limit', {inlined})")
    before, stored = duckdb_reads(both), set(data_files(tmp_path))
    written = during_the_first_write(lambda: both.duckdb("DELETE FROM t WHERE id = 1"))
    result = both.session.execute("CALL merge_adjacent_files()")
    assert (result.fetch(), written) == ([("main", "t", 4, 1)], ["t"])
    assert result.message == (
        "MERGE ADJACENT FILES: 4 files became 1; left for the next time, because of concurrent writers: 4 files of main.t"
    )
    new = [path for path in data_files(tmp_path) if path not in stored and "delete" not in path.name]
    assert len(new) == 1  # that of the other group is removed
    assert_unchanged(both, before, feed_too=False)
    assert (1,) not in both.rows("SELECT id FROM t")
    assert both.session.execute("CALL merge_adjacent_files()").fetch() == [("main", "t", 3, 1)]


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO u VALUES (9, 9, 'new')",
        "DELETE FROM u WHERE id = 1",
        "UPDATE u SET v = 'new'",
        "ALTER TABLE u ADD COLUMN w INTEGER",
        "DROP TABLE u",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t VALUES (9, 9, 'new')",
    ],
)
def test_a_change_of_one_table_does_not_undo_the_merge_of_another(
    both: Both, change: str, during_the_first_write: Callable[[Callable[[], Any]], list[str]]
) -> None:
    for name in ("s", "t", "u"):
        both.duckdb(f"CREATE TABLE {name} (id INTEGER, k INTEGER, v VARCHAR)")
        both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
        for number in range(3):
            both.duckdb(f"INSERT INTO {name} SELECT {number} * 10 + i, i % 2, 'd' || i FROM range(4) r(i)")
    before = both.snapshots()
    written = during_the_first_write(lambda: both.duckdb(change))
    result = both.session.execute("CALL merge_adjacent_files()")
    merged = {name: number for _, name, number, _ in result.fetch()}
    assert written == list(merged)
    assert both.snapshots() == before + 1 + len(merged)
    assert result.snapshot is not None
    assert result.snapshot.snapshot_id == both.snapshots() - 1
    assert written[0] == "s"
    for name in {"s", "t", "u"} - ({"u"} if change.startswith("DROP") else set()):
        both.check_history(name)


@pytest.mark.parametrize("change", ["merge", "flush of deletes"])
def test_a_file_with_rows_or_deletes_of_later_snapshots_is_left(both: Both, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A concurrent merge and a flush change what the catalog says of snapshots before them, and so of the one that is compacted."""
    both.duckdb("CREATE TABLE t (id INTEGER, k INTEGER, v VARCHAR)")
    fill(both)
    both.duckdb("INSERT INTO t SELECT 1000 + i, i, md5(i::VARCHAR) FROM range(500) r(i)")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 10)")
    if change == "flush of deletes":
        both.duckdb("DELETE FROM t WHERE id = 1")
    plan, plans = SnapshotReader.compaction_plan, []

    def change_then_plan(reader: SnapshotReader, table: Any) -> Any:
        if not plans:
            if change == "merge":
                both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
                both.duckdb("INSERT INTO t VALUES (99, 9, 'new')")
                both.duckdb("CALL ducklake_merge_adjacent_files('lake', max_file_size => 5000)")  # without the one of 500 rows
            else:
                both.duckdb("DELETE FROM t WHERE id = 2")
                both.duckdb("CALL ducklake_flush_inlined_data('lake')")
        plans.append(table)
        return plan(reader, table)

    monkeypatch.setattr(SnapshotReader, "compaction_plan", change_then_plan)
    both.spark("CALL rewrite_data_files(delete_threshold => 0)" if change != "merge" else "CALL merge_adjacent_files()")
    expected = {1, 2} if change == "flush of deletes" else set()
    rows = both.rows("SELECT id FROM t")
    assert expected.isdisjoint(row[0] for row in rows)
    assert len(rows) == 516 - len(expected) + (change == "merge")
    both.check_history("t")
