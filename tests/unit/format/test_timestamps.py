"""Timestamps that users write are read alike by all versions of Python."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.ducklake.format.timestamps import python_datetime

NOON = datetime(2026, 1, 31, 12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31", datetime(2026, 1, 31)),
        (" 2026-01-31 12:00:00 ", NOON),
        ("2026-01-31 12:00:00.5", NOON.replace(microsecond=500_000)),
        ("2026-01-31T12:00:00.123456789", NOON.replace(microsecond=123_456)),
        ("2026-01-31 12:00:00Z", NOON.replace(tzinfo=timezone.utc)),
        ("2026-01-31 12:00:00 UTC", NOON.replace(tzinfo=timezone.utc)),
        ("2026-01-31 12:00:00.25+02", NOON.replace(microsecond=250_000, tzinfo=timezone(timedelta(hours=2)))),
        ("2026-01-31 12:00:00-03:30", NOON.replace(tzinfo=timezone(-timedelta(hours=3, minutes=30)))),
    ],
)
def test_forms(text: str, expected: datetime) -> None:
    assert python_datetime(text) == expected


@pytest.mark.parametrize("text", ["", "now", "2026-02-30", "2026-01-31 12:00:00 CET", "2026-01-31Z", "2026-01-31+02:00"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|day is out of range|is not a timestamp"):
        python_datetime(text)
