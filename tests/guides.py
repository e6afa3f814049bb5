"""Reads documents for tests: the fenced blocks of docs/guides, by the language and the title that follows it, and an example of CONTRIBUTING.md."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs/guides"
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


def example_strategy() -> str:
    """Return the macros of the incremental strategy that CONTRIBUTING.md adds as an example."""
    (example,) = re.findall(r"^ +```jinja\n(.*?)^ +```$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return textwrap.dedent(example)
