"""The repositories that acceptance tests run: how they are checked out, and that the documentation has their commits."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.checkouts import JAFFLE_SHOP, PACKAGES, Checkout
from tests.acceptance.package_cases import CASES

PAGE = Path(__file__).parents[2] / "docs/packages.md"
ADDRESS = re.compile(r"\(https://github\.com/([\w-]+/[\w-]+)\)[^`]*`([0-9a-f]{7})`")
"""A link to a repository, and the commit that follows it."""


def git(folder: Path, *arguments: str) -> str:
    user = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", "-C", str(folder), *user, *arguments], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two commits of a repository that git reads in place of https://github.com/owner/shop."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet")
    found = []
    for text in ("first", "second"):
        (origin / "file").write_text(text, encoding="utf-8")
        git(origin, "add", "file")
        git(origin, "commit", "--quiet", "-m", text)
        found.append(git(origin, "rev-parse", "HEAD"))
    for name, value in {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{origin}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/owner/shop",
    }.items():
        monkeypatch.setenv(name, value)
    return found


def test_a_checkout_is_brought_to_its_commit(commits: list[str], tmp_path: Path) -> None:
    file = tmp_path / "all/shop/file"
    assert Checkout("owner/shop", commits[0]).update(tmp_path / "all")
    assert file.read_text(encoding="utf-8") == "first"
    assert Checkout("owner/shop", commits[1]).update(tmp_path / "all")
    assert file.read_text(encoding="utf-8") == "second"


def test_a_checkout_at_its_commit_is_not_fetched_again(commits: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, file = Checkout("owner/shop", commits[0]), tmp_path / "all/shop/file"
    checkout.update(tmp_path / "all")
    file.write_text("changed", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{tmp_path}/nowhere.insteadOf")
    assert not checkout.update(tmp_path / "all")
    assert file.read_text(encoding="utf-8") == "first"
    with pytest.raises(subprocess.CalledProcessError):
        Checkout("owner/shop", commits[1]).update(tmp_path / "all")


def test_the_page_has_the_commits_that_are_tested() -> None:
    declared = {(each.repository, each.commit[:7]) for each in (*PACKAGES.values(), JAFFLE_SHOP)}
    assert set(ADDRESS.findall(PAGE.read_text(encoding="utf-8"))) == declared


def test_the_page_has_the_results_that_the_tests_expect() -> None:
    cells = [line.strip("| ").split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    documented = {
        name: (row[2].strip(" `"), row[3].split(",")[0].strip(), row[4].strip())
        for row in cells
        if (name := row[0][1:].split("]")[0]) in CASES
    }
    assert documented == {
        name: (case.target_type or "", str(case.passed), "" if case.views is None else f"{case.views} of {case.views + len(case.unread)}")
        for name, case in CASES.items()
    }
