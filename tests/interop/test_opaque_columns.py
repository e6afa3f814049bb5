"""Views over columns whose values Spark has only as a text, and over unsigned integers and coarse timestamps, mean the same in both engines.

What surely means the same is translated; a view with any other operation is refused by the engine that did not create it.
"""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.ducklake.errors import LakeError
from tests.interop.conftest import Both
from tests.interop.test_view_translation import ViewChecker
from tests.places import FULL_MATRIX

CATALOGS = ["sqlite"]

COLUMNS = """k INTEGER, i INTERVAL, i2 INTERVAL, u UUID, u2 UUID, ns TIMESTAMP_NS, ns2 TIMESTAMP_NS, tz TIMETZ,
    n INTEGER, nt TIMESTAMP, w UTINYINT, g UBIGINT, ts TIMESTAMP_S, tm TIMESTAMP_MS, st STRUCT(a INTEGER, u UUID), li INTERVAL[]"""
ROWS = """
(1, '30 days', '1 month', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
 '2020-01-01 00:00:00.5', '2020-01-01 00:00:00.500', '12:00:00+01', 4, '2020-01-01 00:00:01.9', 5, 7,
 '2020-01-01 00:00:01', '2020-01-01 00:00:01.25', NULL, ['1 day']),
(2, '1 month', '9 days', 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL, '2020-01-01', NULL, '11:00:00+00', -3, '2020-01-01', 0, 0,
 '2020-01-01 00:00:02', '2020-01-01 00:00:02', NULL, NULL),
(3, '10 days', NULL, 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2020-01-01', NULL, NULL, NULL, NULL,
 NULL, NULL, NULL, NULL, NULL, [])"""

SAME = [
    "SELECT k, u, st, CAST(w AS INTEGER) - 6 AS w6, -CAST(w AS INTEGER) AS n, w - w AS z FROM t",
    "SELECT k, CAST(u AS STRING) || 'x' AS a, upper(CAST(u AS STRING)) AS b, CAST(u AS STRING) = 'A' AS c FROM t",
    "SELECT k, i AS j FROM t WHERE i IS NOT NULL AND ns2 IS NULL",
    "SELECT count(i) AS n, count(u) AS m, count(DISTINCT u) AS d, count(DISTINCT ns) AS o, count(*) AS c FROM t",
    "SELECT k FROM t WHERE u = u2 OR ns = ns2",
    "SELECT k FROM t WHERE u = 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    "SELECT k FROM t WHERE u IN ('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')",
    "SELECT t.k, b.k AS k2, t.u FROM t JOIN t AS b ON t.u = b.u2",
    "SELECT u, count(*) AS n FROM t GROUP BY u",
    "SELECT ns, max(k) AS n FROM t GROUP BY ns",
    "SELECT DISTINCT u FROM t",
    "SELECT u FROM t UNION SELECT u2 FROM t",
    "SELECT u FROM t EXCEPT SELECT u2 FROM t",
    "SELECT i FROM t UNION ALL SELECT i2 FROM t",
    "SELECT k FROM t WHERE u IN (SELECT u2 FROM t)",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.u2 = t.u)",
    "WITH c AS (SELECT u AS x, k FROM t) SELECT a.k FROM c AS a JOIN c AS b ON a.x = b.x",
    "SELECT k, row_number() OVER (PARTITION BY u ORDER BY k) AS n FROM t",
    "SELECT st.a AS a, k FROM t",
    "SELECT k FROM t WHERE ts > '2020-01-01 00:00:01' AND tm <> '2020-01-01 00:00:02'",
    "SELECT k, CAST(ts AS STRING) AS a, CAST(tm AS STRING) AS b, ts + INTERVAL 1 DAY AS c FROM t",
    "SELECT max(w) AS a, sum(w) AS b, min(g) AS c, max(ts) AS d FROM t",
    "SELECT k, u FROM t ORDER BY u",
    "SELECT max(u) AS a, min(u2) AS b, (SELECT max(u) FROM t) AS c FROM t",
    "SELECT k, coalesce(u2, u) AS a, CASE WHEN k = 1 THEN u END AS b, CASE WHEN k = 1 THEN u ELSE u2 END AS c FROM t",
    "SELECT k, u < u2 AS a, u >= u2 AS b, greatest(u, u2) AS c, u < 'b0000000-9c0b-4ef8-bb6d-6bb9bd380a11' AS d FROM t",
    "SELECT k, max(u) OVER (PARTITION BY n) AS m, row_number() OVER (ORDER BY u, k) AS r FROM t",
    "SELECT max(u) AS a FROM t GROUP BY n ORDER BY a",
    "SELECT coalesce(u, u2) AS a, count(*) AS c FROM t GROUP BY coalesce(u, u2)",
    "SELECT a FROM (SELECT k, max(u) AS a FROM t GROUP BY k) AS b WHERE a IS NOT NULL",
    "SELECT -n AS a, -(n + k) AS b, -max(n) AS c, ~n AS d FROM t GROUP BY n, k",
    "SELECT -k AS a, max(w) AS b FROM t GROUP BY k",
    "SELECT -n AS a FROM plain WHERE n IN (SELECT k FROM t)",
    "SELECT k FROM t WHERE nt > '2020-01-01 00:00:01.5' AND ts IS NOT NULL",
    "SELECT k, -nullif(n, 3) AS a, -nullif(CAST(w AS INTEGER), 3) AS b, n BETWEEN 1 AND 5 AS c FROM t",
    "SELECT k FROM t WHERE nt BETWEEN '2020-01-01 00:00:01.5' AND '2020-01-01 00:00:02'",
]

