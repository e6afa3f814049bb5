"""Translates PostgreSQL syntax in the fixtures of dbt's adapter test suite to Spark's."""

from __future__ import annotations

import re
from typing import Any, TypeVar

Texts = TypeVar("Texts")

_TYPES = {
    r"timestamp without time zone": "timestamp_ntz",
    r"timestamp(?=\s*[,)\n])": "timestamp_ntz",
    r"text": "string",
    r"int4": "int",
    r"float8": "double",
}
_TOKEN = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<name>\"[A-Za-z_][A-Za-z0-9_ -]*\")|(?P<type>\b(?:" + "|".join(_TYPES) + r")\b)", re.IGNORECASE
)


def in_spark(value: Texts) -> Texts:
    """Translate types and quoted names in a text, or in each text of a dictionary or list, to Spark's dialect, except in literals."""
    converted: Texts = _converted(value)
    return converted


def _converted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _converted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_converted(inner) for inner in value]
    return _TOKEN.sub(_translated, value) if isinstance(value, str) else value


def _translated(match: re.Match[str]) -> str:
    if match["name"]:
        return "`" + match["name"][1:-1] + "`"
    if match["type"]:
        return next(spark for postgres, spark in _TYPES.items() if re.fullmatch(postgres.partition("(")[0], match["type"], re.IGNORECASE))
    return match.group()
