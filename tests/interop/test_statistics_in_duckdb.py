"""DuckDB answers min, max, count and IS NULL from the statistics of our commits as from the rows (the reference's test/sql/stats)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.conftest import Both
from tests.places import nightly

CATALOGS = ["sqlite"]
"""The result does not depend on the catalog database."""

TABLE = "CREATE TABLE t (a INT, f DOUBLE, s STRING, ts TIMESTAMP_NTZ)"
FIRST = "INSERT INTO t VALUES (1, 0.0D, 'a', TIMESTAMP_NTZ '2020-01-01 00:00:00'), (2, 2.5D, NULL, NULL), (NULL, -1.5D, 'c', NULL)"
SECOND = "INSERT INTO t VALUES (7, 8.5D, 'z', TIMESTAMP_NTZ '2021-01-01 00:00:00')"

HISTORIES = {
    "rows": [FIRST, SECOND],
    "only NULL at first": ["INSERT INTO t VALUES (NULL, NULL, NULL, NULL)", FIRST],
    "rows that their transaction deletes": [
        "BEGIN",
        FIRST,
        "INSERT INTO t VALUES (1000, 1e9D, 'zz', NULL)",
        "DELETE FROM t WHERE a = 1000",
        "COMMIT",
    ],
    "deleted rows": [FIRST, SECOND, "DELETE FROM t WHERE a = 7"],
    "changed rows": [FIRST, "UPDATE t SET a = 50 WHERE a = 2"],
    "a column and rows in one commit": [
        FIRST,
        "BEGIN",
        "ALTER TABLE t ADD COLUMN b INT",
        "INSERT INTO t VALUES (9, 1.0D, 'y', NULL, 5)",
        "COMMIT",
    ],
    "a column with a default and rows in one commit": [
        FIRST,
        "BEGIN",
        "ALTER TABLE t ADD COLUMN b INT DEFAULT 50",
        "INSERT INTO t VALUES (9, 1.0D, 'y', NULL, 5)",
        "COMMIT",
    ],
    "all rows replaced": [
        FIRST,
        "BEGIN",
        "TRUNCATE TABLE t",
        "ALTER TABLE t ADD COLUMN b INT",
        "INSERT INTO t VALUES (3, 3.0D, 'x', NULL, 4)",
        "COMMIT",
    ],
}


@pytest.mark.parametrize("inlined", [True, *nightly(False)])
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_statistics_agree_with_the_rows(both: Both, history: list[str], inlined: bool) -> None:
    both.spark("SET TIME ZONE 'UTC'")
    if not inlined:
        both.spark("CALL lake.set_option('data_inlining_row_limit', '0')")
    both.spark(TABLE)
    for statement in history:
        both.spark(statement)
    check(both)
    both.duckdb("INSERT INTO t (a, f, s) VALUES (-5, 100.5, 'zzz')")
    check(both)
    both.duckdb("CALL ducklake_flush_inlined_data('lake')")
    both.duckdb("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)")
    check(both)


def test_statistics_of_copies_of_an_added_file_agree_with_the_rows(both: Both, tmp_path: Path) -> None:
    """The file's timestamps are finer than the column's, so that its bounds are rounded."""
    finer = pa.array([1_600_000_000_000_001_400, 1_600_000_000_000_005_700], pa.timestamp("ns"))
    pq.write_table(pa.table({"a": finer, "s": ["a" * 300, "b" * 300]}), tmp_path / "f.parquet")
    both.spark("CREATE TABLE t (a TIMESTAMP_NTZ, s STRING)")
    both.spark(f"CALL lake.add_data_files('t', '{tmp_path}/f.parquet')")
    version = both.snapshots() - 1
    check(both)
    both.spark("CALL lake.clone(table_name => 't', into => 'other.c')")
    check(both, "other.c")
    both.spark("DROP TABLE t")
    both.spark(f"CALL lake.rollback(version => {version}, table_name => 't')")
    check(both)
    both.duckdb("DROP TABLE t")
    both.spark("CALL lake.clone(table_name => 'c', schema => 'other', into => 'main.t')")
    check(both)


def check(both: Both, name: str = "t") -> None:
    """Compare the answers for the table, which DuckDB takes from statistics, with those for a copy of its rows."""
    both.duckdb(f"CREATE OR REPLACE TEMP TABLE copy AS FROM {name}")
    for (column,) in both.duck.execute(f"SELECT column_name FROM (DESCRIBE {name})").fetchall():
        for shown in (f"min({column})", f"max({column})", f"count({column})", f"count(*) FILTER ({column} IS NULL)"):
            expected, found = (both.duck.execute(f"SELECT {shown} FROM {table}").fetchall() for table in ("temp.copy", name))
            assert found == expected, shown
        expected, found = (
            both.duck.execute(f"SELECT count(*) FROM {table} WHERE {column} IS NULL").fetchall() for table in ("temp.copy", name)
        )
        assert found == expected, column
