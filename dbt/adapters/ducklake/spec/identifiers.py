"""Quoting names and texts for the two dialects that meet in a lake."""

from __future__ import annotations


def backquoted(name: str) -> str:
    """An identifier in Spark's quotes."""
    return "`" + name.replace("`", "``") + "`"


def double_quoted(name: str) -> str:
    """An identifier in DuckDB's quotes, which are the SQL standard's."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text as a string literal of Spark SQL, where a backslash escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
