"""Find local times that occur twice, because the clock is put back: Spark takes the first instant, DuckDB the second one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .jvm import java_class

_FIRST_YEAR, _LATER_YEAR = 1970, 2050
_has_repeated_midnight: dict[str, bool] = {}
"""The name of a time zone → whether the beginning of a day occurs twice in it."""


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
        """Whether the beginning of a day since 1970 is one of them, as in Havana.

        The answer is cached for the process: Java returns each change of the clock in a call of its own, and a view needs it again
        whenever it is registered.
        """
        name = str(self._zone.getId())
        if name not in _has_repeated_midnight:
            _has_repeated_midnight[name] = any(map(_repeats_midnight, self._overlaps()))
        return _has_repeated_midnight[name]

    def _overlaps(self) -> Iterator[Any]:
        """Yield Java's objects for the times at which the clock is put back since 1970."""
        for rule in self._rules.getTransitionRules():
            change = rule.createTransition(_LATER_YEAR)
            if change.isOverlap():
                yield change
        past = self._rules.getTransitions()
        for i in reversed(range(past.size())):
            change = past.get(i)
            if change.isOverlap():
                if change.getDateTimeBefore().getYear() < _FIRST_YEAR:
                    return
                yield change


def _repeats_midnight(change: Any) -> bool:
    """Whether the local times that occur twice, less than a day, have the beginning of a day."""
    first, end = change.getDateTimeAfter(), change.getDateTimeBefore()
    starts_at_midnight = first.toLocalTime().toSecondOfDay() == 0
    return bool(starts_at_midnight or (first.toLocalDate().isBefore(end.toLocalDate()) and end.toLocalTime().toSecondOfDay() > 0))
