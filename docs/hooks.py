"""Hooks of the documentation site, whose pages are the Markdown files of the repository.

The files link to each other by their paths in the repository. The hooks turn these links into links between pages. Fenced blocks with a
title (```bash once), which tests run, get the title in the syntax of the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES_OUTSIDE_DOCS = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/shop/README.md": "shop.md",
}
"""The pages outside `docs/`: path in the repository → path in the site."""

_CODE = re.compile(r"^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)[ ]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<before>\]\()(?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_TITLE = re.compile(r"^```(?P<language>\w+) (?P<title>[^\n={]+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    from mkdocs.structure.files import File  # imported late, so that the test of the links needs no MkDocs

    for path, uri in PAGES_OUTSIDE_DOCS.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links and titles of a page; the home page gets no navigation column."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    path = repository_path(page.file.src_uri)
    pages = {repository_path(file.src_uri): file.src_uri for file in files}
    return titled(linked(markdown, path, pages, f"{config.repo_url}/blob/main/" if config.repo_url else None))


def repository_path(uri: str) -> str:
    """Return the path in the repository of a file of the site."""
    outside = {site: path for path, site in PAGES_OUTSIDE_DOCS.items()}
    return outside.get(uri, f"docs/{uri}")


def linked(markdown: str, path: str, pages: Mapping[str, str], source: str | None) -> str:
    """Rewrite links between files of the repository.

    Args:
        markdown: the text of a page.
        path: the path of the page in the repository.
        pages: path in the repository → path in the site, of each file of the site.
        source: the URL below which the repository is published, if it is.

    Returns:
        The text with links to pages of the site. A link to any other file leads to `source`; without one it stays as it is, and the
        strict build fails.
    """
    folder = posixpath.dirname(pages[path])

    def target(match: re.Match[str]) -> str:
        linked_path = posixpath.normpath(posixpath.join(posixpath.dirname(path), match["path"]))
        found = pages.get(linked_path) or pages.get(f"{linked_path}/README.md")
        if not found and source is None:
            return match[0]
        new = posixpath.relpath(found, folder or ".") if found else f"{source}{linked_path}"
        return f"{match['before']}{new}{match['anchor'] or ''}"

    return _outside_code(markdown, lambda text: _LINK.sub(target, text))


def titled(markdown: str) -> str:
    """Write the titles of fenced blocks in the syntax of the site."""
    return _TITLE.sub(r'```\g<language> title="\g<title>"', markdown)


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Apply a change to the text outside code."""
    parts, end = [], 0
    for match in _CODE.finditer(markdown):
        parts += [change(markdown[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(markdown[end:])])
