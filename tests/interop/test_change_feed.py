"""The change feed: DuckDB and this adapter report the same inserted, updated and deleted rows, for changes of either writer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from tests.interop.conftest import Both, comparable_rows
from tests.places import FULL_MATRIX, nightly

Side = Callable[[str], None]

FUNCTIONS = {
    "lake.table_changes('{}', {}, {})": "snapshot_id, rowid, change_type",
    "ducklake_table_insertions('lake', 'main', '{}', {}, {})": "snapshot_id, rowid",
    "ducklake_table_deletions('lake', 'main', '{}', {}, {})": "snapshot_id, rowid",
}


def check(both: Both, table: str, ranges: list[tuple[int, int]], columns: str) -> int:
    """Assert that both sides return the same changes for each range, and return their number."""
    seen = 0
    for first, last in ranges:
        for function, own in FUNCTIONS.items():
            query = f"SELECT {own}, {columns} FROM {function.format(table, first, last)}"
            theirs = comparable_rows(both.duck.execute(query).fetchall())
            ours = comparable_rows(both.session.execute(query).fetch())
            assert ours == theirs, query
            seen += len(ours)
    return seen


def newest(both: Both) -> int:
    return both.snapshots() - 1


def in_turn(both: Both, order: str) -> Callable[[str], None]:
    """Run each statement on the next side of `order` (`d` DuckDB, `s` Spark), cyclically."""
    sides = {"d": both.duckdb, "s": both.spark}
    count = 0

    def run(statement: str) -> None:
        nonlocal count
        sides[order[count % len(order)]](statement)
        count += 1

    return run


@pytest.mark.parametrize("order", [*nightly("ds"), "sdd"])
def test_every_kind_of_change(both: Both, order: str) -> None:
    run = in_turn(both, order)
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 2)")
    run("CREATE TABLE t (id INTEGER, v VARCHAR(10))")
    start = newest(both)
    run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f')")
    run("INSERT INTO t VALUES (11, 'small'), (12, 'few')")
    run("INSERT INTO t VALUES (21, 'a'), (22, 'b'), (23, 'c'), (24, 'd'), (25, 'e'), (26, 'f')")
    run("UPDATE t SET v = 'u' WHERE id IN (2, 12, 22)")
    run("DELETE FROM t WHERE id IN (1, 21)")
    run("DELETE FROM t WHERE id IN (3, 11, 23, 24, 25)")
    run("UPDATE t SET v = 'w' WHERE id IN (2, 4)")
    run("DELETE FROM t WHERE id = 26")
    both.spark(
        "MERGE INTO t USING (SELECT 4 AS id, 'm' AS v UNION ALL SELECT 99, 'n') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    both.duckdb("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 7")
    run("INSERT INTO t VALUES (31, 'x', 1), (32, 'y', 2), (33, 'z', 3)")
    end = newest(both)
    singles = [(version, version) for version in range(start, end + 1)][:: 1 if FULL_MATRIX else 3]
    assert check(both, "t", [*singles, (start, end), (start + 2, end - 2), (start + 4, start + 6)], "id, v") > 60
    assert check(both, "t", [(start, end)], "id, v, w") > 40
    run("DELETE FROM t")
    run("INSERT INTO t VALUES (41, 'x', 1), (42, 'y', 2), (43, 'z', 3)")
    assert check(both, "t", [(end + 1, end + 1), (end, end + 2), (start, end + 2)], "id, v, w") > 20


@pytest.mark.parametrize("side", ["duckdb", "spark"])
def test_maintenance_does_not_change_the_feed(both: Both, side: str) -> None:
    """Row 13 is deleted twice. DuckDB's flush then confuses DuckDB's own feed, which knows one end per row id and file, but not ours."""
    run = in_turn(both, "ds")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 2)")
    both.duckdb("CREATE TABLE t (id INTEGER, v VARCHAR)")
    for number in range(3):
        run(f"INSERT INTO t VALUES ({number}0, 'a'), ({number}1, 'b'), ({number}2, 'c')")
        run(f"INSERT INTO t VALUES ({number}3, 'small')")
    both.duckdb("UPDATE t SET v = 'u' WHERE id IN (3, 13)")
    both.duckdb("DELETE FROM t WHERE id IN (1, 11, 13)")
    end = newest(both)
    queries = [
        f"SELECT snapshot_id, rowid, change_type, id, v FROM lake.table_changes('t', {a}, {b})" for a, b in ((1, end), (3, 6), (end, end))
    ]
    before = [comparable_rows(both.duck.execute(query).fetchall()) for query in queries]
    (both.duckdb if side == "duckdb" else both.spark)("CALL ducklake_flush_inlined_data('lake')")
    for _ in range(2):
        for query, wanted in zip(queries, before, strict=True):
            assert comparable_rows(both.session.execute(query).fetch()) == wanted, query
            if side == "spark":
                assert comparable_rows(both.duck.execute(query).fetchall()) == wanted, query
        both.duckdb("CALL ducklake_merge_adjacent_files('lake')")


def test_bounds(both: Both) -> None:
    both.spark("CREATE SCHEMA s")
    both.spark("CREATE TABLE s.t (id INT)")
    both.spark("INSERT INTO s.t SELECT id FROM range(5)")
    both.spark("DELETE FROM s.t WHERE id = 3")
    last = newest(both)
    for call in (f"ducklake_table_changes('lake', 's', 't', 0, {last})", "lake.s.table_changes('t', TIMESTAMP '2020-01-01', now())"):
        theirs = both.duck.execute(
            f"SELECT snapshot_id, rowid, change_type, id FROM {call.replace('TIMESTAMP ', 'TIMESTAMPTZ ')}"
        ).fetchall()
        ours = both.session.execute(f"SELECT snapshot_id, rowid, change_type, id FROM {call}").fetch()
        assert sorted(ours) == sorted(theirs)
        assert len(ours) == 6
    assert sorted(both.rows(f"SELECT * FROM lake.s.table_insertions('t', 0, {last})")) == [(0,), (1,), (2,), (3,), (4,)]
    assert both.rows(f"SELECT * FROM lake.s.table_deletions('t', 0, {last})") == [(3,)]
    assert len(both.session.execute(f"CALL lake.s.table_insertions('t', 0, {last})").fetch()) == 5
    with pytest.raises(NotFoundError, match="snapshot"):
        both.spark("SELECT * FROM lake.s.table_changes('t', 0, 99)")
    with pytest.raises(StatementError, match="must be two snapshot ids or two timestamps"):
        both.spark("SELECT * FROM lake.s.table_changes('t', 0, now())")
    with pytest.raises(NotFoundError):
        both.spark(f"SELECT * FROM lake.table_changes('t', 0, {last})")
    both.spark("CREATE TABLE odd (rowid INT)")
    with pytest.raises(StatementError, match="a column rowid"):
        both.spark(f"SELECT * FROM lake.table_changes('odd', 0, {newest(both)})")


def test_a_merge_from_the_change_feed(both: Both) -> None:
    both.spark("CREATE TABLE t AS SELECT 1 AS id, 'a' AS name")
    both.spark("INSERT INTO t VALUES (2, 'b')")
    both.spark("CREATE TABLE copy AS SELECT * FROM t WHERE id = 1")
    inserted = both.session.catalog.latest().snapshot_id - 1
    both.spark(
        f"MERGE INTO copy USING lake.table_changes('t', {inserted}, {inserted}) AS s ON copy.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    )
    assert both.rows("SELECT id, name FROM copy") == [(1, "a"), (2, "b")]
