"""Views in DuckDB's dialect: those that can be translated are read, and each of the others is refused on its own."""

from __future__ import annotations

import duckdb
import pytest

from dbt.adapters.ducklake.errors import LakeError
from tests.interop.conftest import Both

CATALOGS = ["sqlite"]
READ = {
    "plain": "SELECT a, upper(b) AS b FROM t WHERE a >= 2",
    "casts": "SELECT a::VARCHAR || '!' AS note FROM t",
    "on_view": "SELECT count(*) AS n FROM plain",
}
REFUSED = {
    "pivoted": "PIVOT t ON a IN (1, 2) USING count(*)",
    "joined": "SELECT * FROM t POSITIONAL JOIN t AS other",
    "of_files": "SELECT * FROM duckdb_settings()",
    "on_refused": "SELECT * FROM pivoted",
}


def test_views_are_refused_one_by_one(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT i AS a, 'x' || i AS b FROM range(4) s(i)")
    for name, text in {**READ, **REFUSED}.items():
        both.duckdb(f"CREATE VIEW {name} AS {text}")
    for name in READ:
        assert both.rows(f"SELECT * FROM {name}"), name
    for name in REFUSED:
        with pytest.raises(LakeError, match=f"(?i){name.replace('on_refused', 'pivoted')}"):
            both.session.execute(f"SELECT * FROM {name}").fetch()
    listed = {row[1] for row in both.session.execute("SHOW VIEWS").fetch()}
    assert listed >= {*READ, *REFUSED}
    both.spark("DROP VIEW joined")
    both.spark("CREATE OR REPLACE VIEW pivoted AS SELECT a FROM t")
    assert both.rows("SELECT count(*) FROM on_refused") == [(4,)]


SPARK_ALONE = {
    "binary": "VALUES (X'41')",
    "rounded": "SELECT CAST(0.285e0 AS DECIMAL(3,2)) AS a",
    "local": "SELECT * FROM VALUES (CAST(CAST('2020-06-01' AS DATE) AS TIMESTAMP)) t(a)",
    "ends_with_comment": "WITH c AS (SELECT * FROM VALUES (CAST(0.285e0 AS DECIMAL(3,2))) t(a)) SELECT a FROM c ORDER BY a -- it's",
}


def test_views_for_spark_alone_are_errors_in_duckdb_without_a_table(both: Both) -> None:
    for name, text in SPARK_ALONE.items():
        both.spark(f"CREATE VIEW {name} AS {text}\n")
    for name in SPARK_ALONE:
        with pytest.raises(duckdb.ParserException):
            both.duckdb(f"SELECT * FROM {name}")
        assert len(both.session.execute(f"SELECT * FROM {name}").fetch()) == 1, name
    listed = both.duck.execute("SELECT view_name FROM duckdb_views() WHERE database_name = 'lake'").fetchall()
    assert {name for (name,) in listed} >= set(SPARK_ALONE)


NAMED_BY_DUCKDB = [
    "v AS SELECT * FROM t, t AS other",
    "v AS SELECT a, b, a AS B, b AS b_1, a AS b FROM t",
    "v(x) AS SELECT a, b FROM t",
    "v(b) AS SELECT a, b FROM t",
    "v AS SELECT 'x', a, 1.50, -1, 1e3, NULL, TRUE, DATE '2026-01-01', 'it''s' FROM t",
]
EXPRESSIONS_OF_DUCKDB = [
    "SELECT -a, a + 1, count(*), max(b) || ', from', s.x, t.a FROM t GROUP BY ALL",
    "SELECT year(d), CASE WHEN a > 1 THEN 2 ELSE 3 END, a BETWEEN 1 AND 2, a IS DISTINCT FROM 2, twice(a), (SELECT max(a) FROM t) FROM t",
    "SELECT *, a + 1, CAST(a AS VARCHAR) FROM t",
    "SELECT DISTINCT a % 2, a AS n FROM t ORDER BY 1 LIMIT 3",
    "WITH c(n) AS (SELECT max(a) FROM t) SELECT n + 1 FROM c UNION ALL SELECT 5",
    "SELECT * FROM (VALUES (1, 'x'))",
]
NAMED_BY_SPARK = [
    "v AS SELECT upper(b), count(*), a + 1, t.a, 1 FROM t GROUP BY b, a HAVING count(*) > 0",
    "v AS SELECT -a, *, a + 1, CAST(a AS BIGINT) * 2 FROM t",
    "v AS SELECT max(a) FROM t UNION ALL SELECT a FROM t",
    "v AS WITH c AS (SELECT a FROM t) SELECT *, 'x' || 'y' FROM c",
    "v (n, m) AS SELECT count(*), max(b) FROM t",
    "v AS SELECT 'x', a, 1.50, -1, 1e3, NULL, TRUE, DATE '2026-01-01', \"b\" FROM t",
]


def test_columns_have_the_same_names(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT i AS a, 'x' || i AS b FROM range(4) s(i)")
    for create, views in ((both.duckdb, NAMED_BY_DUCKDB), (both.spark, NAMED_BY_SPARK)):
        for view in views:
            create(f"CREATE OR REPLACE VIEW {view}")
            theirs = [column[0] for column in both.duck.execute("SELECT * FROM v").description]
            assert [row[0] for row in both.session.execute("DESCRIBE v").fetch()] == theirs, view
            both.rows("SELECT * FROM v")


def test_expressions_of_duckdb_have_the_same_names(both: Both) -> None:
    """DuckDB names them by the text that it stores."""
    both.duckdb("CREATE TABLE t AS SELECT i AS a, 'x' || i AS b, DATE '2026-01-01' AS d, {'x': i} AS s FROM range(4) r(i)")
    both.duckdb("CREATE MACRO twice(x) AS x * 2")
    for view in EXPRESSIONS_OF_DUCKDB:
        both.duckdb(f"CREATE OR REPLACE VIEW v AS {view}")
        theirs = [column[0] for column in both.duck.execute("SELECT * FROM v").description]
        assert [row[0] for row in both.session.execute("DESCRIBE v").fetch()] == theirs, view
        both.rows("SELECT * FROM v")


def test_show_create_table_recreates_views_of_both(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT i AS a, 'x' || i AS b FROM range(4) s(i)")
    both.duckdb("CREATE VIEW theirs(x) AS SELECT a + 1, b FROM t WHERE b <> 'x0'")
    both.spark("CREATE VIEW ours (n COMMENT 'it\\'s', m) COMMENT 'two' AS SELECT count(*), max(b) FROM t HAVING count(*) > 0")
    both.spark("CREATE VIEW plain AS SELECT a AS `select`, ';' AS c FROM t")
    both.duckdb("CREATE SCHEMA s")
    both.duckdb("CREATE TABLE s.t AS SELECT 7 AS a")
    both.duckdb("CREATE VIEW s.other AS SELECT * FROM s.t")
    for view in ("theirs", "ours", "plain", "s.other"):
        described, rows = both.session.execute(f"DESCRIBE {view}").fetch(), both.rows(f"SELECT * FROM {view}")
        ((text,),) = both.session.execute(f"SHOW CREATE TABLE {view}").fetch()
        both.spark(f"DROP VIEW {view}")
        both.spark(text)
        assert both.session.execute(f"DESCRIBE {view}").fetch() == described
        assert both.rows(f"SELECT * FROM {view}") == rows
    assert "COMMENT 'two'" in both.session.execute("SHOW CREATE TABLE ours").fetch()[0][0]
