"""The macro `datediff` where the zone of the session is not UTC: hours and smaller parts are those of its clock."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.session import LakeSession
from tests.unit.macros.macro_rendering import Macros

MACROS = Macros()


def ntz(text: str) -> str:
    return f"timestamp_ntz '{text}'"


@pytest.mark.parametrize(
    ("zone", "first", "second", "part", "expected"),
    [
        ("Asia/Kolkata", "timestamp '1970-01-01 05:10:00'", "timestamp '1970-01-01 06:10:00'", "hour", 1),
        ("Asia/Kolkata", "timestamp '1960-01-01 05:00:00'", "timestamp '1960-01-01 06:00:00'", "hour", 1),
        ("Asia/Kolkata", "timestamp '1970-01-01 05:29:59.9999'", "timestamp '1970-01-01 05:30:00'", "millisecond", 1),
        ("Asia/Kolkata", "timestamp '1969-12-31 23:59:59.5'", "date '1970-01-01'", "minute", 1),
        ("Europe/Berlin", ntz("2024-03-31 01:00:00"), ntz("2024-03-31 04:00:00"), "hour", 3),
        ("Europe/Berlin", ntz("2024-03-31 02:30:00"), ntz("2024-03-31 03:30:00"), "minute", 60),
        ("Europe/Berlin", "'2024-03-01 00:00:00Z'", "'2024-03-01 02:00:00+01:00'", "hour", 1),
        ("Europe/Berlin", ntz("0001-01-01 00:00:00"), ntz("9999-12-31 23:59:59.999999"), "microsecond", 315_537_897_599_999_999),
        ("Europe/Berlin", "null", "timestamp '2024-03-01 00:00:00'", "second", None),
    ],
)
def test_boundaries_are_those_of_the_clock(lake: LakeSession, zone: str, first: str, second: str, part: str, expected: int | None) -> None:
    lake.execute(f"SET spark.sql.session.timeZone = {zone}")
    assert lake.execute(f"SELECT {MACROS.datediff(first, second, part)}").fetch() == [(expected,)]
