"""Names in the two dialects that meet in a lake: which are the same, and how they and texts are quoted."""

from __future__ import annotations

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_FOLDED = str.maketrans(_UPPER, _LOWER)


def fold(name: str) -> str:
    """What two names have in common that DuckDB takes for one: the name with the letters A to Z in lower case.

    Other letters keep their case, so that `Ä` and `ä`, or `straße` and `strasse`, stay two names.
    """
    return name.lower() if name.isascii() else name.translate(_FOLDED)


def backquoted(name: str) -> str:
    """An identifier in Spark's quotes."""
    return "`" + name.replace("`", "``") + "`"


def double_quoted(name: str) -> str:
    """An identifier in DuckDB's quotes, which are the SQL standard's."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text as a string literal of Spark SQL, where a backslash escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