OPERATIONS = [
    *("i = i2", "i < i2", "u = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "ns = '2020-01-01'", "ns < ns2", "tz = tz"),
    *("CAST(i AS STRING)", "CAST(ns AS STRING)", "CAST(ns AS TIMESTAMP)", "CAST(tz AS STRING)"),
    *("i || 'x'", "coalesce(i, i2)", "CASE WHEN k = 1 THEN i ELSE i2 END", "nullif(u, u2)", "coalesce(u, 'x')"),
    *("u < 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "coalesce(u, u2) = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "max(i) OVER ()"),
    *("greatest(i, i2)", "(SELECT max(u) FROM t) = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
    *(
        "st.u",
        "li[1]",
        "i BETWEEN '1 day' AND '40 days'",
        "i IN (i2)",
        "i IS NOT DISTINCT FROM i2",
        "u IN (u2, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')",
    ),
    *("row_number() OVER (PARTITION BY i ORDER BY k)", "lag(i) OVER (ORDER BY k)", "i BETWEEN i2 AND i2", "(SELECT i FROM t LIMIT 1)"),
    *("-w", "-g", "-(w + 1)", "-(w * n)", "-coalesce(w, 1)", "-(SELECT max(w) FROM t)"),
    *("ts > '2020-01-01 00:00:01.5'", "ts = '2020-01-01 00:00:01.9'", "tm > '2020-01-01 00:00:01.2504'", "ts IN ('2020-01-01 00:00:01.9')"),
    *("ts BETWEEN '2020-01-01 00:00:00' AND '2020-01-01 00:00:01.5'", "nullif(ts, '2020-01-01 00:00:01.5')", "-nullif(w, 3)"),
]
QUERIES = [
    "SELECT i FROM t ORDER BY i LIMIT 1",
    "SELECT min(i) AS a FROM t",
    "SELECT max(u) = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' AS a FROM t",
    "SELECT max(u) AS a FROM t GROUP BY k HAVING max(u) = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
    "SELECT a = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' AS z FROM (SELECT max(u) AS a FROM t) AS b",
    "WITH c AS (SELECT coalesce(u, u2) AS a FROM t) SELECT x.a = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' AS z FROM c AS x, c AS y",
    "SELECT m = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' AS z FROM computed",
    "SELECT m FROM computed UNION ALL SELECT 'x'",
    "SELECT -m1 AS z FROM computed",
    "SELECT -x AS z FROM (SELECT w + 1 AS x FROM t) AS b",
    "SELECT -x AS z FROM (SELECT NULL AS x UNION ALL SELECT w FROM t) AS b",
    "WITH c AS (SELECT max(w) AS x FROM t) SELECT -a.x AS z FROM c AS a, c AS b",
    "SELECT x > '2020-01-01 00:00:01.5' AS z FROM (SELECT max(ts) AS x FROM t) AS b",
    "SELECT max(ns) AS a FROM t",
    "SELECT count(DISTINCT i) AS n FROM t",
    "SELECT count(*) AS n FROM t GROUP BY i",
    "SELECT count(*) AS n FROM t GROUP BY ROLLUP (i)",
    "SELECT DISTINCT i FROM t",
    "SELECT DISTINCT tz FROM t",
    "SELECT i FROM t UNION SELECT i2 FROM t",
    "SELECT i FROM t INTERSECT SELECT i2 FROM t",
    "SELECT i FROM t EXCEPT SELECT i2 FROM t",
    "SELECT u FROM t UNION ALL SELECT 'x'",
    "SELECT k FROM t WHERE i IN (SELECT i2 FROM t)",
    "SELECT a.k FROM t AS a JOIN t AS b ON a.i = b.i2",
    "SELECT k FROM t JOIN (SELECT i FROM t) AS b USING (i)",
    "WITH c AS (SELECT i AS x FROM t) SELECT count(*) AS n FROM c AS a JOIN c AS b ON a.x < b.x",
    "SELECT x < y AS o FROM (SELECT i AS x, i2 AS y FROM t UNION ALL SELECT i2, i FROM t) AS b",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.i = t.i2)",
    "SELECT k FROM t WHERE k = (SELECT count(*) FROM t AS b WHERE b.i2 = t.i)",
    "SELECT j < j AS o FROM renamed",
]


@pytest.fixture
def filled(both: Both) -> Both:
    both.duckdb(f"CREATE TABLE t ({COLUMNS})")
    both.duckdb(f"INSERT INTO t VALUES {ROWS}")
    both.duckdb("CREATE TABLE plain AS SELECT k, n FROM t")
    return both


@pytest.fixture(params=["duckdb", "spark"])
def checker(filled: Both, request: pytest.FixtureRequest) -> ViewChecker:
    create = filled.duckdb if request.param == "duckdb" else filled.spark
    create("CREATE VIEW renamed AS SELECT i AS j, u AS v FROM t")
    create("CREATE VIEW computed AS SELECT max(u) AS m, max(w) AS m1 FROM t")
    return ViewChecker(filled, create)


def chosen(queries: list[str]) -> list[str]:
    """Return all queries in `make test-all`, else every ninth, because each is a view of its own."""
    return queries if FULL_MATRIX else queries[::9]


def as_texts(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(str([None if value is None else str(value).lower() for value in row]) for row in rows)


def outcome(checker: ViewChecker, query: str) -> str:
    try:
        checker.create(f"CREATE OR REPLACE VIEW v AS {query}")
    except Exception:
        return "invalid"
    if not checker.stored_for_duckdb():
        return "refused"
    try:
        checker.both.session.execute("SELECT * FROM v")
    except LakeError:
        return "refused"
    return "translated"


def test_operations_on_the_text_are_translated(checker: ViewChecker) -> None:
    refused = []
    for query in chosen(SAME):
        if outcome(checker, query) != "translated":
            refused.append(query)
            continue
        ours = checker.both.session.execute("SELECT * FROM v").fetch()
        assert as_texts(ours) == as_texts(checker.both.duck.execute("SELECT COLUMNS(*)::VARCHAR FROM v").fetchall()), query
    assert refused == []


def test_operations_on_the_value_are_refused(checker: ViewChecker) -> None:
    queries = [*(f"SELECT k, {operation} AS z FROM t" for operation in OPERATIONS), *QUERIES]
    assert [query for query in chosen(queries) if outcome(checker, query) != "refused"] == []


def test_functions_of_the_text_are_not_translated_for_duckdb(filled: Both) -> None:
    checker = ViewChecker(filled, filled.spark)
    assert {outcome(checker, f"SELECT {function} AS z FROM t") for function in ("upper(u)", "length(i)")} == {"refused"}


def test_the_complement_of_an_unsigned_integer_is_unsigned_in_duckdb(filled: Both) -> None:
    of_spark = ViewChecker(filled, filled.spark)
    assert of_spark.queries(["SELECT k, ~w AS z FROM t"]) == {"SELECT k, ~w AS z FROM t": "equal"}
    of_duckdb = ViewChecker(filled, filled.duckdb)
    assert of_duckdb.queries(["SELECT k, ~CAST(w AS INTEGER) AS z FROM t"]) == {"SELECT k, ~CAST(w AS INTEGER) AS z FROM t": "equal"}
    assert [outcome(of_duckdb, f"SELECT {each} AS z FROM t") for each in ("~w", "~max(w)")] == ["refused", "refused"]
