"""Which of Spark's expressions can be column defaults of a lake: DuckDB must have an equal one."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.plan.defaults import is_constant, is_literal, stored_expression


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("current_date()", "CURRENT_DATE"),
        ("1+2", "1 + 2"),
        ("uuid()", "CAST(UUID() AS TEXT)"),
        ("array(1)", "[1]"),
        ("(SELECT 1)", None),
        ("1 + (SELECT 1)", None),
        ("count(1)", None),
        ("row_number() OVER (ORDER BY 1)", None),
        ("a", None),
        ("5 AS x", None),
        ("1, 2", None),
        ("DISTINCT 5", None),
        ("bigint(5)", None),
        ("concat_ws('-', array('a'), 'b')", None),
        ("'a' LIKE ANY ('a', 'b')", None),
        ("INTERVAL '1 2:3:4' DAY TO SECOND", None),
        ("CAST('2020-01-01' AS TIMESTAMP_LTZ)", None),
    ],
)
def test_an_expression_is_stored_in_duckdbs_sql_or_not_at_all(text: str, stored: str | None) -> None:
    assert stored_expression(text) == stored


@pytest.mark.parametrize(
    "text", ["bigint(5)", "decimal(5)", "timestamp('2020-01-01')", "X'00FF'", "-(5)", "true", "5.50", "CAST('2020-01-01' AS TIMESTAMP_LTZ)"]
)
def test_literals_with_casts(text: str) -> None:
    assert is_literal(text)
    assert is_constant(text)


def test_constants_and_others() -> None:
    assert is_constant("concat_ws('-', array('a'), 'b')")
    assert not is_literal("1 + 2")
    for text in ("current_date()", "decimal(current_date())", "rand()", "current_user()", "(SELECT 1)", "5 FROM t", "a"):
        assert not is_constant(text)
