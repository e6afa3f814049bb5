"""Find the Spark setting that a SET or RESET statement changes, by the rules of Spark's parser."""

from __future__ import annotations

import re
from typing import NamedTuple

from .tokens import SKIPPED

TIME_ZONE = "spark.sql.session.timeZone"
"""The setting that SET TIME ZONE changes."""

_STATEMENT = re.compile(rf"{SKIPPED}(?P<verb>SET|RESET)\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_VARIABLE = re.compile(rf"{SKIPPED}(?:VAR|VARIABLE)\b(?!\s*[.=:])|\s*\(", re.IGNORECASE)
_ZONE = re.compile(rf"{SKIPPED}TIME{SKIPPED}ZONE\b(?P<value>.*)", re.IGNORECASE | re.DOTALL)
_KEY = r"(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[\w.:\\]+))"
_ASSIGNMENT = re.compile(rf"{SKIPPED}{_KEY}{SKIPPED}=(?P<value>\s*`(?:[^`]|``)*`\s*|[^;]*);*\s*", re.DOTALL)
_RESET_KEY = re.compile(rf"{SKIPPED}{_KEY}{SKIPPED};*\s*", re.DOTALL)
_QUOTED_VALUE = re.compile(r"`((?:[^`]|``)*)`")


class SettingChange(NamedTuple):
    """A change of a setting. `key` None: every setting of the session; `value` None: back to the value that Spark started with."""

    key: str | None
    value: str | None


def changed_setting(text: str) -> SettingChange | None:
    """Return the change that a SET or RESET statement makes.

    Returns:
        None for any other statement, and for a SET that only shows settings (`SET`, `SET -v`, `SET key`) or sets an SQL variable.
    """
    statement = _STATEMENT.fullmatch(text)
    if statement is None:
        return None
    rest = statement["rest"]
    if statement["verb"].upper() == "RESET":
        found = _RESET_KEY.fullmatch(rest)
        return SettingChange(None if found is None else _key(found), None)
    if _VARIABLE.match(rest):
        return None
    zone = _ZONE.fullmatch(rest)
    if zone is not None and not zone["value"].lstrip().startswith("="):
        return SettingChange(TIME_ZONE, zone["value"].strip().rstrip(";").strip())
    found = _ASSIGNMENT.fullmatch(rest)
    return None if found is None else SettingChange(_key(found), _value(found["value"]))


def _key(found: re.Match[str]) -> str:
    quoted: str | None = found["quoted"]
    return quoted.replace("``", "`") if quoted is not None else str(found["plain"])


def _value(text: str) -> str:
    value = text.strip()
    quoted = _QUOTED_VALUE.fullmatch(value)
    return quoted[1].replace("``", "`") if quoted else value
