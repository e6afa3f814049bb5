"""Texts with several statements, and places for values."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.script import controls_transaction, literal, split_statements, with_values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", ["select 1"]),
        ("select 1;", ["select 1"]),
        (" select 1 ; ; select 2 ", ["select 1", "select 2"]),
        ("select ';' ; select \"a;b\" ; select `c;d`", ["select ';'", 'select "a;b"', "select `c;d`"]),
        ("select 'it\\'s;' ; select 'it''s;'", ["select 'it\\'s;'", "select 'it''s;'"]),
        ("select r'\\' ; select 2", ["select r'\\'", "select 2"]),
        ("-- a ; b\nselect 1 -- c ; d\n; /* ; /* ; */ ; */ select 2", ["-- a ; b\nselect 1 -- c ; d", "/* ; /* ; */ ; */ select 2"]),
        ("/* only */ -- comments\n;", []),
        ("", []),
        ("begin; insert into t values (1); commit", ["begin", "insert into t values (1)", "commit"]),
        ("begin transaction; select 1", ["begin transaction", "select 1"]),
        ("begin declare x int; set x = 1; end", ["begin declare x int; set x = 1; end"]),
        ("/* q */ BEGIN\n select 1; END;", ["/* q */ BEGIN\n select 1; END;"]),
    ],
)
def test_a_text_is_split_at_its_semicolons(text: str, expected: list[str]) -> None:
    assert split_statements(text) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("/* x */ BEGIN", True),
        ("commit", True),
        ("rollback", True),
        ("start transaction", True),
        ("begin select 1; end", False),
        ("select 'begin'", False),
    ],
)
def test_transaction_statements_are_known(statement: str, expected: bool) -> None:
    assert controls_transaction(statement) is expected


def test_values_take_their_places_outside_quotes() -> None:
    assert with_values("insert into t values (%s, '%s', ?) -- %s", ["it's", None]) == "insert into t values ('it\\'s', '%s', NULL) -- %s"


def test_values_and_places_must_be_as_many() -> None:
    with pytest.raises(DbtRuntimeError, match="1 places for values and was given 2"):
        with_values("select %s", [1, 2])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (7, "7"),
        (1.5, "CAST('1.5' AS DOUBLE)"),
        (float("nan"), "CAST('nan' AS DOUBLE)"),
        (Decimal("1E+2"), "100BD"),
        (b"\x00\xff", "X'00ff'"),
        (date(2020, 1, 2), "DATE '2020-01-02'"),
        (datetime(2020, 1, 2, 3, 4, 5), "TIMESTAMP_NTZ '2020-01-02 03:04:05'"),
        (datetime(2020, 1, 2, tzinfo=timezone.utc), "TIMESTAMP '2020-01-02 00:00:00+00:00'"),
        ("a\\b'c", "'a\\\\b\\'c'"),
    ],
)
def test_values_become_literals(value: object, expected: str) -> None:
    assert literal(value) == expected
