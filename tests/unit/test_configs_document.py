"""docs/configs has a page for each materialization and strategy, with every config that the macros and the adapter read, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from dbt.artifacts.resources import NodeConfig, SeedConfig, SnapshotConfig, TestConfig

from dbt.adapters.ducklake.foreign_configs import ACCESS_CONFIGS, IGNORED_CONFIGS, access_refusal, config_warnings
from dbt.adapters.ducklake.impl import DuckLakeAdapter, DuckLakeConfig
from dbt.adapters.ducklake.merge_fields import MERGE_CONFIGS, effects

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/configs"
PAGES = sorted(FOLDER.rglob("*.md"))
SHARED = FOLDER / "README.md"
MACROS = ROOT / "dbt/include/ducklake/macros"
NO_MACRO_OF_OURS = {"ephemeral", "python", "source"}
"""Pages without a macro of ours: two materializations of dbt, and sources."""
HEADINGS = ("Configs", "Another run", "Errors")
READ = re.compile(r"""\bconfig\.get\(\s*['"](\w+)['"]""")
BY_FUNCTION = {
    "should_full_refresh()": ["full_refresh"],
    "should_store_failures()": ["store_failures"],
    "config.persist_relation_docs()": ["persist_docs"],
    "adapter.merge_config_names()": MERGE_CONFIGS,
}
"""Configs that a function of dbt or of the adapter reads or names."""
RENAMED = {"snapshot_table_column_names": "snapshot_meta_column_names"}
"""Configs that dbt passes to macros under another name than the user's."""
OF_SOURCES = {"snapshot_version", "snapshot_time", "external_location", "formatter"}
"""Configs of sources; adapters cannot declare these in dbt."""
OF_DBT = {"batch_size", "incremental_predicates", "predicates", "sql_header", "submission_method", "volatility"}
"""Configs that dbt or dbt-spark reads, too, and that dbt declares nowhere."""
DECLARED_BY_DBT = {field.name for kind in (NodeConfig, SeedConfig, SnapshotConfig, TestConfig) for field in fields(kind)}


@cache
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def documented(*pages: Path) -> list[str]:
    """Return the configs that tables of the pages define, one per row."""
    return [line.split("`")[1] for page in pages for line in text(page).splitlines() if line.startswith("| `")]


def read(*files: Path) -> set[str]:
    """Return the configs that files read; without files, those that macros and adapter read."""
    macros = "".join(map(text, files or sorted(MACROS.rglob("*.sql"))))
    python = ROOT / "dbt/adapters/ducklake"
    adapter = "" if files else "".join(map(text, sorted([*python.glob("*.py"), *python.glob("publishing/*.py")])))
    found = {RENAMED.get(name, name) for name in READ.findall(macros + adapter) if not name.startswith("__dbt_internal")}
    return found | {name for call, names in BY_FUNCTION.items() if call in macros for name in names}


def strategies() -> list[str]:
    return DuckLakeAdapter.valid_incremental_strategies(object.__new__(DuckLakeAdapter))


def page_of(strategy: str) -> Path:
    return FOLDER / "strategies" / f"{strategy.replace('+', '_')}.md"


# -- configs that are read and configs that are documented ---------------------------------------------------------------------------


def test_every_config_is_read_and_documented_once() -> None:
    names = documented(*PAGES)
    assert sorted(names) == sorted(set(names))
    assert set(names) == read()


def test_the_adapter_declares_its_own_configs() -> None:
    assert {field.name for field in fields(DuckLakeConfig)} - {"_extra"} == read() - DECLARED_BY_DBT - OF_DBT - OF_SOURCES


def test_the_page_of_merge_has_every_merge_config_with_its_effect() -> None:
    rows = [line.strip("| ").split(" | ") for line in text(page_of("merge")).splitlines() if line.startswith("| `")]
    assert {name.strip("`"): does for name, _, does in rows} == effects()


def test_configs_without_effect_are_listed() -> None:
    section = text(SHARED).partition("## Configs of other adapters")[2]
    warned, _, refused = section.partition("## Configs of access")
    assert set(re.findall(r"`(\w+)`", warned)) == set(IGNORED_CONFIGS)
    assert set(re.findall(r"`(\w+)`", refused.partition("\n| ")[0])) == set(ACCESS_CONFIGS)
    assert not set(IGNORED_CONFIGS) & read()


@pytest.mark.parametrize("name", IGNORED_CONFIGS)
def test_the_warning_names_the_config_and_the_reason(name: str) -> None:
    (warning,) = config_warnings({name: "x"})
    assert warning == f"The config `{name}` does nothing on a lake: {IGNORED_CONFIGS[name]}."


def test_each_config_without_effect_gives_a_warning_unless_it_has_the_only_possible_value() -> None:
    assert config_warnings({"file_format": "parquet", "indexes": None, "submission_method": "in_process", "unique_key": "id"}) == []
    found = config_warnings(
        {"file_format": "delta", "indexes": ["a"], "buckets": 4, "submission_method": "job_cluster", "materialized": "table"}
    )
    assert [warning.split("`")[1] for warning in found] == ["file_format", "indexes", "submission_method: job_cluster", "clustered_by"]


@pytest.mark.parametrize(
    ("config", "columns", "named"),
    [
        ({"grants": {"select": ["me"]}, "row_filter": {"function": "f"}}, {}, "grants, row_filter"),
        ({"lf_grants": {"x": 1}}, {}, "lf_grants"),
        ({"view_security": "invoker"}, {}, "view_security"),
        ({}, {"a": {}, "b": {"column_mask": {"function": "f"}}}, "column_mask of b"),
        ({}, {"b": {"config": {"column_mask": {"function": "f"}}}}, "column_mask of b"),
    ],
)
def test_a_config_of_access_is_refused(config: dict[str, Any], columns: dict[str, Any], named: str) -> None:
    assert (access_refusal(config, columns) or "").startswith(f"A lake cannot enforce {named}: ")
    assert access_refusal({"grants": {}, "row_filter": None}, {"a": {"column_mask": None}}) is None


def test_a_reaction_to_changed_configs_gives_a_warning() -> None:
    assert config_warnings({"on_configuration_change": "apply"}) == []
    assert "incremental_apply_config_changes" in config_warnings({"on_configuration_change": "fail"})[0]


# -- a page for each -----------------------------------------------------------------------------------------------------------------


def materializations() -> dict[str, Path]:
    """Return each of our materializations with its file."""
    files = (MACROS / "materializations").glob("*.sql")
    found = {name: file for file in files for name in re.findall(r"{% materialization (\w+), adapter='ducklake'", text(file))}
    return {**found, "function": MACROS / "materializations/function.sql"}


def test_each_materialization_and_strategy_has_a_page() -> None:
    assert {page.stem for page in FOLDER.glob("*.md")} - {"README"} == set(materializations()) | NO_MACRO_OF_OURS
    assert set((FOLDER / "strategies").glob("*.md")) == set(map(page_of, strategies()))
    assert all(text(page_of(strategy)).startswith(f"# `{strategy}`\n") for strategy in strategies())


@pytest.mark.parametrize("page", [SHARED, FOLDER / "incremental.md"], ids=lambda page: page.name)
def test_pages_that_list_the_strategies_have_all(page: Path) -> None:
    assert re.findall(r"\[([^\]]+)\]\(strategies/\w+\.md\)", text(page))[: len(strategies())] == strategies()


def test_features_and_readme_have_all_strategies() -> None:
    (row,) = [line for line in text(ROOT / "docs/features.md").splitlines() if line.startswith("| **Incremental strategies**")]
    assert [name for name in strategies() if f"`{name}`" not in row] == []
    numbers = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    assert f"{numbers[len(strategies())]} [incremental strategies]" in text(ROOT / "README.md")


def test_the_index_links_to_every_page() -> None:
    links = {FOLDER / link for link in re.findall(r"\]\(([\w/]+\.md)\)", text(SHARED))}
    assert links == set(PAGES) - {SHARED}


@pytest.mark.parametrize("page", [page for page in PAGES if page != SHARED], ids=lambda page: page.stem)
def test_a_page_has_the_required_headings_and_an_example(page: Path) -> None:
    assert [heading for heading in HEADINGS if f"\n## {heading}\n" not in text(page)] == []
    assert any(configs_of(page))


def test_configs_of_a_materialization_or_strategy_are_on_its_page() -> None:
    pages = {FOLDER / f"{name}.md": file for name, file in materializations().items()}
    pages |= {page_of(name): MACROS / f"materializations/incremental/{page_of(name).name}".replace(".md", ".sql") for name in strategies()}
    shared = set(documented(SHARED))
    missing = {page.stem: {name for name in read(file) - shared if f"`{name}`" not in text(page)} for page, file in pages.items()}
    assert {page: names for page, names in missing.items() if names} == {}


# -- the examples --------------------------------------------------------------------------------------------------------------------


def configs_of(page: Path) -> Iterator[set[str]]:
    """Return the names of configs that each example of a page uses."""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text(page), re.DOTALL | re.MULTILINE):
        match language:
            case "sql":
                calls = jinja2.Environment().parse(block).find_all(jinja2.nodes.Call)
                yield {word.key for call in calls if getattr(call.node, "name", "") == "config" for word in call.kwargs}
            case "yaml":
                yield set(_configs(yaml.safe_load(block)))
            case "python":
                calls_of = [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)]
                yield {str(word.arg) for call in calls_of if ast.unparse(call.func) == "dbt.config" for word in call.keywords}


def _configs(value: Any) -> Iterator[str]:
    """Yield the keys below `config` and the keys with the prefix of a config."""
    for each in value if isinstance(value, list) else []:
        yield from _configs(each)
    for key, below in value.items() if isinstance(value, dict) else []:
        if key == "config":
            yield from below
        elif key.startswith("+"):
            yield key[1:]
        else:
            yield from _configs(below)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_use_only_documented_configs(page: Path) -> None:
    known = set(documented(*PAGES)) | DECLARED_BY_DBT | {"hard_deletes"}  # configs that dbt reads and declares nowhere
    assert {name for names in configs_of(page) for name in names} - known == set()
