"""Intervals in options and arguments, such as `1 week`, `7d`, `1 month 12:00:00`, and how to subtract them from a timestamp.

Specification: "Configuration" (`expire_older_than`, `delete_older_than`). The unit names are those of DuckDB's intervals.
"""

from __future__ import annotations

import calendar
import re
from datetime import datetime, timedelta
from decimal import Decimal

_PART = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]+)\s*")
"""A number with its unit, such as `7 days`."""
_CLOCK = re.compile(r"(-?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?\s*")
"""Hours, minutes and optional seconds, such as `12:00:00`."""
_MONTHS = {"month": 1, "mon": 1, "quarter": 3, "year": 12, "yr": 12, "y": 12, "decade": 120, "century": 1200, "millennium": 12000}
"""Unit → its length in months."""
_SECONDS = {
    **dict.fromkeys(("microsecond", "us"), 1e-6),
    **dict.fromkeys(("millisecond", "ms"), 1e-3),
    **dict.fromkeys(("second", "sec", "s"), 1),
    **dict.fromkeys(("minute", "min", "m"), 60),
    **dict.fromkeys(("hour", "hr", "h"), 3600),
    **dict.fromkeys(("day", "d"), 86400),
    **dict.fromkeys(("week", "w"), 7 * 86400),
}
"""Unit → its length in seconds."""


def before(timestamp: datetime, interval: str) -> datetime:
    """Return the timestamp that is an interval earlier. Months are calendar months; a day past the end of the month becomes its last day.

    If the result would be before the year 1, it is the first timestamp of that year.

    Raises:
        ValueError: the text is not an interval, or reaches too far into the future.
    """
    months, seconds = _parse(interval)
    try:
        return _minus_months(timestamp, months) - timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        if months * 30 * 86400 + seconds < 0:  # months of 30 days are exact enough for the sign
            raise ValueError(f"{interval!r} reaches too far into the future") from None
        return datetime.min.replace(tzinfo=timestamp.tzinfo)


def _parse(text: str) -> tuple[int, float]:
    """Return the months and the seconds of an interval.

    Raises:
        ValueError: the text is not an interval.
    """
    rest = text.strip().lower()
    sign = 1
    if rest.endswith("ago"):
        rest, sign = rest.removesuffix("ago").rstrip(), -1
    if not rest:
        raise ValueError(f"{text!r} is not an interval; write it like '7 days'")
    months, seconds = 0, 0.0
    while rest:
        if clock := _CLOCK.match(rest):
            value = int(clock[2]) * 3600 + int(clock[3]) * 60 + float(clock[4] or 0)
            seconds += -value if clock[1] else value
            rest = rest[clock.end() :]
            continue
        part = _PART.match(rest)
        unit = None if part is None else _unit(part[2])
        if part is None or unit is None:
            raise ValueError(f"{text!r} is not an interval; write it like '7 days'")
        if unit in _MONTHS:
            length = Decimal(part[1]) * _MONTHS[unit]
            months += int(length)
            if _MONTHS[unit] < _MONTHS["year"]:  # DuckDB drops the rest of a year, and counts the rest of a month as days
                seconds += int((length - int(length)) * 30) * _SECONDS["day"]
        else:
            seconds += float(part[1]) * _SECONDS[unit]
        rest = rest[part.end() :]
    return sign * months, sign * seconds


def _unit(word: str) -> str | None:
    """Return the key of a unit in `_MONTHS` or `_SECONDS`; the word may be its plural. None for an unknown word."""
    singular = {"centuries": "century", "millennia": "millennium"}.get(word, word)
    for name in (singular, singular.removesuffix("s")):
        if name in _MONTHS or name in _SECONDS:
            return name
    return None


def _minus_months(timestamp: datetime, months: int) -> datetime:
    """Return the timestamp that is some calendar months earlier.

    Raises:
        ValueError: the year is before 1 or after 9999.
    """
    if months == 0:
        return timestamp
    index = timestamp.year * 12 + timestamp.month - 1 - months
    year, month = divmod(index, 12)
    return timestamp.replace(year=year, month=month + 1, day=min(timestamp.day, calendar.monthrange(year, month + 1)[1]))
