"""Intervals subtracted from a timestamp, as DuckDB subtracts them."""

from __future__ import annotations

from datetime import datetime

import duckdb
import pytest

from dbt.adapters.ducklake.format.intervals import before

BASE = datetime(2024, 3, 31, 12, 30, 15)


@pytest.mark.parametrize(
    "interval",
    [
        "1 week",
        "7d",
        "2 days",
        "1 month",
        "1 year 2 months",
        "3 hours 30 minutes",
        "12:30:00",
        "-1 day",
        "1 mon 01:02:03.5",
        "90 seconds",
        "0.5 months",
        "2.5 months",
        "0.33 month",
        "-1.9 months",
        "0.5 months ago",
        "0.123 quarters",
        "1.5 years",
        "0.3 years",
        "0.07 century",
        "1.5 weeks 0.5 days",
    ],
)
def test_intervals_are_subtracted_as_in_duckdb(interval: str) -> None:
    expected = duckdb.execute("SELECT ?::TIMESTAMP - ?::INTERVAL", [BASE, interval]).fetchone()
    assert expected == (before(BASE, interval),)


@pytest.mark.parametrize("text", ["", "soon", "3 fortnights", "1 week and"])
def test_a_text_that_is_not_an_interval_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not an interval"):
        before(BASE, text)
