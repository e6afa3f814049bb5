"""Find local times that occur twice, because the clock is put back: Spark takes the first instant, DuckDB the second one."""

from __future__ import annotations

from typing import Any

from .jvm import java_class

_FIRST_YEAR, _LATER_YEAR = 1970, 2050


class RepeatedTimes:
    """The local times of a time zone that occur twice.

    Args:
        jvm: Py4J's JVM object.
        zone: Java's time zone.
    """

    def __init__(self, jvm: Any, zone: Any) -> None:
        self._jvm = jvm
        self._zone = zone
        self._rules = zone.getRules()

    @property
    def exist(self) -> bool:
        """Whether the zone has such times at all."""
        return not self._rules.isFixedOffset()

    def contain(self, microseconds: int) -> bool:
        """Whether the local time of an instant, in microseconds since 1970 in UTC, is one of them."""
        instant = java_class(self._jvm, "java.time.Instant").ofEpochSecond(microseconds // 1_000_000)
        local = java_class(self._jvm, "java.time.LocalDateTime").ofInstant(instant, self._zone)
        return bool(self._rules.getValidOffsets(local).size() > 1)

    def contain_a_midnight(self) -> bool:
        """Whether the beginning of a day since 1970 is one of them, as in Havana."""
        changes = [rule.createTransition(_LATER_YEAR) for rule in self._rules.getTransitionRules()]
        for change in reversed(list(self._rules.getTransitions())):
            if change.getDateTimeBefore().getYear() < _FIRST_YEAR:
                break
            changes.append(change)
        return any(change.isOverlap() and _has_midnight(change.getDateTimeAfter(), change.getDateTimeBefore()) for change in changes)


def _has_midnight(first: Any, end: Any) -> bool:
    """Whether the local times from `first` to before `end`, less than a day, have the beginning of a day."""
    starts_at_midnight = first.toLocalTime().toSecondOfDay() == 0
    return bool(starts_at_midnight or (first.toLocalDate().isBefore(end.toLocalDate()) and end.toLocalTime().toSecondOfDay() > 0))
