"""We change data files of every origin: with name mappings, in Hive directories, merged, rewritten, with several row groups."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.conftest import Both

CHANGES = (
    "UPDATE t SET s = concat('new ', s) WHERE a IN (1, 12, 23)",
    "DELETE FROM t WHERE a IN (2, 13)",
    (
        "MERGE INTO t USING (SELECT id + 3 AS a, 'merged' AS s FROM range(30)) m ON t.a = m.a AND t.a % 10 = 3 "
        "WHEN MATCHED THEN UPDATE SET s = m.s WHEN NOT MATCHED AND m.a > 31 THEN INSERT (a, s) VALUES (m.a, m.s)"
    ),
)


def change_in_turn(both: Both, ids: str = "a") -> None:
    """Run our changes and then one of DuckDB's. Values, history and row ids must be equal on both sides, and updates must keep the ids."""
    before = both.row_ids("t", ids)
    for statement in CHANGES:
        both.spark(statement)
        both.rows("SELECT * FROM t")
    after = both.row_ids("t", ids)
    assert {key: after[key] for key in before if key in after} == {key: row_id for key, row_id in before.items() if key in after}
    both.duckdb("UPDATE t SET s = 'theirs' WHERE a % 7 = 0")
    both.duckdb("DELETE FROM t WHERE a = 4")
    both.rows("SELECT * FROM t")
    both.check_history("t")


@pytest.fixture
def added(both: Both, tmp_path: Path) -> Both:
    """A table of files that other programs wrote, in Hive directories, without field ids."""
    both.duckdb("CREATE TABLE t (s VARCHAR, a BIGINT, l STRUCT(x INTEGER, y VARCHAR)[], k INTEGER)")
    for k in (1, 2):
        directory = tmp_path / f"others/k={k}"
        directory.mkdir(parents=True)
        nested = [[{"y": f"y{i}", "x": i}] * (i % 3) for i in range(10)]
        lists = pa.array(nested, pa.list_(pa.struct({"y": pa.string(), "x": pa.int32()})))
        rows = pa.table({"a": [10 * k + i for i in range(10)], "l": lists, "s": [f"s {i}" for i in range(10)], "extra": [0] * 10})
        pq.write_table(rows, directory / "a b%.parquet", write_statistics=k == 1)
    both.duckdb(
        f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/others/*/*.parquet', hive_partitioning => true, ignore_extra_columns => true)"
    )
    return both


def test_added_files(added: Both) -> None:
    assert added.rows("SELECT a, k, l FROM t WHERE a IN (12, 22)") == [
        (12, 1, [[["x", 2], ["y", "y2"]]] * 2),
        (22, 2, [[["x", 2], ["y", "y2"]]] * 2),
    ]
    change_in_turn(added)


def test_added_files_whose_table_has_changed_columns(added: Both) -> None:
    added.spark("ALTER TABLE t RENAME COLUMN s TO old")
    added.duckdb("ALTER TABLE t ADD COLUMN s VARCHAR DEFAULT 'none'")
    added.duckdb("ALTER TABLE t ADD COLUMN l.element.z INTEGER")
    assert added.rows("SELECT s, old FROM t WHERE a = 11") == [("none", "s 1")]
    change_in_turn(added)


def test_merged_files(both: Both) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t (a BIGINT, s VARCHAR)")
    for start in (0, 10, 20):
        both.duckdb(f"INSERT INTO t SELECT range, 's' || range FROM range({start}, {start + 10})")
    both.check_history("t")
    both.duckdb("CALL ducklake_merge_adjacent_files('lake')")
    both.check_history("t")
    change_in_turn(both)


def test_rewritten_files(both: Both) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t AS SELECT range AS a, 's' || range AS s FROM range(1000)")
    both.spark("DELETE FROM t WHERE a >= 30")
    both.duckdb("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.5)")
    both.check_history("t")
    change_in_turn(both)


def test_several_row_groups(both: Both) -> None:
    both.duckdb("CALL lake.set_option('parquet_row_group_size', 2048)")
    both.duckdb("CREATE TABLE t AS SELECT range AS a, 's' || range AS s FROM range(10000)")
    both.duckdb("DELETE FROM t WHERE a % 1000 = 999")
    file = Path(both.duck.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchone()[0])
    assert pq.ParquetFile(file).metadata.num_row_groups > 3
    both.spark("DELETE FROM t WHERE a % 1000 = 998")
    both.spark("UPDATE t SET s = 'last' WHERE a > 9990")
    gone = [a for a in range(10000) if a % 1000 in (998, 999)]
    expected = [(10000 - len(gone), sum(range(10000)) - sum(gone), 7)]
    assert both.rows("SELECT count(*), sum(a), count(*) FILTER (WHERE s = 'last') FROM t") == expected
    both.check_history("t")
