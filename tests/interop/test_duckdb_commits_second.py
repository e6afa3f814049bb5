"""DuckDB commits a transaction that it began before our commit. Only DuckDB's own checks can find the conflict, because it commits second.

These checks miss some conflicts, so our commits also log an insert, a guard (`format.changes`). The tests need PostgreSQL: with a catalog in
SQLite, DuckDB's transaction locks the file from its first statement to its end. (In one process the lock would not hold, because two
copies of SQLite do not see each other's locks.)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import duckdb
import pytest

from tests.interop.conftest import Both
from tests.places import nightly_rows

CATALOGS = [pytest.param("postgres", marks=pytest.mark.postgres)]

Prepare = Callable[[Both], None]


def one_file(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT range AS i FROM range(40)")


def one_file_with_an_inlined_delete(both: Both) -> None:
    one_file(both)
    both.duckdb("DELETE FROM t WHERE i = 0")


def one_file_with_a_delete_file(both: Both) -> None:
    one_file(both)
    both.duckdb("DELETE FROM t WHERE i < 20")


def one_file_with_both_kinds_of_deletes(both: Both) -> None:
    one_file_with_a_delete_file(both)
    both.duckdb("DELETE FROM t WHERE i = 20")


def two_files(both: Both) -> None:
    both.duckdb("CREATE TABLE t (i BIGINT)")
    both.duckdb("INSERT INTO t SELECT range FROM range(20)")
    both.duckdb("INSERT INTO t SELECT 20 + range FROM range(20)")


USUAL_CASES: list[tuple[Prepare, str, str]] = [
    (one_file_with_both_kinds_of_deletes, "DELETE FROM t WHERE i = 21", "CALL ducklake_flush_inlined_data('lake', table_name => 't')"),
    (one_file, "DELETE FROM t WHERE i = 3", "DELETE FROM t WHERE i = 3"),
    (one_file_with_an_inlined_delete, "DELETE FROM t", "DELETE FROM t WHERE i = 3"),
    (one_file_with_an_inlined_delete, "CALL flush_inlined_data(table_name => 't')", "DELETE FROM t WHERE i BETWEEN 1 AND 15"),
    (one_file_with_a_delete_file, "DELETE FROM t WHERE i = 20", "DELETE FROM t WHERE i BETWEEN 21 AND 35"),
    (two_files, "CALL merge_adjacent_files(table_name => 't')", "DELETE FROM t WHERE i = 3"),
    (one_file_with_a_delete_file, "CALL rewrite_data_files(table_name => 't', delete_threshold => 0.1)", "DELETE FROM t WHERE i = 30"),
]
MORE_CASES: list[tuple[Prepare, str, str]] = [
    (one_file, "DELETE FROM t WHERE i < 20", "DELETE FROM t WHERE i = 3"),
    (one_file, "UPDATE t SET i = 100 WHERE i = 3", "DELETE FROM t WHERE i = 3"),
    (one_file_with_an_inlined_delete, "TRUNCATE TABLE t", "DELETE FROM t WHERE i = 3"),
    (one_file_with_an_inlined_delete, "INSERT OVERWRITE t SELECT 100", "DELETE FROM t WHERE i = 3"),
    (one_file_with_an_inlined_delete, "CALL flush_inlined_data(table_name => 't')", "DELETE FROM t WHERE i = 1"),
    (one_file_with_a_delete_file, "UPDATE t SET i = 100 WHERE i = 20", "DELETE FROM t WHERE i BETWEEN 21 AND 35"),
    (two_files, "CALL merge_adjacent_files(table_name => 't')", "UPDATE t SET i = 100 WHERE i = 3"),
]


@pytest.mark.parametrize(
    ("prepare", "ours", "theirs"),
    [*USUAL_CASES, *nightly_rows(*MORE_CASES)],
    ids=[f"{ours.split('(')[0]}, {theirs.split('(')[0]}" for _, ours, theirs in [*USUAL_CASES, *MORE_CASES]],
)
def test_duckdb_refuses_its_commit_and_can_repeat_its_change(both: Both, prepare: Prepare, ours: str, theirs: str) -> None:
    both.spark("CALL set_option('data_inlining_row_limit', 10)")
    prepare(both)
    both.duckdb("BEGIN")
    both.duckdb(theirs)
    both.spark(ours)
    expected = both.session.execute("SELECT i FROM t ORDER BY i").fetch()
    with pytest.raises(duckdb.Error, match="conflict"):
        both.duckdb("COMMIT")
    assert both.rows("SELECT i FROM t") == expected
    both.duckdb(theirs)
    rows = both.rows("SELECT i FROM t")
    assert both.rows("SELECT count(*) FROM t") == [(len(rows),)]
    both.check_history("t")


def test_a_guard_is_no_insert_in_the_history(both: Both) -> None:
    two_files(both)
    both.spark("DELETE FROM t WHERE i < 15")
    both.spark("DELETE FROM t WHERE i = 16")
    both.spark("CALL rewrite_data_files(table_name => 't', delete_threshold => 0.1)")
    changes = [row[0] for row in both.session.execute("SELECT changes FROM lake.history('t')").fetch()]
    assert changes == [["rewrite files"], ["delete"], ["delete"], ["insert"], ["insert"], ["create"]]
    both.spark("CALL merge_adjacent_files(table_name => 't')")
    assert both.session.execute("SELECT changes FROM lake.history('t') LIMIT 1").fetch() == [(["merge files"],)]


ROW_CHANGES = [
    "INSERT INTO t VALUES (100, 1, 'x')",
    "INSERT INTO t SELECT i + 200, k, v FROM t WHERE i < 30",
    "DELETE FROM t WHERE i = {a}",
    "DELETE FROM t WHERE i BETWEEN {a} AND {b}",
    "DELETE FROM t WHERE k = {c}",
    "UPDATE t SET v = 'u{a}' WHERE i = {a}",
    "UPDATE t SET k = k + 10 WHERE i BETWEEN {a} AND {b}",
    "DELETE FROM t",
]
MAINTENANCE = {
    "flush": ("CALL flush_inlined_data(table_name => 't')", "CALL ducklake_flush_inlined_data('lake', table_name => 't')"),
    "merge files": ("CALL merge_adjacent_files(table_name => 't')", "CALL ducklake_merge_adjacent_files('lake', 't')"),
    "rewrite files": (
        "CALL rewrite_data_files(table_name => 't', delete_threshold => 0.05)",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.05)",
    ),
}
"""Name → our statement and DuckDB's; they change no rows."""
MERGE = (
    "MERGE INTO t USING (SELECT {a} AS i, 'm' AS v UNION ALL SELECT {b}, 'm') s ON t.i = s.i "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (i, k, v) VALUES (s.i, 8, s.v)"
)
OURS = [
    *ROW_CHANGES,
    *MAINTENANCE,
    "TRUNCATE TABLE t",
    MERGE,
]
LOCK_SECONDS = 5
"""How long our statements may wait: on PostgreSQL, DuckDB's flush locks the rows of the inlined-data table until its commit."""
ROUNDS = 250


