"""Runs the cases of `package_cases.py`: which nodes succeed, which views DuckDB can read, which macros for Databricks are called."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import yaml  # type: ignore[import-untyped]

from tests.acceptance.checkouts import PACKAGES
from tests.acceptance.package_cases import Case
from tests.acceptance.projects import Project

RECORDED = (sys.executable, str(Path(__file__).with_name("macro_calls.py")), "calls.txt")
"""The command line of dbt that writes which macros it calls."""


def checkout(package: str) -> Path:
    """Return the folder of a package."""
    folder = Path(os.environ["DBT_PACKAGES"], PACKAGES[package].name)
    assert folder.is_dir(), f"There is no {folder}: run `make packages PACKAGES={folder.parent}`"
    return folder


def copy(source: Path, target: Path) -> None:
    """Copy a project without the packages that `dbt deps` would fetch, and without the projects of its tests."""
    left_out = {".git", "packages.yml", "package-lock.yml", "profiles.yml", "integration_tests", "integration-tests"}

    def ignored(folder: str, names: list[str]) -> set[str]:
        return left_out & set(names) if Path(folder) == source else set()

    shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)


def run(project: Project, case: Case, tests: Path | None = None) -> tuple[int, set[str]]:
    """Run a case. Return how many nodes of the last command succeeded, and the names of those that failed.

    Args:
        project: an empty project.
        case: what to run.
        tests: the folder of the project; by default that of the package's tests.
    """
    package = checkout(case.package)
    copy(package / case.tests if tests is None else tests, project.folder)
    for name in (case.package, *case.needs):
        copy(checkout(name), project.folder / "dbt_packages" / name)
    for name, folder in case.extra.items():
        copy(package.parent / folder, project.folder / "dbt_packages" / name)
    if case.macros:
        macros = project.folder / "macros"
        macros.mkdir(exist_ok=True)
        (macros / "of_the_case.sql").write_text(case.macros)
    file = project.folder / "dbt_project.yml"
    settings = yaml.safe_load(file.read_text())
    for kind in ("test", "seed", "model"):
        for folder in settings.get(f"{kind}-paths", [f"{kind}s"]):
            (project.folder / folder).mkdir(exist_ok=True)
    changes = dict(case.settings)
    replaced = changes.pop("dispatch", [])
    names = [entry["macro_namespace"] for entry in replaced]
    settings["dispatch"] = [entry for entry in settings.get("dispatch", []) if entry["macro_namespace"] not in names] + replaced
    file.write_text(yaml.safe_dump(merged(settings, changes)))
    output = project.ducklake(case.schema, threads=4) | ({"target_type": case.target_type} if case.target_type else {})
    project.write_profiles(settings["profile"], {"ours": output}, target="ours")
    *before, last = case.commands
    for command in before:
        project.dbt(*command, program=RECORDED)
    results = project.folder / "target" / "run_results.json"
    results.unlink(missing_ok=True)
    try:
        project.dbt(*last, program=RECORDED)
    except AssertionError:  # Nodes may fail; the results name them. There are no results if dbt itself failed.
        if not results.exists():
            raise
    found = json.loads(results.read_text())["results"]
    manifest = json.loads((project.folder / "target" / "manifest.json").read_text())
    nodes, unit_tests = manifest["nodes"], manifest["unit_tests"]
    failed = {result["unique_id"] for result in found if result["status"] in ("error", "fail")}
    untested = {unit_tests[each]["model"] for each in failed & set(unit_tests)}
    # After a failure dbt skips those unit tests of the model that have not begun, in any order, so they count as one.
    passed = [
        result["unique_id"]
        for result in found
        if result["status"] in ("success", "pass", "warn") and unit_tests.get(result["unique_id"], {}).get("model") not in untested
    ]
    return len(passed), {nodes[each]["name"] for each in failed - set(unit_tests)} | {f"unit tests of {model}" for model in untested}


def views_in_duckdb(project: Project) -> tuple[int, dict[str, str]]:
    """Return how many views of the lake DuckDB reads, and its errors for the others, by their names."""
    errors = {}
    with project.attach() as connection:
        views = connection.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'lake'").fetchall()
        for schema, name in views:
            try:
                connection.execute(f'SELECT * FROM lake."{schema}"."{name}"').to_arrow_table()
            except duckdb.Error as error:
                errors[name] = str(error)
    return len(views) - len(errors), errors


def uncalled(project: Project, package: str) -> set[str]:
    """Return the names of the package's macros for Databricks that no command of the project has called, or only with an error."""
    macros = json.loads((project.folder / "target" / "manifest.json").read_text())["macros"].values()
    called = set((project.folder / "calls.txt").read_text().split())
    return {
        each["name"].removeprefix("databricks__")
        for each in macros
        if each["package_name"] == package and each["name"].startswith("databricks__") and each["unique_id"] not in called
    }


def merged(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with changes, maps within maps too."""
    inner = {key: merged(settings.get(key) or {}, value) if isinstance(value, Mapping) else value for key, value in changes.items()}
    return {**settings, **inner}
