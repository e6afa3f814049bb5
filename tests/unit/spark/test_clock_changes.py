"""The local times that occur twice, with objects in place of Java's time zones."""

from __future__ import annotations

from datetime import datetime
from unittest.mock import MagicMock

import pytest

from dbt.adapters.ducklake.spark.session import clock_changes
from dbt.adapters.ducklake.spark.session.clock_changes import RepeatedTimes


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_changes, "_has_repeated_midnight", {})


class Local:
    """Java's LocalDateTime, LocalDate and LocalTime in one."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def getYear(self) -> int:
        return self.time.year

    def toLocalDate(self) -> Local:
        return self

    toLocalTime = toLocalDate

    def toSecondOfDay(self) -> int:
        return self.time.hour * 3600 + self.time.minute * 60

    def isBefore(self, other: Local) -> bool:
        return self.time.date() < other.time.date()


def zone(name: str, *changes: tuple[datetime, datetime]) -> MagicMock:
    """Return a time zone whose clock is changed from the first to the second time of each pair."""
    java = MagicMock()
    java.getId.return_value = name
    made = []
    for before, after in changes:
        change = MagicMock()
        change.isOverlap.return_value = after < before
        change.getDateTimeBefore.return_value, change.getDateTimeAfter.return_value = Local(before), Local(after)
        made.append(change)
    rules = java.getRules.return_value
    rules.getTransitionRules.return_value = []
    rules.getTransitions.return_value = MagicMock(**{"size.return_value": len(made), "get.side_effect": made.__getitem__})
    return java


BERLIN = ((datetime(2020, 3, 29, 2), datetime(2020, 3, 29, 3)), (datetime(2020, 10, 25, 3), datetime(2020, 10, 25, 2)))
HAVANA = ((datetime(2020, 3, 8, 0), datetime(2020, 3, 8, 1)), (datetime(2020, 11, 1, 1), datetime(2020, 11, 1, 0)))
EARLY = ((datetime(1940, 11, 1, 1), datetime(1940, 11, 1, 0)),)


@pytest.mark.parametrize(("changes", "expected"), [(BERLIN, False), (HAVANA, True), (EARLY, False), ((*EARLY, *BERLIN), False)])
def test_a_clock_may_be_put_back_to_midnight(changes: tuple[tuple[datetime, datetime], ...], expected: bool) -> None:
    assert RepeatedTimes(MagicMock(), zone("Some/Zone", *changes)).contain_a_midnight() is expected


def test_java_is_asked_once_for_each_time_zone() -> None:
    first, second = zone("America/Havana", *HAVANA), zone("America/Havana", *HAVANA)
    assert RepeatedTimes(MagicMock(), first).contain_a_midnight()
    assert RepeatedTimes(MagicMock(), second).contain_a_midnight()
    assert not RepeatedTimes(MagicMock(), zone("Europe/Berlin", *BERLIN)).contain_a_midnight()
    first.getRules().getTransitions.assert_called_once()
    second.getRules().getTransitions.assert_not_called()
