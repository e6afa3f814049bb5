"""Dates, times and timestamps as counts of days and nanoseconds, and as strings, for every year that DuckDB supports.

The strings have the reference implementation's form: `2020-01-02 03:04:05.6`, `0044-03-15 (BC)`, `infinity`, `+00` after instants. The
calendar is the proleptic Gregorian one. Year 0 of the count is written as 1 BC.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

INFINITY_DAYS: Final = 2**31 - 1
INFINITY_MICROS: Final = 2**63 - 1
MIN_NANOS: Final = -9_223_286_400_000_000_000
"""1677-09-22, the first day of DuckDB's timestamp_ns."""
DAY_NANOS: Final = 86_400_000_000_000
_DATE = r"(?P<year>\d{1,7})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?P<bc>\s*\(BC\))?"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9})\d*)?)?"
_OFFSET = r"(?P<offset>Z|UTC|[+-]\d{2}(?::?\d{2})?(?::?\d{2})?)"
_DATE_TEXT = re.compile(_DATE)
_TIME_TEXT = re.compile(_TIME)
_ISO = re.compile(r"(?!0000)\d{4}-\d{2}-\d{2}(?:[ T](?!24)\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)
_TIMESTAMP_TEXT = re.compile(rf"{_DATE}(?:[ T]+{_TIME})?\s*{_OFFSET}?", re.IGNORECASE)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a date of the proleptic Gregorian calendar (year 0 is 1 BC)."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Return (year, month, day) of a count of days since 1970-01-01."""
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def date_text(days: int) -> str:
    """Format a date given as days since 1970-01-01."""
    if abs(days) == INFINITY_DAYS:
        return "infinity" if days > 0 else "-infinity"
    year, month, day = civil_from_days(days)
    if year <= 0:
        return f"{1 - year:04d}-{month:02d}-{day:02d} (BC)"
    return f"{year:04d}-{month:02d}-{day:02d}"


def time_text(nanos: int) -> str:
    """Format a time of day given as nanoseconds since midnight, without trailing zeros in the fraction."""
    seconds, fraction = divmod(nanos, 1_000_000_000)
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
    return f"{text}.{fraction:09d}".rstrip("0") if fraction else text


def timestamp_text(nanos: int) -> str:
    """Format a timestamp given as nanoseconds since 1970-01-01 00:00:00."""
    if abs(nanos) // 1000 >= INFINITY_MICROS:
        return "infinity" if nanos > 0 else "-infinity"
    days, rest = divmod(nanos, DAY_NANOS)
    return f"{date_text(days)} {time_text(rest)}"


def parse_date(text: str) -> int:
    """Parse a date into days since 1970-01-01.

    Raises:
        ValueError: the text is not a date.
    """
    if text in {"infinity", "-infinity"}:
        return INFINITY_DAYS if text == "infinity" else -INFINITY_DAYS
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a date")
    return _days(match)


def parse_time(text: str) -> int:
    """Parse a time of day into nanoseconds since midnight.

    Raises:
        ValueError: the text is not a time of day.
    """
    match = _TIME_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time of day")
    return _nanos(match)


def parse_timestamp(text: str) -> tuple[int, int | None]:
    """Parse a timestamp.

    Returns:
        (nanoseconds since 1970-01-01 00:00:00 in the written zone, offset of that zone from UTC in seconds or None without one).

    Raises:
        ValueError: the text is not a timestamp.
    """
    if text in {"infinity", "-infinity"}:
        return (INFINITY_MICROS if text == "infinity" else -INFINITY_MICROS) * 1000, 0
    match = _TIMESTAMP_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a timestamp")
    nanos = _days(match) * DAY_NANOS
    if match["hour"] is not None:
        nanos += _nanos(match)
    return nanos, _offset(match["offset"])


def parse_iso(text: str) -> tuple[int, int | None] | None:
    """Parse a timestamp or date like `parse_timestamp`, but only in the ISO form that all engines read alike; None for other strings."""
    if not _ISO.fullmatch(text):
        return None
    try:
        return parse_timestamp(text)
    except ValueError:
        return None


def _days(match: re.Match[str]) -> int:
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if match["bc"]:
        year = 1 - year
    if not 1 <= month <= 12 or civil_from_days(days_from_civil(year, month, day)) != (year, month, day):
        raise ValueError(f"{match[0]!r} is not a date of the calendar")
    return days_from_civil(year, month, day)


def _nanos(match: re.Match[str]) -> int:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second or fraction)):
        raise ValueError(f"{match[0]!r} is not a time of the day")
    return (hour * 3600 + minute * 60 + second) * 1_000_000_000 + fraction


def _offset(text: str | None) -> int | None:
    if text is None:
        return None
    if text.upper() in {"Z", "UTC"}:
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return -seconds if text[0] == "-" else seconds


def python_datetime(text: str) -> datetime:
    """Return a timestamp that a user wrote, with a zone if the text has one. Python before 3.11 reads fewer forms than Spark does.

    Raises:
        ValueError: the text is not a timestamp.
    """
    text = text.strip()
    if re.match(r"\d+-\d+-\d+[^\d\sT]", text):  # Python takes the sign of a zone for the separator of a time
        raise ValueError(f"{text!r} is not a timestamp")
    if ":" in text:
        text = re.sub(r"([+-]\d\d)$", r"\1:00", re.sub(r"\s*(Z|UTC)$", "+00:00", text))
    text = re.sub(r"\.(\d{1,6})\d*", lambda found: "." + found.group(1).ljust(6, "0"), text)
    return datetime.fromisoformat(text)
