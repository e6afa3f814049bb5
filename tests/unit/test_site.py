"""The documentation: the site has every page, links lead to pages, pages agree with the code, and a release has a changelog section."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.credentials import RETRY_FIELDS, DuckLakeCredentials
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "dbt/adapters/ducklake"
MODULE = re.compile(r"`((?:\w+/)+\w+\.py)`")
"""A module of the package, such as `lake/merge.py`. A name without a folder is not matched, because it can be any file."""
PROFILE = DOCS / "profile.md"
VERSIONS = DOCS / "versions.md"
CONSTRAINT_NAMES = {"DuckDB, with its `ducklake` extension": "duckdb"}
"""Name on the versions page → name in `constraints.txt`, if they differ in more than case."""


def rows(page: Path) -> list[list[str]]:
    """Return the rows of all tables of a page, each as the texts of its cells."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines]


def load_module(path: Path) -> ModuleType:
    """Load a Python file outside the package as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- the site ------------------------------------------------------------------------------------------------------------------------


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages - set(re.findall(r"[\w/-]+\.md", navigation)) == set()


def test_modules_that_pages_name_exist() -> None:
    pages = [*DOCS.rglob("*.md"), ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
    named = {name for page in pages for name in MODULE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 60
    assert [name for name in sorted(named) if not (ROOT / name).exists() and not (PACKAGE / name).exists()] == []


def test_links_between_files_become_links_between_pages() -> None:
    site = load_module(DOCS / "hooks.py")
    pages = {"README.md": "index.md", "docs/profile.md": "profile.md", "docs/configs/README.md": "configs/README.md"}
    text = "[a](docs/profile.md#spark) [b](docs/configs) [c](Makefile) [d](https://x.y/z) [e](#f) `[g](docs/profile.md)`"
    assert site.linked(text, "README.md", pages, "https://host/blob/main/") == (
        "[a](profile.md#spark) [b](configs/README.md) [c](https://host/blob/main/Makefile) [d](https://x.y/z) [e](#f) `[g](docs/profile.md)`"
    )
    assert site.linked("[`a`](../../README.md#x)", "docs/configs/README.md", pages, "") == "[`a`](../index.md#x)"
    assert site.linked("[a](docs/profile.md) [c](Makefile)", "README.md", pages, None) == "[a](profile.md) [c](Makefile)"


def test_the_words_after_the_language_of_a_code_block_become_its_title() -> None:
    assert load_module(DOCS / "hooks.py").titled("```bash every night\ndbt\n```") == '```bash title="every night"\ndbt\n```'


# -- the pages -----------------------------------------------------------------------------------------------------------------------


def test_the_profile_page_has_every_field() -> None:
    named = {name for row in rows(PROFILE) for name in re.findall(r"`([\w.]+)`", row[0])}
    top_level = {field.name for field in fields(DuckLakeCredentials)} - {"retries", "spark", "_extra"}
    spark = {f"spark.{field.name}" for field in fields(SparkSettings)}
    assert named >= top_level | {f"retries.{name}" for name in RETRY_FIELDS} | spark
    assert named - spark - top_level - {f"retries.{name}" for name in RETRY_FIELDS} == {"type", "threads"}


def test_the_page_on_attached_lakes_has_every_field() -> None:
    named = {name for row in rows(DOCS / "attach.md") for name in re.findall(r"`([\w.]+)`", row[0])}
    assert named >= {field.name for field in fields(CatalogSettings)} - {"database"} | {"alias"}


def test_the_versions_page_agrees_with_the_constraints() -> None:
    constraints = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE))
    tested = {name.lower(): version for name, version in constraints.items()}
    found = {row[0]: row[1] for row in rows(VERSIONS) if CONSTRAINT_NAMES.get(row[0], row[0].lower()) in tested}
    assert len(found) > 8
    assert {name: tested[CONSTRAINT_NAMES.get(name, name.lower())] for name in found} == found


def test_the_versions_page_agrees_with_the_minimum_versions() -> None:
    dependencies = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("\ndependencies = [")[2].partition("\n]")[0]
    minimums = {name.lower(): bound for name, bound in re.findall(r"([\w-]+)>=([\d.]+)", dependencies)}
    shown = {row[0].lower(): row[2] for row in rows(VERSIONS) if row[0].lower() in minimums}
    assert set(shown) == set(minimums)
    assert [name for name, text in shown.items() if not re.match(rf"{re.escape(minimums[name])}(\.0)? or newer", text)] == []


# -- the release ---------------------------------------------------------------------------------------------------------------------


def test_a_release_needs_its_version_in_the_tag_and_in_the_changelog_and_public_addresses(tmp_path: Path) -> None:
    module = load_module(ROOT / ".ci/check_release.py")
    (tmp_path / "dbt/adapters/ducklake").mkdir(parents=True)
    (tmp_path / "dbt/adapters/ducklake/__version__.py").write_text('version = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n")
    (tmp_path / "pyproject.toml").write_text("[project.urls]\n")
    (tmp_path / "mkdocs.yml").write_text("repo_url: https://host/project\n")
    (tmp_path / "README.md").write_text("[a](https://host/a) [b](#b)\n")
    assert module.disagreements("v1.2.3", tmp_path) == []
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n")
    assert len(module.disagreements("v1.2.4", tmp_path)) == 2
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: project\n")
    (tmp_path / "README.md").write_text("[a](docs/a.md) ![b](docs/b.png)\n")
    *_, urls, repository, links = module.disagreements("v1.2.4", tmp_path)
    assert (urls, repository) == ("pyproject.toml has no [project.urls]", "mkdocs.yml has no repo_url")
    assert "2 relative links" in links
