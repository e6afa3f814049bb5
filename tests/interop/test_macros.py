"""Macros that DuckDB stores in a lake: views that call them are readable, and they are dropped as in DuckDB."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import ConflictError, LakeError, NotFoundError, StatementError
from tests.interop.conftest import Both


@pytest.fixture
def macros(both: Both) -> Both:
    both.duckdb("CREATE SCHEMA s")
    both.duckdb("CREATE TABLE t AS SELECT 7 AS c")
    both.duckdb("CREATE MACRO s.plus(a, b := 5) AS a + b")
    both.duckdb("CREATE MACRO s.over(a) AS a * 2, (a, b) AS a * b")
    both.duckdb("CREATE MACRO s.rows_of(n) AS TABLE SELECT n AS x, n + 1 AS y")
    both.duckdb("CREATE MACRO typed(a INTEGER, b VARCHAR := 'it''s') AS b || a")
    both.duckdb("CREATE MACRO nested(a) AS s.plus(s.over(a))")
    both.duckdb("CREATE MACRO nth(l, a) AS l[a]")
    return both


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT s.plus(c) AS p, lake.s.plus(b := 1, a := c) AS q FROM t", [(12, 8)]),
        ("SELECT s.over(c) AS p, s.over(c, c + 1) AS q FROM t", [(14, 56)]),
        ("SELECT r.x, u.y FROM s.rows_of(5) AS r JOIN lake.s.rows_of(4) AS u ON r.x = u.y", [(5, 5)]),
        ("SELECT typed(3) AS p, nested(4) AS q", [("it's3", 13)]),
        ("SELECT nth([5, 6, 7], 1) AS p, nth([5, 6, 7], c - 5) AS q, [5, 6][1] + s.plus(1) AS r FROM t", [(5, 6, 11)]),
    ],
)
def test_views_that_call_macros_are_read(macros: Both, query: str, rows: list[tuple[object, ...]]) -> None:
    macros.duckdb(f"CREATE VIEW v AS {query}")
    assert macros.rows("SELECT * FROM v") == rows


NAMES = {
    "each(x) AS list_transform(x, lambda e: e + 1)": ["each([id, w])"],
    "field(x) AS x.id + 1": ["field(st)", "field({'id': w})"],
    "named(a) AS a.id": ["named(st)", "named({'id': 7})"],
    "inner_field(x) AS x.p.q": ["inner_field({'p': {'q': w}})"],
    "of_relation(x) AS (SELECT max(x.id) FROM b AS x)": ["of_relation(st)"],
    "total(x) AS (SELECT sum(w) FROM b WHERE b.id = x)": ["total(id)", "total(a.id)", "total(w - 9)", "total(3)"],
    "above(x) AS (SELECT count(*) FROM b WHERE w > x)": ["above(w * 10)", "above(id + w)", "above(100)"],
    "both_of(x) AS above(x) + total(x)": ["both_of(id)"],
    "added(x) AS list_transform([1, 2], lambda e: e + x)": ["added(id)"],
    "mine(e) AS list_transform([5, 6], lambda e: e + 1)": ["mine(id)"],
}
"""Macros, and calls of them in SELECT … FROM a."""


def test_names_in_macros_mean_what_they_mean_in_duckdb(both: Both) -> None:
    both.duckdb("CREATE TABLE a AS SELECT * FROM (VALUES (1, 10, {'id': 5}), (2, 20, {'id': 6})) AS v(id, w, st)")
    both.duckdb("CREATE TABLE b AS SELECT * FROM (VALUES (1, 100), (1, 101), (3, 300)) AS v(id, w)")
    for macro in NAMES:
        both.duckdb(f"CREATE MACRO {macro}")
    calls = [call for listed in NAMES.values() for call in listed]
    both.duckdb(f"CREATE VIEW v AS SELECT {', '.join(f'{call} AS c{i}' for i, call in enumerate(calls))} FROM a")
    assert len(both.rows("SELECT * FROM v")) == 2


@pytest.mark.parametrize("query", ["SELECT total(id) AS c FROM a JOIN b USING (id)", "SELECT total(st.id) AS c FROM a"])
def test_a_column_that_a_macro_may_take_for_its_own_is_refused(both: Both, query: str) -> None:
    both.duckdb("CREATE TABLE a AS SELECT 1 AS id, {'id': 3} AS st")
    both.duckdb("CREATE TABLE b AS SELECT 1 AS id, 2 AS w")
    both.duckdb("CREATE MACRO total(x) AS (SELECT sum(w) FROM b WHERE b.id = x)")
    both.duckdb(f"CREATE VIEW v AS {query}")
    with pytest.raises(LakeError, match="a macro that it calls"):
        both.session.execute("SELECT * FROM v").fetch()


def test_a_view_uses_the_macros_of_its_snapshot(macros: Both) -> None:
    macros.duckdb("CREATE VIEW v AS SELECT s.plus(1) AS p")
    before = macros.snapshots() - 1
    macros.duckdb("CREATE OR REPLACE MACRO s.plus(a) AS a + 100")
    assert macros.rows("SELECT * FROM v") == [(101,)]
    assert macros.session.execute(f"SELECT * FROM v VERSION AS OF {before}").fetch() == [(6,)]


def test_a_call_without_a_matching_implementation_is_an_error(macros: Both) -> None:
    macros.duckdb("CREATE VIEW v AS SELECT s.plus(1, 2) AS p")
    macros.duckdb("CREATE OR REPLACE MACRO s.plus(a) AS a")
    with pytest.raises(LakeError, match=r"v was created by DuckDB"):
        macros.session.execute("SELECT * FROM v").fetch()


def test_macros_are_dropped_as_in_duckdb(macros: Both) -> None:
    macros.spark("DROP MACRO s.plus")
    macros.spark("DROP MACRO TABLE lake.s.rows_of")
    macros.spark("DROP MACRO IF EXISTS s.plus")
    changes = macros.duck.execute("SELECT changes FROM ducklake_snapshots('lake') ORDER BY snapshot_id DESC LIMIT 2").fetchall()
    assert [sorted(change) for (change,) in changes] == [["table_macros_dropped"], ["scalar_macros_dropped"]]
    names = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'lake' ORDER BY 1"
    assert macros.duck.execute(names).fetchall() == [("nested",), ("nth",), ("over",), ("typed",)]
    with pytest.raises(NotFoundError, match="IF EXISTS"):
        macros.spark("DROP MACRO s.plus")


def test_only_cascade_drops_a_schema_with_macros(macros: Both) -> None:
    with pytest.raises(StatementError, match=r"not empty \(over, plus, rows_of\)"):
        macros.spark("DROP SCHEMA s")
    macros.spark("DROP SCHEMA s CASCADE")
    names = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'lake' ORDER BY 1"
    assert macros.duck.execute(names).fetchall() == [("nested",), ("nth",), ("typed",)]


@pytest.mark.parity
def test_a_concurrently_created_macro_is_not_left_without_its_schema(macros: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt.adapters.ducklake.session.transacting.REPLANS", 0)
    macros.session.begin()
    macros.spark("DROP SCHEMA s CASCADE")
    macros.duckdb("CREATE MACRO s.late(a) AS a")
    with pytest.raises(ConflictError, match="created a macro"):
        macros.session.commit()


def test_this_adapter_cannot_create_macros(both: Both) -> None:
    with pytest.raises(StatementError, match="macros are not supported"):
        both.spark("CREATE MACRO plus(a, b) AS a + b")
