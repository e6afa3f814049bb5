"""The virtual columns `rowid`, `snapshot_id`, `filename` and `file_row_number`: equal to DuckDB's, in any query and condition."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import StatementError
from tests.interop.conftest import Both, comparable_rows

QUERIES = (
    "SELECT rowid, * FROM t",
    "SELECT *, t.rowid, snapshot_id FROM t WHERE rowid > 1",
    "SELECT rowid, snapshot_id, filename, file_row_number FROM t AT (VERSION => 2)",
    "SELECT x.*, y.rowid FROM t AS x JOIN lake.main.t AS y ON x.rowid = y.rowid AND x.snapshot_id = y.snapshot_id",
    "SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.rowid)",
    "WITH c AS (SELECT rowid AS r, a FROM t) SELECT * FROM c WHERE r = 0",
    "SELECT count(*), max(rowid) FROM t",
    "SELECT count(DISTINCT filename) FROM t",
    "SELECT * FROM u ORDER BY rowid",
    "SELECT rowid, * FROM own",
    "SELECT upper(s) AS filename, count(*) FROM t GROUP BY ALL ORDER BY filename",
)


@pytest.fixture
def filled(both: Both) -> Both:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t (a INTEGER, s VARCHAR)")
    both.duckdb("INSERT INTO t SELECT i, 's' || i FROM range(5) r(i)")
    both.duckdb("CREATE TABLE u (k BIGINT)")
    both.duckdb("INSERT INTO u VALUES (1), (3)")
    both.duckdb("CREATE TABLE own (rowid INTEGER, a INTEGER)")  # its own column hides the virtual one
    both.duckdb("INSERT INTO own VALUES (77, 1)")
    both.spark("UPDATE t SET s = 'new' WHERE a = 3")
    both.spark("DELETE FROM t WHERE a = 1")
    return both


def test_virtual_columns_equal_those_of_duckdb(filled: Both) -> None:
    for query in QUERIES:
        theirs = filled.duck.execute(query)
        names = [column[0] for column in theirs.description]
        ours = filled.session.execute(query)
        assert comparable_rows(ours.fetch()) == comparable_rows(theirs.fetchall()), query
        assert [column.name for column in ours.columns] == names or "count" in query, query


def test_a_natural_join_does_not_compare_virtual_columns(filled: Both) -> None:
    assert filled.rows("SELECT own.rowid, s FROM own JOIN t USING (a)") == []
    with pytest.raises(StatementError, match="virtual column rowid of t too; write JOIN"):
        filled.spark("SELECT rowid FROM t NATURAL JOIN u")


def test_a_name_in_a_subquery_adds_no_column_to_a_pivot(filled: Both) -> None:
    filled.spark("CREATE TABLE p (id INT, k STRING, v INT)")
    filled.spark("INSERT INTO p VALUES (1, 'a', 10)")
    filled.spark("INSERT INTO p VALUES (1, 'b', 20)")
    inside = "id IN (SELECT a FROM t WHERE filename LIKE '%')"
    assert filled.rows(f"SELECT id, a, b FROM p PIVOT (sum(v) FOR k IN ('a' AS a, 'b' AS b)) WHERE {inside}") == []
    filled.spark("INSERT INTO t VALUES (1, 'x')")
    assert filled.rows(f"SELECT id, a, b FROM p PIVOT (sum(v) FOR k IN ('a' AS a, 'b' AS b)) WHERE {inside}") == [(1, 10, 20)]
    assert filled.rows(f"SELECT count(*) FROM p AS q (id, k, w) WHERE {inside}") == [(2,)]


def test_conditions_of_changes_can_use_virtual_columns(filled: Both) -> None:
    filled.spark("DELETE FROM t WHERE rowid = 0")
    filled.spark("UPDATE t SET s = concat('row ', rowid) WHERE t.rowid >= 4")
    filled.spark("INSERT INTO t SELECT k + rowid * 100, 'added' FROM u WHERE snapshot_id > 0")
    assert filled.rows("SELECT * FROM t") == [(1, "added"), (2, "s2"), (3, "new"), (4, "row 4"), (103, "added")]


MERGES = (
    "USING u ON t.rowid = u.k WHEN MATCHED THEN UPDATE SET s = 'k' || k",
    "USING (SELECT k FROM u) AS n ON rowid = n.k + 1 WHEN MATCHED THEN UPDATE SET s = 'row ' || rowid",
    "USING u ON t.a = u.k WHEN MATCHED AND t.rowid > 1 THEN DELETE WHEN NOT MATCHED THEN INSERT (a, s) VALUES (u.k, 'u' || u.rowid)",
    "USING u ON t.a = u.k WHEN NOT MATCHED BY SOURCE AND t.rowid <> 0 THEN DELETE",
    "USING u ON t.a = u.k WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = 'alone ' || t.rowid",
    "USING (SELECT rowid, snapshot_id FROM {0} WHERE a > 2) AS n ON t.rowid = n.rowid AND t.snapshot_id = n.snapshot_id WHEN MATCHED THEN DELETE",
    "USING u ON t.file_row_number = u.k AND t.filename <> u.filename WHEN MATCHED THEN UPDATE SET s = 'place ' || t.file_row_number",
)


def test_a_merge_can_use_virtual_columns_of_both_sides(filled: Both) -> None:
    before = filled.rows("SELECT * FROM t")
    for number, clauses in enumerate(MERGES):
        rows = []
        for table, run in ((f"their{number}", filled.duckdb), (f"our{number}", filled.spark)):
            filled.duckdb(f"CREATE TABLE {table} AS FROM t ORDER BY a")
            run(f"MERGE INTO {table} AS t {clauses.format(table)}")
            rows.append(filled.rows(f"SELECT * FROM {table}"))
        assert rows[0] == rows[1] != before, clauses


def test_an_unqualified_name_is_a_column_of_the_source(filled: Both) -> None:
    filled.spark(
        "MERGE INTO t USING (SELECT a, concat('f', a) AS filename FROM t) n ON t.a = n.a WHEN MATCHED THEN UPDATE SET s = filename"
    )
    assert filled.rows("SELECT a, s FROM t") == [(0, "f0"), (2, "f2"), (3, "f3"), (4, "f4")]
    with pytest.raises(StatementError, match="rowid"):
        filled.spark("MERGE INTO t USING u ON t.a = u.k WHEN NOT MATCHED THEN INSERT (a) VALUES (t.rowid)")
    filled.spark("MERGE INTO t USING own ON t.rowid = own.rowid WHEN NOT MATCHED THEN INSERT (a, s) VALUES (own.rowid, 'own')")
    filled.spark("MERGE WITH SCHEMA EVOLUTION INTO t USING u ON t.rowid = u.rowid WHEN MATCHED THEN UPDATE SET s = concat('k', u.k)")
    assert filled.rows("SELECT * FROM t") == [(0, "k1", None), (2, "f2", None), (3, "f3", None), (4, "f4", None), (77, "own", None)]


def test_duckdb_reads_our_view_of_virtual_columns(filled: Both) -> None:
    filled.spark("CREATE VIEW v AS SELECT rowid AS r, * FROM t")
    assert [row[0] for row in filled.rows("SELECT r, a FROM v")] == [0, 2, 3, 4]


def test_inlined_rows_have_virtual_columns(both: Both) -> None:
    both.spark("CREATE TABLE t (a INT)")
    both.duckdb("INSERT INTO t VALUES (5), (6)")
    assert both.rows("SELECT rowid, snapshot_id, a FROM t") == [(0, 2, 5), (1, 2, 6)]
