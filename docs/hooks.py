"""Hooks of the documentation site: the pages are the repository's Markdown files, read where they are.

Links between files are written as a code host wants them. Here they become links between pages or, for files that are no page, links to
the source. Fenced blocks with a title, which tests run (```bash once), get the title in the form that the site knows.
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
BESIDE_DOCS = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/shop/README.md": "shop.md",
}
"""Files outside `docs/` that are pages, by their path in the repository, with their path in the site."""

_CODE = re.compile(r"^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)[ ]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<before>\]\()(?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_TITLE = re.compile(r"^```(?P<language>\w+) (?P<title>[^\n={]+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    from mkdocs.structure.files import File  # here, so that a test of the links needs no MkDocs

    for path, uri in BESIDE_DOCS.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links and titles those of the site; the home page needs no navigation beside it."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    here = repository_path(page.file.src_uri)
    pages = {repository_path(file.src_uri): file.src_uri for file in files}
    return titled(linked(markdown, here, pages, f"{config.repo_url}/blob/main/"))


def repository_path(uri: str) -> str:
    """The path in the repository of a file of the site."""
    outside = {site: path for path, site in BESIDE_DOCS.items()}
    return outside.get(uri, f"docs/{uri}")


def linked(markdown: str, here: str, pages: Mapping[str, str], source: str) -> str:
    """Rewrite links between files of the repository.

    Args:
        markdown: the text of a page.
        here: the page's path in the repository.
        pages: files of the site: the path in the repository, and the path in the site.
        source: the address below which the files of the repository are found.

    Returns:
        The text with links to pages of the site where there is one, else to the source.
    """
    folder = posixpath.dirname(pages[here])

    def target(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), match["path"]))
        found = pages.get(path) or pages.get(f"{path}/README.md")
        new = posixpath.relpath(found, folder or ".") if found else source + path
        return f"{match['before']}{new}{match['anchor'] or ''}"

    return _outside_code(markdown, lambda text: _LINK.sub(target, text))


def titled(markdown: str) -> str:
    """Titles of fenced blocks, as the site's Markdown wants them."""
    return _TITLE.sub(r'```\g<language> title="\g<title>"', markdown)


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Apply a change to what is not code."""
    parts, end = [], 0
    for match in _CODE.finditer(markdown):
        parts += [change(markdown[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(markdown[end:])])
