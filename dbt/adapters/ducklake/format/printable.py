"""Text that a terminal shows as it is."""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    """Escape control characters, which a terminal would interpret, except those in `keep`."""
    return "".join(each if each.isprintable() or each in keep else repr(each)[1:-1] for each in text)
