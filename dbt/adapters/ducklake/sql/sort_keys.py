"""Parse the keys of SORTED BY in CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from .tokens import Cursor
from .values import SortKey


def sort_keys(group: Cursor) -> tuple[SortKey, ...]:
    """Parse the list of SORTED BY (…): `expression [ASC | DESC] [NULLS FIRST | NULLS LAST], …`."""
    keys = []
    for item in group.items():
        expression = item.upto(("ASC", "DESC", "NULLS")).text
        if not expression:
            raise item.error("a column or an expression to sort by was expected")
        direction = item.accept_any("ASC", "DESC") or "ASC"
        nulls = "LAST"
        if item.accept("NULLS"):
            nulls = item.accept_any("FIRST", "LAST") or ""
            if not nulls:
                raise item.error("FIRST or LAST was expected")
        item.finish()
        keys.append(SortKey(expression, direction, f"NULLS_{nulls}"))
    if not keys:
        raise group.error("a column or an expression to sort by was expected")
    return tuple(keys)
