"""Check before a release that tag, version and changelog agree, and that PyPI can show the addresses and links of the project.

    python .ci/check_release.py v0.1.0

Exits with a message for each disagreement.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def disagreements(tag: str, root: Path = ROOT) -> list[str]:
    """Find the reasons why a tag must not be released.

    Args:
        tag: the tag, such as `v0.1.0`.
        root: the checkout.

    Returns:
        One sentence for each disagreement; empty if there is none.
    """
    version = _found(r'version\s*=\s*"([^"]+)"', root / "dbt/adapters/ducklake/__version__.py")
    released = re.findall(r"^## \[?([^\]\s]+)\]? - \d{4}-\d{2}-\d{2}$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, the version is {version}")
    if version not in released:
        found.append(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    if not re.search(r"^\[project\.urls\]$", (root / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE):
        found.append("pyproject.toml has no [project.urls]")
    if not re.search(r"^repo_url:", (root / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE):
        found.append("mkdocs.yml has no repo_url")
    links = re.findall(r"\]\((?!https?://|#)([^)\s]+)", (root / "README.md").read_text(encoding="utf-8"))
    if links:
        found.append(f"README.md has {len(links)} relative links, which PyPI cannot follow, such as {links[0]}")
    return found


def _found(pattern: str, path: Path) -> str:
    match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        sys.exit(f"{path}: nothing matches {pattern}")
    return match[1]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if problems := disagreements(sys.argv[1]):
        sys.exit("\n".join(problems))
