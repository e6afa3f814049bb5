"""DuckDB commits a transaction that it began before our commit: it must find the conflict, because its checks decide then.

DuckDB's matrix of conflicts lets some of these pairs pass, so our commits log an insert too (`CommitState.guard_deletes`).
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

from tests.interop.conftest import Both

Prepare = Callable[[Both], None]


def one_file(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT range AS i FROM range(40)")


def one_file_with_an_inlined_delete(both: Both) -> None:
    one_file(both)
    both.duckdb("DELETE FROM t WHERE i = 0")


def one_file_with_a_delete_file(both: Both) -> None:
    one_file(both)
    both.duckdb("DELETE FROM t WHERE i < 20")


def one_file_with_both(both: Both) -> None:
    one_file_with_a_delete_file(both)
    both.duckdb("DELETE FROM t WHERE i = 20")


def two_files(both: Both) -> None:
    both.duckdb("CREATE TABLE t (i BIGINT)")
    both.duckdb("INSERT INTO t SELECT range FROM range(20)")
    both.duckdb("INSERT INTO t SELECT 20 + range FROM range(20)")


CASES: list[tuple[Prepare, str, str]] = [
    (one_file_with_an_inlined_delete, "CALL flush_inlined_data(table_name => 't')", "DELETE FROM t WHERE i BETWEEN 1 AND 15"),
    (one_file_with_an_inlined_delete, "CALL flush_inlined_data(table_name => 't')", "DELETE FROM t WHERE i = 1"),
    (one_file_with_a_delete_file, "DELETE FROM t WHERE i = 20", "DELETE FROM t WHERE i BETWEEN 21 AND 35"),
    (one_file_with_a_delete_file, "UPDATE t SET i = 100 WHERE i = 20", "DELETE FROM t WHERE i BETWEEN 21 AND 35"),
    (one_file_with_both, "DELETE FROM t WHERE i = 21", "CALL ducklake_flush_inlined_data('lake', table_name => 't')"),
    (two_files, "CALL merge_adjacent_files(table_name => 't')", "DELETE FROM t WHERE i = 3"),
    (two_files, "CALL merge_adjacent_files(table_name => 't')", "UPDATE t SET i = 100 WHERE i = 3"),
    (one_file_with_a_delete_file, "CALL rewrite_data_files(table_name => 't', delete_threshold => 0.1)", "DELETE FROM t WHERE i = 30"),
]


@pytest.mark.parametrize(("prepare", "ours", "theirs"), CASES, ids=[f"{each[1].split('(')[0]}, {each[2]}"[:70] for each in CASES])
def test_duckdb_refuses_or_its_change_is_whole(both: Both, prepare: Prepare, ours: str, theirs: str) -> None:
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
    both.rows("SELECT i FROM t")
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
