"""Format numbers, sizes and times for people."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def number(value: float) -> str:
    """Return a count with separators: `1,234`."""
    return f"{value:,.0f}"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `2 files`."""
    return f"{number(count)} {noun}" + ("" if count == 1 else "s")


def size(value: float) -> str:
    """Return bytes in decimal units: `1.5 MB`."""
    unit = 0
    while abs(value) >= 999.95 and unit < len(_UNITS) - 1:
        value /= 1000
        unit += 1
    text = f"{value:,.0f}" if unit == 0 or abs(value) >= 100 else f"{value:.1f}".removesuffix(".0")
    return f"{text} {_UNITS[unit]}"


def percent(fraction: float) -> str:
    """Return a fraction of one as a percentage. A small one that is not zero is `<0.1%`, never `0%`."""
    value = fraction * 100
    if 0 < value < 0.1:
        return "<0.1%"
    return f"{value:.1f}".removesuffix(".0") + "%"


def timestamp(time: datetime | None) -> str:
    """Return a timestamp in UTC to the minute."""
    return "unknown" if time is None else time.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M")


def duration(seconds: float) -> str:
    """Return a duration given in seconds: `0.4 s`, `12 s`, `3 min`, `2 h`, `5 days`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86400:,.0f} days"


def age(time: datetime | None, now: datetime) -> str:
    """Return how long ago a time was."""
    return "unknown" if time is None else duration((now - time) / timedelta(seconds=1)) + " ago"


def short(text: str, length: int) -> str:
    """Truncate a string to a length."""
    return text if len(text) <= length else text[: length - 1] + "…"
