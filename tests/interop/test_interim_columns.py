"""Columns that a transaction creates, fills, and then drops, renames or retypes: their files have them, and no snapshot does."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.places import REFERENCE_DATABASES, nightly, nightly_rows

CATALOGS = REFERENCE_DATABASES
NEW = {
    "dropped": [
        "CREATE TABLE t (id INT, v INT)",
        "BEGIN",
        "ALTER TABLE t ADD COLUMN tmp INT",
        "INSERT INTO t SELECT id, id, id * 100 FROM range(1000)",
        "ALTER TABLE t DROP COLUMN tmp",
        "COMMIT",
    ],
    "new table": [
        "BEGIN",
        "CREATE TABLE t AS SELECT CAST(id AS INT) AS id, id AS v, id * 100 AS tmp FROM range(1000)",
        "ALTER TABLE t DROP COLUMN tmp",
        "COMMIT",
    ],
    "nested": [
        "BEGIN",
        "CREATE TABLE t AS SELECT CAST(id AS INT) AS id, named_struct('a', id, 'b', id) AS v FROM range(1000)",
        "ALTER TABLE t DROP COLUMN v.b",
        "COMMIT",
    ],
}
REUSED = {
    "renamed": ["RENAME COLUMN a TO x", "RENAME COLUMN b TO a"],
    "dropped": ["DROP COLUMN a", "RENAME COLUMN b TO a"],
    "added": ["RENAME COLUMN a TO x", "ADD COLUMN a BIGINT DEFAULT 7"],
}


@pytest.mark.parametrize("writer", ["duckdb", *nightly("spark")])
@pytest.mark.parametrize("history", NEW)
def test_the_id_of_a_column_is_not_used_again(both: Both, history: str, writer: str) -> None:
    for statement in NEW[history]:
        both.spark(statement)
    add = both.duckdb if writer == "duckdb" else both.spark
    column = "v.w" if history == "nested" else "w"
    add(f"ALTER TABLE t ADD COLUMN {column} {'INTEGER' if writer == 'duckdb' else 'INT'}")
    assert both.rows(f"SELECT count(*), count(id), count({column}) FROM t") == [(1000, 1000, 0)]
    both.spark("UPDATE t SET id = id + 1 WHERE id < 3")
    both.duckdb("DELETE FROM t WHERE id = 999")
    assert both.rows(f"SELECT count(*), sum(id), count({column}) FROM t") == [(999, 498504, 0)]
    both.check_history("t")


@pytest.mark.parametrize("read_in", ["transaction", *nightly("snapshot")])
@pytest.mark.parametrize("change", REUSED)
def test_a_name_of_two_columns_finds_all_rows(both: Both, change: str, read_in: str) -> None:
    query = "SELECT count(*) FROM t WHERE a = 7" if change == "added" else "SELECT count(*) FROM t WHERE a = 1000005"
    expected = [(20000 if change == "added" else 1,)]
    both.spark("BEGIN")
    both.spark("CREATE TABLE t (a BIGINT, b BIGINT)")
    both.spark("INSERT INTO t SELECT id + 10, id + 1000000 FROM range(20000)")
    for clause in REUSED[change]:
        both.spark(f"ALTER TABLE t {clause}")
    if read_in == "transaction":
        assert both.session.execute(query).fetch() == expected
    both.spark("COMMIT")
    assert both.rows(query) == expected
    assert both.session.execute(query.replace("SELECT count(*) FROM", "DELETE FROM")).rowcount == expected[0][0]


def test_a_type_that_was_promoted_after_the_rows_were_written(both: Both) -> None:
    both.spark("BEGIN")
    both.spark("CREATE TABLE t (a INT, f FLOAT)")
    both.spark("INSERT INTO t SELECT id, id / 3 FROM range(20000)")
    both.spark("ALTER TABLE t ALTER COLUMN a SET DATA TYPE BIGINT")
    both.spark("ALTER TABLE t ALTER COLUMN f SET DATA TYPE DOUBLE")
    both.spark("INSERT INTO t VALUES (5000000000, 0.1)")
    assert both.session.execute("SELECT count(*) FROM t WHERE a > 19998").fetch() == [(2,)]
    both.spark("COMMIT")
    assert both.rows("SELECT count(*), min(a), max(a) FROM t WHERE a > 19998") == [(2, 19999, 5000000000)]
    assert both.rows("SELECT count(*) FROM t WHERE f >= 0.1 AND f < 0.2") == [(1,)]


def test_columns_that_were_renamed_and_renamed_back(both: Both) -> None:
    """The committed definition does not change, but the file has the names of its two columns exchanged."""
    both.spark("CALL set_option('data_inlining_row_limit', 0)")
    both.spark("CREATE TABLE t (a BIGINT, b BIGINT)")
    both.spark("SELECT count(*) FROM t WHERE a = 1")
    swap = [f"ALTER TABLE t RENAME COLUMN {names}" for names in ("a TO x", "b TO a", "x TO b")]
    both.spark("BEGIN")
    for statement in [*swap, "INSERT INTO t SELECT id + 1000000, id + 10 FROM range(20000)", *swap]:
        both.spark(statement)
    both.spark("COMMIT")
    assert both.rows("SELECT count(*), max(b) FROM t WHERE a = 1001000") == [(1, 1010)]
    assert both.rows("SELECT count(*) FROM t WHERE b = 15") == [(1,)]
    both.check_history("t")


@pytest.mark.parametrize(("committed", "rows"), [(False, 3), (False, 20000), (True, 3), *nightly_rows((True, 20000))])
def test_duckdb_has_no_bounds_of_floats_that_became_doubles(both: Both, rows: int, committed: bool) -> None:
    """DuckDB casts the text of a bound to the new type, and 0.1 is less than the FLOAT nearest to it."""
    both.spark("CALL set_option('data_inlining_row_limit', 10)")
    if not committed:
        both.spark("BEGIN")
    both.spark("CREATE TABLE t (x FLOAT, s STRUCT<f: FLOAT>)")
    both.spark(f"INSERT INTO t SELECT CAST(0.1 AS FLOAT), named_struct('f', CAST(0.1 AS FLOAT)) FROM range({rows})")
    both.spark("ALTER TABLE t ALTER COLUMN x TYPE DOUBLE")
    both.spark("ALTER TABLE t ALTER COLUMN s.f TYPE DOUBLE")
    if not committed:
        both.spark("COMMIT")
    exact = 0.10000000149011612
    for _ in range(2):
        assert both.rows("SELECT min(x), max(x), max(s.f) FROM t") == [(exact, exact, exact)]
        for column in ("x", "s.f"):
            assert both.rows(f"SELECT count(*) FROM t WHERE {column} = CAST({exact} AS DOUBLE)") == [(rows,)]
            assert both.rows(f"SELECT count(*) FROM t WHERE {column} >= CAST({exact} AS DOUBLE)") == [(rows,)]
        both.spark("CALL flush_inlined_data()")
    assert both.rows("SELECT count(*) FROM t WHERE x IS NULL OR s.f IS NULL") == [(0,)]
    both.spark("INSERT INTO t VALUES (NULL, NULL)")
    assert both.rows("SELECT count(*), max(x) FROM t WHERE x > 0.05") == [(rows, exact)]


FLOATS_IN_NEW_FILES = {
    "flush": (10, ["ALTER TABLE t ALTER COLUMN f TYPE DOUBLE", "CALL flush_inlined_data()"]),
    "merge": (0, ["ALTER TABLE t ALTER COLUMN f TYPE DOUBLE", "CALL merge_adjacent_files()"]),
    "rewrite": (
        0,
        [
            "DELETE FROM t WHERE id < 3",
            "ALTER TABLE t ALTER COLUMN f TYPE DOUBLE",
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
        ],
    ),
    "rollback": (
        0,
        [
            "ALTER TABLE t ALTER COLUMN f TYPE DOUBLE",  # snapshot 5
            "CALL ducklake_rollback('lake', version => 4)",
            "CALL merge_adjacent_files()",
            "DELETE FROM t WHERE id = 3",
            "CALL ducklake_rollback('lake', version => 5)",
        ],
    ),
}


@pytest.mark.parametrize("history", FLOATS_IN_NEW_FILES)
def test_duckdb_has_no_bounds_of_floats_in_files_that_are_written_for_a_double_column(both: Both, history: str) -> None:
    limit, statements = FLOATS_IN_NEW_FILES[history]
    both.spark(f"CALL set_option('data_inlining_row_limit', {limit})")
    both.spark("CREATE TABLE t (id INT, f FLOAT)")
    both.spark("INSERT INTO t VALUES (1, CAST(0.1 AS FLOAT)), (2, CAST(0.05 AS FLOAT)), (3, CAST(0.1 AS FLOAT))")
    both.spark("INSERT INTO t VALUES (4, CAST(0.1 AS FLOAT)), (5, CAST(0.05 AS FLOAT))")
    for statement in statements:
        both.spark(statement)
    expected = [(3,), (4,)] if history == "rewrite" else [(1,), (3,), (4,)]
    assert both.rows("SELECT id FROM t WHERE f = CAST(0.10000000149011612 AS DOUBLE)") == expected
    assert both.rows("SELECT id FROM t WHERE f >= CAST(0.10000000149011612 AS DOUBLE)") == expected


@pytest.mark.parametrize("writers", [("spark", "duckdb"), ("duckdb", "spark")])
def test_columns_that_are_added_after_a_rebuild_moved_columns(both: Both, writers: tuple[str, str]) -> None:
    both.spark("CREATE TABLE t AS SELECT 1 AS a, 2 AS b, 3 AS c")
    both.spark("CREATE OR REPLACE TABLE t AS SELECT c, a, b FROM t")
    for writer, name in zip(writers, ("x", "y"), strict=True):
        (both.duckdb if writer == "duckdb" else both.spark)(f"ALTER TABLE t ADD COLUMN {name} {'INTEGER' if writer == 'duckdb' else 'INT'}")
    both.spark("INSERT INTO t VALUES (3, 1, 2, 4, 5)")
    assert both.rows("SELECT * FROM t WHERE x = 4") == [(3, 1, 2, 4, 5)]
    orders = both.duck.execute("SELECT column_order FROM __ducklake_metadata_lake.ducklake_column WHERE end_snapshot IS NULL").fetchall()
    assert len(orders) == len(set(orders)) == 5


@pytest.mark.parametrize(
    "change",
    [
        None,
        "RENAME COLUMN b TO B",
        "ALTER COLUMN b SET DEFAULT 'default'",
        "ALTER COLUMN b SET NOT NULL",
        "ALTER COLUMN n SET DATA TYPE BIGINT",
    ],
)
def test_duckdb_changes_a_column_that_a_rebuild_has_moved(both: Both, change: str | None) -> None:
    """DuckDB gives a column that it changes its id as its order, and then inlines rows by the order that it had."""
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 10)")
    both.spark("CREATE TABLE t (b STRING COMMENT 'of b' DEFAULT 'b', a STRING, n INT)")
    both.spark("CREATE OR REPLACE TABLE t AS SELECT 'a' AS a, 1 AS n, 'b' AS b")
    if change is not None:
        both.duckdb(f"ALTER TABLE t {change}")
    both.duckdb("INSERT INTO t (a, n, b) VALUES ('A', 2, 'B')")
    both.spark("INSERT INTO t (a, n) VALUES ('A', 3)")
    default = "default" if change is not None and "DEFAULT" in change else "b"
    assert both.rows("SELECT * FROM t") == [("A", 2, "B"), ("A", 3, default), ("a", 1, "b")]
    comments = both.duck.execute("SELECT comment FROM duckdb_columns() WHERE table_name = 't' AND comment IS NOT NULL").fetchall()
    assert comments == [("of b",)]
    both.check_history("t")
