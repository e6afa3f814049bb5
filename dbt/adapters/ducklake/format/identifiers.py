"""Identifiers in Spark and DuckDB: which names are equal, and how names and strings are quoted."""

from __future__ import annotations

from collections.abc import Iterable

INFORMATION_SCHEMA = "information_schema"
"""The schema of the views that describe a lake, which its catalog does not list."""
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_FOLDED = str.maketrans(_UPPER, _LOWER)


def fold(name: str) -> str:
    """Lower-case the letters A to Z. Two names are equal in DuckDB if their folded forms are.

    Other letters keep their case, so `Ä` and `ä` are two names, and so are `straße` and `strasse`.
    """
    return name.lower() if name.isascii() else name.translate(_FOLDED)


def spark_fold(name: str) -> str:
    """Lower-case all letters. Spark cannot tell two columns apart if these forms of their names are equal."""
    return name.lower()


def named_twice(columns: Iterable[str]) -> str | None:
    """Return the name of the first column that Spark cannot tell from an earlier one, for a message; None if there is none."""
    seen: dict[str, str] = {}
    for name in columns:
        earlier = seen.get(spark_fold(name))
        if earlier is not None:
            return name if fold(earlier) == fold(name) else f"{name} (Spark cannot tell it from {earlier})"
        seen[spark_fold(name)] = name
    return None


def backquoted(name: str) -> str:
    """Quote an identifier for Spark."""
    return "`" + name.replace("`", "``") + "`"


def without_backquotes(name: str) -> str:
    """Return the identifier that `backquoted` has quoted; a name without backquotes is returned unchanged."""
    return name[1:-1].replace("``", "`") if len(name) > 1 and name[0] == name[-1] == "`" else name


def double_quoted(name: str) -> str:
    """Quote an identifier for DuckDB and standard SQL."""
    return '"' + name.replace('"', '""') + '"'


def spark_literal(text: str) -> str:
    """Return a string literal of Spark SQL, where a backslash escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def duckdb_literal(text: str) -> str:
    """Return a string literal of DuckDB and standard SQL."""
    return "'" + text.replace("'", "''") + "'"
