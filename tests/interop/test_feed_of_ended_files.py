"""The change feed of our statements that end whole files of which some rows were deleted before: it reports each row once.

If a file has inlined deletes, DuckDB's DELETE of all rows does not end it, but writes a delete file for the other rows. We end the file and
write its inlined deletes to a delete file, as a flush does.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.interop.conftest import Both
from tests.places import FULL_MATRIX

STATEMENTS = {
    "truncated": ["TRUNCATE TABLE {}"],
    "emptied": ["DELETE FROM {}"],
    "overwritten": ["INSERT OVERWRITE {} VALUES (100, 0)"],
    "rebuilt": ["CREATE OR REPLACE TABLE {} AS SELECT 100 AS a, 'x' AS b"],
    "twice": ["BEGIN", "DELETE FROM {} WHERE a = 5", "TRUNCATE TABLE {}", "INSERT INTO {} VALUES (1, 2)", "TRUNCATE TABLE {}", "COMMIT"],
}
RANGES = [(1, 2), (4, 4), (0, 4), *([(0, 0), (1, 1), (2, 2), (3, 3), (2, 4), (3, 4)] if FULL_MATRIX else [])]


def deletes(both: Both, table: str, first: int, last: int) -> Counter[tuple[int, int]]:
    """Return (snapshot, row id) of the deletes in a range, as DuckDB reports them."""
    changes = f"FROM lake.table_changes('{table}', {first}, {last}) SELECT snapshot_id, rowid WHERE change_type LIKE '%delete%'"
    return Counter(both.duck.execute(changes).fetchall())


@pytest.fixture
def tables_with_deletes(both: Both) -> dict[str, int]:
    """Maps each table to the snapshot before its deletes. Files have inlined deletes, a delete file, or both."""
    found = {}
    for name in ("theirs", *STATEMENTS):
        both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
        both.duckdb(f"CREATE TABLE {name} (a INTEGER, b INTEGER)")
        for start in (0, 10, 20, 30):
            both.duckdb(f"INSERT INTO {name} SELECT i, {start} FROM range({start}, {start} + 10) t(i)")
        found[name] = both.snapshots()
        both.duckdb(f"DELETE FROM {name} WHERE a IN (10, 20)")
        both.duckdb("SET ducklake_default_data_inlining_row_limit = 10")
        both.duckdb(f"DELETE FROM {name} WHERE a IN (1, 11)")
        both.duckdb(f"DELETE FROM {name} WHERE a IN (2, 12)")
        both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
        both.duckdb(f"DELETE FROM {name} WHERE a IN (21, 22)")
    return found


def test_each_row_is_reported_once(both: Both, tables_with_deletes: dict[str, int]) -> None:
    both.duckdb("DELETE FROM theirs")
    ends = {"theirs": both.snapshots() - 1}
    for name, statements in STATEMENTS.items():
        for statement in statements:
            both.spark(statement.format(name))
        ends[name] = both.snapshots() - 1
    assert both.rows("SELECT a FROM rebuilt UNION ALL SELECT a FROM overwritten") == [(100,), (100,)]
    assert both.rows("SELECT a FROM truncated UNION ALL SELECT a FROM emptied UNION ALL SELECT a FROM twice") == []
    for name, end in ends.items():
        first = tables_with_deletes[name]
        snapshots = dict(enumerate(range(first, first + 4))) | {4: end}
        deleted = {0: {10, 20}, 1: {1, 11}, 2: {2, 12}, 3: {21, 22}}
        deleted[4] = set(range(40)) - set().union(*deleted.values())
        for begin, last in RANGES:
            truth = Counter((snapshots[step], row) for step in range(begin, last + 1) for row in deleted[step])
            assert deletes(both, name, snapshots[begin], snapshots[last]) == truth, (name, begin, last)
        changes = f"SELECT snapshot_id, rowid FROM lake.table_changes('{name}', {first}, {end}) WHERE change_type LIKE '%delete%'"
        assert Counter(both.session.execute(changes).fetch()) == deletes(both, name, first, end)
        for step, snapshot in snapshots.items():
            gone = set().union(*(deleted[earlier] for earlier in range(step + 1)))
            seen = both.duck.execute(f"SELECT rowid FROM {name} AT (VERSION => {snapshot}) WHERE rowid < 40").fetchall()
            assert {row for (row,) in seen} == set(range(40)) - gone, (name, step)


def test_a_flush_after_a_rewrite_keeps_both_kinds_of_deletes(both: Both) -> None:
    """The file has ended, but earlier snapshots still read it: one delete file contains all of its deletes with their snapshots."""
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 0")
    both.duckdb("CREATE TABLE t (a INTEGER)")
    both.duckdb("INSERT INTO t SELECT i FROM range(20) t(i)")
    both.duckdb("DELETE FROM t WHERE a IN (0, 1, 2)")
    both.duckdb("SET ducklake_default_data_inlining_row_limit = 10")
    both.duckdb("DELETE FROM t WHERE a IN (3, 4)")
    both.duckdb("CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)")
    last = both.snapshots() - 1
    before = {version: both.duck.execute(f"SELECT rowid FROM t AT (VERSION => {version})").fetchall() for version in range(2, last + 1)}
    both.spark("CALL ducklake_flush_inlined_data('lake')")
    assert both.snapshots() - 1 == last + 1
    for version, wanted in before.items():
        assert sorted(both.duck.execute(f"SELECT rowid FROM t AT (VERSION => {version})").fetchall()) == sorted(wanted), version
    both.check_history("t")
    for version, rows in ((3, [0, 1, 2]), (4, [3, 4]), (last + 1, [])):
        assert sorted(deletes(both, "t", version, version)) == [(version, row) for row in rows]
