"""Placeholders for values in a text, and values as SQL."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.cursor import literal, with_values


def test_values_replace_placeholders_outside_quotes() -> None:
    assert with_values("insert into t values (%s, '%s', ?) -- %s", ["it's", None]) == "insert into t values ('it\\'s', '%s', NULL) -- %s"


def test_the_numbers_of_values_and_placeholders_must_be_equal() -> None:
    with pytest.raises(DbtRuntimeError, match="1 placeholders and got 2 values"):
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
def test_values_are_converted_to_literals(value: object, expected: str) -> None:
    assert literal(value) == expected