def rows_after(statements: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return the rows that a table of plain DuckDB, without a lake, has after these statements."""
    with duckdb.connect() as model:
        model.execute("CREATE TABLE t (i BIGINT, k BIGINT, v VARCHAR)")
        for statement in statements:
            if statement not in MAINTENANCE:
                model.execute(statement)
        return sorted(model.execute("FROM t").fetchall())


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1])
def test_random_transactions_of_duckdb_around_our_statements(both: Both, seed: int) -> None:
    """The rows are those of one of the two orders, or of ours alone if DuckDB refuses its transaction."""
    chance = random.Random(seed)

    def chosen(templates: Sequence[str], count: int) -> list[str]:
        statements = []
        for template in chance.choices(templates, k=count):
            a = chance.randint(0, 59)
            statements.append(template.format(a=a, b=a + chance.choice([1, 5, 15]), c=chance.randint(0, 3)))
        return statements

    def run(statements: Sequence[str]) -> None:
        for statement in statements:
            both.spark(MAINTENANCE.get(statement, (statement, ""))[0])

    both.spark("CALL set_option('data_inlining_row_limit', 10)")
    for number in range(ROUNDS):
        both.duckdb("CREATE OR REPLACE TABLE t (i BIGINT, k BIGINT, v VARCHAR)")
        starts = [0, 20, 40][: chance.randint(1, 3)]
        before = [f"INSERT INTO t SELECT range, range % 4, 'a' FROM range({low}, {low + 20})" for low in starts]
        before += chosen([*ROW_CHANGES[:-1], "flush"], chance.randint(0, 3))
        ours = chosen(OURS, chance.randint(1, 2))
        theirs = chosen(ROW_CHANGES, chance.randint(1, 2)) if chance.random() < 0.8 else chosen(["flush", "merge files"], 1)
        for statement in before:
            both.duckdb(MAINTENANCE.get(statement, ("", statement))[1])
        both.duckdb("BEGIN")
        for statement in theirs:
            both.duckdb(MAINTENANCE.get(statement, ("", statement))[1])
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(run, ours)
            if theirs == ["flush"]:
                wait([running], timeout=LOCK_SECONDS)
            else:
                running.result()
            try:
                both.duckdb("COMMIT")
                expected = [rows_after([*before, *ours, *theirs]), rows_after([*before, *theirs, *ours])]
            except duckdb.Error:
                expected = [rows_after([*before, *ours])]
            running.result()
        rows = both.rows("SELECT i, k, v FROM t")
        assert both.rows("SELECT count(*) FROM t") == [(len(rows),)]
        assert rows in expected, f"round {number}: before {before}, ours {ours}, DuckDB's {theirs}"


def rows_in_two_layouts(both: Both) -> None:
    """Create a table whose first inlined-data table is empty, so that the next flush drops it."""
    both.spark("CREATE TABLE t (i INT)")
    both.spark("INSERT INTO t VALUES (1)")
    both.spark("ALTER TABLE t ADD COLUMN j INT")
    both.spark("INSERT INTO t VALUES (2, 2)")
    both.spark("CALL ducklake_flush_inlined_data('lake')")
    both.spark("INSERT INTO t VALUES (3, 3)")


FLUSH = "CALL ducklake_flush_inlined_data('lake')"
EXPIRE = "CALL ducklake_expire_snapshots('lake', older_than => TIMESTAMP '2999-01-01')"


@pytest.mark.parametrize("statement", [FLUSH, EXPIRE])
def test_no_commit_waits_for_a_transaction_of_duckdb_that_has_read_inlined_rows(both: Both, statement: str) -> None:
    both.spark("CALL set_option('data_inlining_row_limit', 10)")
    rows_in_two_layouts(both)
    both.spark("CREATE TABLE dropped AS SELECT 4 AS i")
    both.duckdb("BEGIN")
    for table, rows in {"t": [(1,), (2,), (3,)], "dropped": [(4,)]}.items():
        assert both.duck.execute(f"SELECT i FROM {table} ORDER BY i").fetchall() == rows
    both.spark("DROP TABLE dropped")
    with ThreadPoolExecutor(1) as pool:
        maintenance = pool.submit(both.spark, statement)
        waits = bool(wait([maintenance], timeout=30).not_done)
        both.duckdb("ROLLBACK")
        maintenance.result()
    assert not waits
    assert both.rows("SELECT i FROM t") == [(1,), (2,), (3,)]
