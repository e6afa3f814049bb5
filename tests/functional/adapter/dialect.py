"""Translates the PostgreSQL syntax in the suite's fixtures to Spark's."""

from __future__ import annotations

import re
from typing import TypeVar

Texts = TypeVar("Texts", str, dict[str, object], list[object])

_WORDS = {
    r"timestamp without time zone": "timestamp_ntz",
    r"timestamp(?=\s*[,)\n])": "timestamp_ntz",
    r"text": "string",
    r"int4": "int",
    r"float8": "double",
}
_TOKEN = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<name>\"[A-Za-z_][A-Za-z0-9_ -]*\")|(?P<word>\b(?:" + "|".join(_WORDS) + r")\b)", re.IGNORECASE
)


def in_spark(value: Texts) -> Texts:
    """Translate types and quoted names in a text, or in each text of a dictionary or list, to Spark's dialect, except in literals."""
    if isinstance(value, dict):
        return {key: in_spark(inner) for key, inner in value.items()}  # type: ignore[misc,type-var]
    if isinstance(value, list):
        return [in_spark(inner) for inner in value]  # type: ignore[misc,type-var]
    return _TOKEN.sub(_translated, value) if isinstance(value, str) else value


def _translated(match: re.Match[str]) -> str:
    if match["name"]:
        return "`" + match["name"][1:-1] + "`"
    if match["word"]:
        return next(ours for theirs, ours in _WORDS.items() if re.fullmatch(theirs.partition("(")[0], match["word"], re.IGNORECASE))
    return match.group()
