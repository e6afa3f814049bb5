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
def test_the_variables_of_a_lambda_are_no_parameters(body: str, argument: str, replaced: str) -> None:
    assert expanded(f"SELECT f({argument}) FROM t", f=body) == f"SELECT ({replaced}) FROM t"


def test_a_field_of_a_parameter_is_one_of_the_argument() -> None:
    assert expanded("SELECT f(st) FROM t", f="x.a") == "SELECT ((st).a) FROM t"
    assert expanded("SELECT f(st.b) FROM t", f="x.a.b + 1") == "SELECT ((st.b).a.b + 1) FROM t"
    assert expanded("SELECT f(st) FROM t", f="(SELECT max(x.a) FROM u AS x)") == "SELECT ((SELECT MAX(x.a) FROM u AS x)) FROM t"
