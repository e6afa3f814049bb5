"""Everything that the documentation points to exists: tests in docs/compatibility.md, files and headings behind links, packages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.acceptance.hadoop_jars import EXCLUDED, hadoop_version, packages

ROOT = Path(__file__).parents[2]
COMPATIBILITY = ROOT / "docs/compatibility.md"
PAGES = sorted(
    page
    for folder in ("", "docs", "docs/configs", "docs/configs/strategies", "docs/guides", "docs/decisions", "examples/shop", "benchmarks")
    for page in (ROOT / folder).glob("*.md")
)

_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
_LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]+)?\)")


def _rows() -> list[str]:
    lines = COMPATIBILITY.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith(("| feature", "| ---"))]


def test_every_row_of_the_compatibility_table_names_a_test() -> None:
    rows = _rows()
    assert len(rows) > 30
    without = [row for row in rows if not _TEST.search(row.rsplit("|", 2)[-2])]
    assert not without


def test_the_tests_that_the_compatibility_table_names_exist() -> None:
    missing = []
    for row in _rows():
        for path, name in _TEST.findall(row):
            file = ROOT / path
            if not file.exists() or (name and not re.search(rf"(def|class) {name}\b", file.read_text(encoding="utf-8"))):
                missing.append(f"{path}::{name}")
    assert not missing


def test_the_packages_for_object_stores_are_those_of_the_tests() -> None:
    page = (ROOT / "docs/object-storage.md").read_text(encoding="utf-8")
    (profile,) = [block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "spark.jars.packages" in block]
    config = yaml.safe_load(profile)["spark"]["config"]
    assert config == {"spark.jars.packages": ",".join(packages(hadoop_version())), "spark.jars.excludes": EXCLUDED}


def _anchor(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    broken = []
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        other = page.parent / target if target else page
        if not other.exists():
            broken.append(target)
        elif anchor and other.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            if anchor[1:] not in map(_anchor, headings):
                broken.append(target + anchor)
    assert not broken
