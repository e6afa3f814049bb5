"""Reads the guides in docs/guides for tests: their fenced blocks, identified by the language and the title that follows it."""

from __future__ import annotations

import re
from pathlib import Path

GUIDES = Path(__file__).parents[1] / "docs/guides"
_BLOCK = re.compile(r"^```(\w+) ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(guide: str, language: str, title: str) -> str:
    """Return the only block of a guide with that language and title."""
    (found,) = (
        text
        for kind, name, text in _BLOCK.findall((GUIDES / f"{guide}.md").read_text(encoding="utf-8"))
        if (kind, name) == (language, title)
    )
    return str(found)


def titles(guide: str) -> set[tuple[str, str]]:
    """Return (language, title) of every block that has a title."""
    return {(kind, name) for kind, name, _ in _BLOCK.findall((GUIDES / f"{guide}.md").read_text(encoding="utf-8"))}
