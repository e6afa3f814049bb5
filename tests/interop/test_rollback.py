"""Rollback: DuckDB reads then what it read at the snapshot, goes on from it, and everything before reads as it did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.interop.conftest import Both, comparable_rows
from tests.places import REFERENCE_DATABASES

CATALOGS = REFERENCE_DATABASES


def last(both: Both) -> int:
    return both.duck.execute("SELECT max(snapshot_id) FROM lake.snapshots()").fetchone()[0]


def ours(both: Both, query: str) -> list[tuple[Any, ...]]:
    """What we read."""
    return comparable_rows(both.session.execute(query).fetch())


def rows(both: Both, table: str = "t", version: int | None = None) -> list[tuple[Any, ...]]:
    """Row ids and values as DuckDB reads them."""
    at = "" if version is None else f" AT (VERSION => {version})"
    return comparable_rows(both.duck.execute(f"SELECT rowid, * FROM {table}{at}").fetchall())


def seen(both: Both, first: int, table: str = "t") -> dict[Any, Any]:
    """What DuckDB shows of each snapshot, and the changes of each."""
    found: dict[Any, Any] = {}
    for version in range(first, last(both) + 1):
        found[version] = rows(both, table, version)
        query = f"SELECT * FROM lake.table_changes('{table}', {version}, {version})"
        found["feed", version] = comparable_rows(both.duck.execute(query).fetchall())
    return found


def back(both: Both, version: int, table: str = "t") -> tuple[Any, ...]:
    """Roll the table back; both sides read then what they read at the snapshot, and the feed is the difference."""
    before, wanted = rows(both, table), rows(both, table, version)
    outcome = both.session.execute(f"CALL ducklake_rollback('lake', version => {version}, table_name => '{table}')").fetch()
    assert rows(both, table) == wanted
    assert ours(both, f"SELECT rowid, * FROM {table}") == wanted
    net: Counter[Any] = Counter()
    for function, sign in (("table_insertions", 1), ("table_deletions", -1)):
        query = f"SELECT rowid, * FROM ducklake_{function}('lake', 'main', '{table}', {last(both)}, {last(both)})"
        told = comparable_rows(both.duck.execute(query).fetchall())
        assert ours(both, query.replace("*", "* EXCEPT (snapshot_id, rowid)")) == told
        for row in told:
            net[row] += sign
    return outcome[0], before, wanted, {row: number for row, number in net.items() if number}


def difference(before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> dict[Any, int]:
    came, went = set(after), set(before)
    return {**dict.fromkeys(came - went, 1), **dict.fromkeys(went - came, -1)}


FILES = ["CALL lake.set_option('data_inlining_row_limit', 0)", "CREATE TABLE t (id INTEGER, v VARCHAR)"]
INLINED = ["CREATE TABLE t (id INTEGER, v VARCHAR)"]
THEN = "-- the snapshot to go back to"
SPARK = "-- Spark: "
HISTORIES = {
    "files": [
        *FILES,
        "INSERT INTO t SELECT i, 'a' || i FROM range(6) r(i)",
        "INSERT INTO t SELECT 10 + i, 'b' || i FROM range(6) r(i)",
        "DELETE FROM t WHERE id IN (1, 11)",
        THEN,
        "DELETE FROM t WHERE id IN (2, 12, 13)",
        SPARK + "UPDATE t SET v = 'c' WHERE id IN (3, 14)",
        "INSERT INTO t SELECT 20 + i, 'c' || i FROM range(3) r(i)",
        "DELETE FROM t WHERE id < 10",
    ],
    "merged files": [
        *FILES,
        *(f"INSERT INTO t SELECT {10 * n} + i, 'a' FROM range(4) r(i)" for n in range(2)),
        SPARK + "UPDATE t SET v = 'b' WHERE id IN (1, 11)",
        "DELETE FROM t WHERE id = 2",
        THEN,
        *(f"INSERT INTO t SELECT {10 * n} + i, 'c' FROM range(4) r(i)" for n in range(2, 4)),
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM t WHERE id IN (0, 20)",
        SPARK + "UPDATE t SET v = 'd' WHERE id IN (1, 3, 21)",
    ],
    "rewritten files": [
        *FILES,
        "ALTER TABLE t SET PARTITIONED BY (v)",
        "INSERT INTO t SELECT i, 'a' || i % 2 FROM range(8) r(i)",
        "DELETE FROM t WHERE id = 1",
        THEN,
        "DELETE FROM t WHERE id < 6",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
        "ALTER TABLE t RESET PARTITIONED BY",
        "INSERT INTO t VALUES (100, 'new')",
    ],
    "inlined": [
        *INLINED,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "UPDATE t SET v = 'c' WHERE id = 2",
        "INSERT INTO t SELECT 10 + i, 'x' FROM range(20) r(i)",
        "DELETE FROM t WHERE id IN (10, 11)",
        THEN,
        "UPDATE t SET v = 'd' WHERE id IN (1, 2)",
        "DELETE FROM t WHERE id IN (3, 12)",
        "INSERT INTO t VALUES (4, 'e')",
        "UPDATE t SET v = 'd2' WHERE id IN (1, 4)",
    ],
    "flushed": [
        *INLINED,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "INSERT INTO t SELECT 10 + i, 'x' FROM range(20) r(i)",
        "DELETE FROM t WHERE id IN (2, 10)",
        THEN,
        "INSERT INTO t VALUES (4, 'd')",
        "UPDATE t SET v = 'd' WHERE id IN (1, 11)",
        "CALL ducklake_flush_inlined_data('lake')",
        "DELETE FROM t WHERE id IN (3, 12)",
        "INSERT INTO t VALUES (5, 'e')",
    ],
    "columns": [
        *INLINED,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "ALTER TABLE t ADD COLUMN k INTEGER DEFAULT 7",
        "INSERT INTO t SELECT 10 + i, 'x', i FROM range(20) r(i)",
        "INSERT INTO t VALUES (3, 'c', 1), (4, 'c', 2)",
        "COMMENT ON COLUMN t.k IS 'a key'",
        "ALTER TABLE t ALTER COLUMN id SET NOT NULL",
        THEN,
        "DELETE FROM t WHERE id = 3",
        "ALTER TABLE t ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE t DROP COLUMN v",
        "ALTER TABLE t RENAME COLUMN k TO key",
        "ALTER TABLE t ADD COLUMN v INTEGER",
        "INSERT INTO t VALUES (500, 9, 9)",
        "INSERT INTO t SELECT 600 + i, i, i FROM range(20) r(i)",
        "ALTER TABLE t ALTER COLUMN id DROP NOT NULL",
        "COMMENT ON COLUMN t.key IS NULL",
        "DELETE FROM t WHERE id = 10",
    ],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_table_goes_back_and_on(both: Both, name: str, tmp_path: Path) -> None:
    then = 0
    for statement in HISTORIES[name]:
        if statement == THEN:
            then = last(both)
        elif statement.startswith(SPARK):
            both.spark(statement.removeprefix(SPARK))
        else:
            both.duckdb(statement)
    first = both.duck.execute("SELECT min(snapshot_id) FROM lake.snapshots() WHERE list_contains(changes['tables_created'], 'main.t')")
    first = first.fetchone()[0]
    before, newest = seen(both, first), last(both)
    dry = both.session.execute(f"CALL ducklake_rollback('lake', version => {then}, table_name => 't', dry_run => true)").fetch()
    assert (last(both), len(dry)) == (newest, 1)

    outcome, old, wanted, told = back(both, then)
    assert outcome == dry[0]
    assert outcome[-2:] == (len(old), len(wanted))
    if name != "columns":  # there old rows are told in the columns that there are now
        assert told == difference(old, wanted)
    after = seen(both, first)
    assert {key: after[key] for key in before} == before
    nothing = both.session.execute(f"CALL lake.rollback(version => {newest + 1}, schema => 'main')").fetch()
    assert nothing == [("main", "t", "table", "kept", 0, 0, len(wanted), len(wanted))]
    assert last(both) == newest + 1  # nothing to do is no snapshot

    back(both, newest)
    assert both.duck.execute("DESCRIBE t").fetchall() == both.duck.execute(f"DESCRIBE SELECT * FROM t AT (VERSION => {newest})").fetchall()
    back(both, then)

    both.duckdb("INSERT INTO t (id, v) VALUES (200, 'n'), (201, 'n')")
    both.duckdb("DELETE FROM t WHERE id IN (200, 13, 0)")
    both.duckdb("UPDATE t SET v = 'u' WHERE id IN (1, 14, 15)")
    both.spark("DELETE FROM t WHERE id IN (2, 16)")
    assert both.rows("SELECT min(id), max(id), count(*) FROM t")
    for statement in (
        "flush_inlined_data('lake')",
        "merge_adjacent_files('lake')",
        "rewrite_data_files('lake', 't', delete_threshold => 0)",
    ):
        now = rows(both)
        both.duckdb(f"CALL ducklake_{statement}")
        assert rows(both) == now, statement
    both.duckdb("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)")
    both.duckdb("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert rows(both) == now
    assert ours(both, "SELECT rowid, * FROM t") == now
    named = {row[0] for row in both.duck.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchall()}
    there = {str(path) for path in (tmp_path / "lake_files").rglob("*.parquet") if "-delete" not in path.name}
    assert there == named
