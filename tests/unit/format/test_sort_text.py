"""Columns in sort expressions."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.sort_text import bare_column, names_in, names_in_spark, renamed, sql_name


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a", '"X y"'),
        ("A", '"X y"'),
        ('"a"', '"X y"'),
        ("(a + 1)", '("X y" + 1)'),
        ("a(a)", 'a("X y")'),
        ("s.a", "s.a"),
        ("concat('a', a, 'it''s a')", "concat('a', \"X y\", 'it''s a')"),
        ("CAST(a AS a)", 'CAST("X y" AS a)'),
        ("b::a", "b::a"),
        ("ab", "ab"),
        ("extract(a FROM a)", 'extract(a FROM "X y")'),
        ("substring(a FROM 2)", 'substring("X y" FROM 2)'),
        ("b - INTERVAL 1 a", "b - INTERVAL 1 a"),
        ("b - INTERVAL '1' a", "b - INTERVAL '1' a"),
        ("b - INTERVAL (a) day", 'b - INTERVAL ("X y") day'),
        ("b > a '2020-01-01'", "b > a '2020-01-01'"),
    ],
)
def test_a_rename_changes_only_the_column(expression: str, expected: str) -> None:
    assert renamed(expression, "a", "X y") == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CASE WHEN b = 'x' THEN 1 ELSE 2 END", "CASE WHEN b = 'x' THEN 1 ELSE 2 END"),
        ("CASE WHEN b = 'x' THEN \"end\" END", "CASE WHEN b = 'x' THEN c END"),
    ],
)
def test_a_rename_does_not_change_a_keyword(expression: str, expected: str) -> None:
    assert renamed(expression, "end", "c") == expected


def test_names_in_spark_are_found() -> None:
    assert names_in_spark("`unit price` > 0 AND end > 0 AND b <> 'it\\'s c' AND d IN (\"e\\\"f\")") >= {"unit price", "end", "b", "d"}
    assert not names_in_spark("`unit price` > 0 AND b <> 'it\\'s c' AND `a``b` > 1") & {"unit", "price", "s", "c"}
    assert names_in_spark("`a``b` > 1") == {"a`b"}


def test_names_are_found() -> None:
    assert names_in("date_trunc('day', \"T s\") + b % 4") == {"t s", "b"}
    assert (bare_column('"a""b"'), bare_column("a"), bare_column("a + 1"), bare_column("1")) == ('a"b', "a", None, None)


@pytest.mark.parametrize(
    ("name", "expected"), [("a", "a"), ("Ab_1", "Ab_1"), ("A b", '"A b"'), ("é", '"é"'), ("order", '"order"'), ("1a", '"1a"')]
)
def test_names_are_quoted_if_duckdb_needs_it(name: str, expected: str) -> None:
    assert sql_name(name) == expected
