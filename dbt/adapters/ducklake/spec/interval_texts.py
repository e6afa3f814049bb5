"""Intervals: months, days and microseconds, from the texts that catalog databases give and in the text that DuckDB prints.

Specification: "Data Types" (interval). DuckDB prints `1 year 2 months 3 days 04:05:06.7`; inlined structs hold
`14 months 3 days 0 microseconds`, PostgreSQL prints `1 year 2 mons 3 days 04:05:06.7` and a plus sign after a negative part.
"""

from __future__ import annotations

import re

_PART = re.compile(r"([+-]?\d+)\s*(year|mon|month|week|day|hour|minute|second|millisecond|microsecond)s?\b", re.IGNORECASE)
_CLOCK = re.compile(r"([+-]?)(\d+):(\d{2})(?::(\d{2})(?:\.(\d{1,6})\d*)?)?")
_MONTHS = {"year": 12, "mon": 1, "month": 1}
_DAYS = {"week": 7, "day": 1}
_MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000, "microsecond": 1}


def parse_interval(text: str) -> tuple[int, int, int]:
    """(months, days, microseconds).

    Raises:
        ValueError: the text is no interval.
    """
    months = days = micros = 0
    rest = text.strip()
    while rest:
        if match := _PART.match(rest):
            number, unit = int(match[1]), match[2].lower()
            months += number * _MONTHS.get(unit, 0)
            days += number * _DAYS.get(unit, 0)
            micros += number * _MICROS.get(unit, 0)
        elif match := _CLOCK.match(rest):
            seconds = (int(match[2]) * 60 + int(match[3])) * 60 + int(match[4] or 0)
            clock = seconds * 1_000_000 + int((match[5] or "").ljust(6, "0"))
            micros += -clock if match[1] == "-" else clock
        else:
            raise ValueError(f"{text!r} is not an interval")
        rest = rest[match.end() :].strip()
    return months, days, micros


def interval_text(months: int, days: int, micros: int) -> str:
    """As DuckDB prints it."""
    years, months = (abs(months) // 12 * (1 if months >= 0 else -1), abs(months) % 12 * (1 if months >= 0 else -1))
    parts = [
        f"{number} {unit}{'' if abs(number) == 1 else 's'}"
        for number, unit in ((years, "year"), (months, "month"), (days, "day"))
        if number
    ]
    if micros or not parts:
        seconds, fraction = divmod(abs(micros), 1_000_000)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        parts.append(("-" if micros < 0 else "") + clock + (f".{fraction:06d}".rstrip("0") if fraction else ""))
    return " ".join(parts)
