"""CREATE TEMPORARY VIEW, which is Spark's own statement: what it is called."""

from __future__ import annotations

from ..errors import StatementError
from .tokens import Cursor, Source


def made_temporary_view(text: str) -> str | None:
    """The name of the temporary view that a statement makes or replaces; None if it is another statement, or the view is global."""
    try:
        cursor = Cursor(Source(text))
        cursor.expect("CREATE")
        cursor.accept("OR", "REPLACE")
        if cursor.accept_any("TEMP", "TEMPORARY") is None or not cursor.accept("VIEW"):
            return None
        cursor.accept("IF", "NOT", "EXISTS")
        parts = cursor.parts()
    except StatementError:
        return None
    return parts[0] if len(parts) == 1 else None
