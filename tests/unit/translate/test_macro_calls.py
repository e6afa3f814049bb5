"""Calls of DuckDB's macros are replaced with the macros' bodies, in which names mean what they mean in DuckDB."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.objects import Macro, MacroBody, MacroParameter
from dbt.adapters.ducklake.translate.dialects import to_spark
from dbt.adapters.ducklake.translate.macro_calls import expand_macros


def expanded(text: str, **bodies: str) -> str | None:
    """Return the Spark SQL of a query that calls macros of one parameter `x`; `bodies` are their stored SQL."""

    def find(parts: tuple[str, ...], _table: bool) -> Macro | None:
        body = bodies.get(parts[-1])
        return None if body is None else Macro(1, "main", parts[-1], False, (MacroBody(body, (MacroParameter("x"),)),))

    query = expand_macros(text, find)
    return None if query is None else to_spark(query)


@pytest.mark.parametrize(
    ("body", "argument", "replaced"),
    [
        ("list_transform(x, (lambda e: (e + 1)))", "l", "TRANSFORM(l, e -> (e + 1))"),
        ("list_transform(main.list_value(1), (lambda x: (x + 1)))", "l", "TRANSFORM(ARRAY(1), x -> (x + 1))"),
    ],
)
def test_the_variables_of_a_lambda_are_not_parameters(body: str, argument: str, replaced: str) -> None:
    assert expanded(f"SELECT f({argument}) FROM t", f=body) == f"SELECT ({replaced}) FROM t"


def test_a_field_of_a_parameter_is_a_field_of_the_argument() -> None:
    assert expanded("SELECT f(st) FROM t", f="x.a") == "SELECT ((st).a) FROM t"
    assert expanded("SELECT f(st.b) FROM t", f="x.a.b + 1") == "SELECT ((st.b).a.b + 1) FROM t"
    assert expanded("SELECT f(st) FROM t", f="(SELECT max(x.a) FROM u AS x)") == "SELECT ((SELECT MAX(x.a) FROM u AS x)) FROM t"


def test_the_index_of_a_list_stays_the_same() -> None:
    assert expanded("SELECT f(1), f(k), l[2] FROM t", f="[5, 6][x]") == (
        "SELECT (TRY_ELEMENT_AT(ARRAY(5, 6), 1)), (TRY_ELEMENT_AT(ARRAY(5, 6), k)), TRY_ELEMENT_AT(l, 2) FROM t"
    )
    assert expanded("SELECT f(l) FROM t", f="x[1]") == "SELECT (TRY_ELEMENT_AT(l, 1)) FROM t"


@pytest.mark.parametrize(
    ("query", "argument"),
    [
        ("SELECT f(id) FROM t", "`t`.id"),
        ("SELECT f(id) FROM s.t AS q", "`q`.id"),
        ("SELECT f(t.id) FROM t, v", "t.id"),
        ("SELECT f(1) FROM t, v", "1"),
        ("SELECT f(id + 1) FROM t", "(`t`.id + 1)"),
    ],
)
def test_a_column_in_an_argument_belongs_to_the_calling_query(query: str, argument: str) -> None:
    replaced = expanded(query, f="(SELECT sum(w) FROM u WHERE u.id = x)")
    assert replaced is not None
    assert f"((SELECT SUM(w) FROM u WHERE u.id = {argument}))" in replaced


@pytest.mark.parametrize(
    "query",
    [
        "SELECT f(id) FROM t, v",
        "SELECT f(id) FROM t JOIN v USING (id)",
        "SELECT f(st.id) FROM t",
        "SELECT -id AS id, f(id) FROM t",
        "SELECT (SELECT f(t.id)) FROM t",
        "SELECT f((SELECT max(id) FROM v)) FROM t",
    ],
)
def test_a_column_that_the_macro_may_take_for_its_own_is_refused(query: str) -> None:
    assert expanded(query, f="(SELECT sum(w) FROM u WHERE u.id = x)") is None


def test_an_argument_with_the_name_of_a_variable_is_refused() -> None:
    assert expanded("SELECT f(e) FROM t", f="list_transform([1], (lambda e: (e + x)))") is None
    assert expanded("SELECT f(id) FROM t", f="list_transform([1], (lambda e: (e + x)))") is not None
