"""The snapshot that `snapshot_version` and `snapshot_time` of profiles, entries of `attach` and sources specify."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

from .format.timestamps import python_datetime


@dataclass(frozen=True)
class Pin:
    """A snapshot by its number or by a timestamp, never both; with neither, nothing is pinned."""

    version: int | None = None
    time: datetime | None = None

    def __bool__(self) -> bool:
        return self.version is not None or self.time is not None


def pin(version: Any, time: Any) -> Pin:
    """Return the snapshot that two values from YAML, Jinja or an environment variable specify; "none" and "" mean not set.

    Raises:
        ValueError: both are set, or one does not specify a snapshot; the message says which form is expected.
    """
    version, time = (value if is_set(value) else None for value in (version, time))
    if version is not None and time is not None:
        raise ValueError("`snapshot_version` and `snapshot_time` cannot be used together; remove one of them")
    if version is not None and not re.fullmatch(r"\d+", str(version).strip()):
        raise ValueError(f"`snapshot_version` must be the number of a snapshot, not {version!r}")
    try:
        return Pin(None if version is None else int(version), None if time is None else _timestamp(time))
    except ValueError:
        raise ValueError(f"`snapshot_time` must be a timestamp, such as '2026-01-31 12:00:00+00:00', not {time!r}") from None


def is_set(value: Any) -> bool:
    """Whether a value from YAML, Jinja or an environment variable is neither "none" nor empty."""
    return str(value).strip().lower() not in ("", "none")


def _timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        timestamp = value
    elif isinstance(value, date):
        timestamp = datetime(value.year, value.month, value.day)
    else:
        timestamp = python_datetime(str(value))
    return timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=timezone.utc)
