"""dbt_utils, dbt_date, dbt_expectations and spark_utils: their own integration tests, unchanged, and the known failures with their reasons.

The packages are not part of this repository. Environment variables name the folders of checkouts (docs/packages.md has the results):

    export DBT_UTILS=…/dbt-utils DBT_DATE=…/dbt-date DBT_EXPECTATIONS=…/dbt-expectations SPARK_UTILS=…/spark-utils
    pytest tests/acceptance/test_packages.py
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from tests.acceptance.projects import Project

pytestmark = pytest.mark.slow

OF_DBT_UTILS = {
    "dbt_utils_equality_data_test_equality_floats_a_ref_data_test_equality_floats_b___8":
        "wants two floats to differ in the seventh digit after the package has cast them to dbt's numeric(28,6)",
}  # fmt: skip
KNOWN: dict[str, dict[str, str]] = {
    "dbt_utils": OF_DBT_UTILS
    | {"test_groupby": "SELECT *, count(*) … GROUP BY 1, 2: Spark allows no * beside positions ([STAR_GROUP_BY_POS])"},
    "dbt_date": {},
    "dbt_expectations": {},
    "spark_utils": OF_DBT_UTILS | {"test_recency": "calls dbt_utils.current_timestamp, which dbt_utils 1.0 has removed"},
}
"""Maps each package to its failing nodes with the reasons."""


def checkout(variable: str) -> Path:
    """Return the folder that an environment variable names. Without it the test is skipped."""
    if variable not in os.environ:
        pytest.skip(f"NOT RUN: set {variable} to a checkout of the package")
    return Path(os.environ[variable])


def copy(source: Path, target: Path) -> None:
    """Copy a project without the packages that `dbt deps` would fetch."""
    leave_out = shutil.ignore_patterns(".git", "packages.yml", "package-lock.yml", "integration_tests", "profiles.yml")
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=leave_out)


def build(project: Project, tests: Path, packages: dict[str, Path], dispatch: dict[str, list[str]]) -> tuple[int, set[str]]:
    """Build the project of a package's tests. Return how many of its nodes passed, and the names of those that failed.

    Args:
        tests: The folder of the project.
        packages: The packages that it uses, by name.
        dispatch: Search orders that replace the project's own.
    """
    copy(tests, project.folder)
    for name, source in packages.items():
        copy(source, project.folder / "dbt_packages" / name)
    for folder in ("tests", "data"):
        (project.folder / folder).mkdir(exist_ok=True)
    file = project.folder / "dbt_project.yml"
    settings = yaml.safe_load(file.read_text())
    settings["dispatch"] = [entry for entry in settings.get("dispatch", []) if entry["macro_namespace"] not in dispatch]
    settings["dispatch"] += [{"macro_namespace": name, "search_order": order} for name, order in dispatch.items()]
    file.write_text(yaml.safe_dump(settings))
    project.write_profiles(settings["profile"], {"ours": project.ducklake("packages", threads=4)}, target="ours")
    try:
        project.dbt("build")
    except AssertionError:  # Nodes may fail; the results name them. There are no results if dbt itself failed.
        if not (project.folder / "target" / "run_results.json").exists():
            raise
    results = json.loads((project.folder / "target" / "run_results.json").read_text())["results"]
    nodes = json.loads((project.folder / "target" / "manifest.json").read_text())["nodes"]
    failed = {nodes[result["unique_id"]]["name"] for result in results if result["status"] in ("error", "fail")}
    return sum(result["status"] in ("success", "pass", "warn") for result in results), failed


def test_dbt_utils(project: Project) -> None:
    package = checkout("DBT_UTILS")
    passed, failed = build(project, package / "integration_tests", {"dbt_utils": package}, {})
    assert failed == set(KNOWN["dbt_utils"])
    assert passed >= 235


def test_dbt_date(project: Project) -> None:
    package = checkout("DBT_DATE")
    passed, failed = build(project, package / "integration_tests", {"dbt_date": package}, {})
    assert failed == set(KNOWN["dbt_date"])
    assert passed >= 73


def test_dbt_expectations(project: Project) -> None:
    package, dates = checkout("DBT_EXPECTATIONS"), checkout("DBT_DATE")
    own = ["dbt_expectations_integration_tests", "dbt", "dbt_expectations"]
    passed, failed = build(
        project, package / "integration_tests", {"dbt_expectations": package, "dbt_date": dates}, {"dbt_expectations": own}
    )
    assert failed == set(KNOWN["dbt_expectations"])
    assert passed >= 169


def test_spark_utils(project: Project) -> None:
    package, utils = checkout("SPARK_UTILS"), checkout("DBT_UTILS")
    tests = {"spark_utils": package, "dbt_utils": utils, "dbt_utils_integration_tests": utils / "integration_tests"}
    passed, failed = build(project, package / "integration_tests" / "dbt_utils", tests, {})
    assert failed == set(KNOWN["spark_utils"])
    assert passed >= 231
