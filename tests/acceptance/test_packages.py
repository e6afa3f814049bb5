"""dbt packages with their own integration tests, unchanged, or with a small project of ours; the known failures with their reasons.

The packages are not part of this repository. `DBT_PACKAGES` names a folder with a checkout of each (`checkouts.py`); docs/packages.md has the
commits and the results.

    make packages PACKAGES=/tmp/packages && DBT_PACKAGES=/tmp/packages pytest tests/acceptance/test_packages.py
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.checkouts import PACKAGES
from tests.acceptance.projects import Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("DBT_PACKAGES" not in os.environ, reason="NOT RUN: set DBT_PACKAGES to the folder of `make packages`"),
]

HERE = Path(__file__).parent / "package_projects"
VAULT = {
    "hub_order": 3,
    "hub_customer": 2,
    "link_order": 4,
    "sat_order": 5,
    "sat_by_period": 5,
    "sat_by_rank": 5,
    "eff_order": 5,
    "ma_order": 5,
}
"""How many rows each table of the vault has after three loads."""

FLOATS = {
    "dbt_utils_equality_data_test_equality_floats_a_ref_data_test_equality_floats_b___8":
        "wants two floats to differ in the seventh digit after the package has cast them to dbt's numeric(28,6)",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """The project of a package's tests, how it is run, and how it ends.

    Attributes:
        package: the package that is tested.
        passed: how many nodes of the last command succeed.
        tests: the folder of the project below that of the package.
        needs: other packages that it uses, by name.
        failed: the nodes of the last command that fail, with the reasons.
        target_type: the profile's `target_type`.
        schema: the schema of the profile, which some packages' sources name.
        settings: changes of `dbt_project.yml`.
        commands: the commands of dbt in their order; all but the last must succeed.
        extra: further folders below `DBT_PACKAGES` that are packages, by their names.
    """

    package: str
    passed: int
    tests: str = "integration_tests"
    needs: Sequence[str] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    target_type: str | None = None
    schema: str = "packages"
    settings: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[Sequence[str]] = (("build",),)
    extra: Mapping[str, str] = field(default_factory=dict)


def checkout(package: str) -> Path:
    """Return the folder of a package."""
    folder = Path(os.environ["DBT_PACKAGES"], PACKAGES[package].name)
    assert folder.is_dir(), f"There is no {folder}: run `make packages PACKAGES={folder.parent}`"
    return folder


def copy(source: Path, target: Path) -> None:
    """Copy a project without the packages that `dbt deps` would fetch, and without the projects of its tests."""
    left_out = {".git", "packages.yml", "package-lock.yml", "profiles.yml", "integration_tests"}

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
        project.dbt(*command)
    results = project.folder / "target" / "run_results.json"
    results.unlink(missing_ok=True)
    try:
        project.dbt(*last)
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


def merged(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with changes, maps within maps too."""
    inner = {key: merged(settings.get(key) or {}, value) if isinstance(value, Mapping) else value for key, value in changes.items()}
    return {**settings, **inner}


FIVETRAN = ("fivetran_utils", "dbt_utils", "spark_utils")
SEEDS_FIRST = (("seed",), ("build", "--exclude", "resource_type:seed"))
"""Their models look for the tables of a source when they are compiled, and a source does not wait for the seeds that make it."""

CASES = {
    "dbt_utils": Case(
        "dbt_utils",
        235,
        failed=FLOATS | {"test_groupby": "SELECT *, count(*) … GROUP BY 1, 2: Spark allows no * beside positions ([STAR_GROUP_BY_POS])"},
    ),
    "dbt_date": Case("dbt_date", 73),
    "dbt_expectations": Case(
        "dbt_expectations",
        169,
        needs=["dbt_date"],
        settings={
            "dispatch": [
                {"macro_namespace": "dbt_expectations", "search_order": ["dbt_expectations_integration_tests", "dbt", "dbt_expectations"]}
            ]
        },
    ),
    "spark_utils": Case(
        "spark_utils",
        231,
        tests="integration_tests/dbt_utils",
        needs=["dbt_utils"],
        extra={"dbt_utils_integration_tests": "dbt-utils/integration_tests"},
        failed=FLOATS | {"test_recency": "calls dbt_utils.current_timestamp, which dbt_utils 1.0 has removed"},
    ),
    "audit_helper": Case(
        "audit_helper",
        95,
        needs=["dbt_utils"],
        target_type="databricks",
        failed={
            "unit tests of unit_quick_are_queries_identical": "the package has this macro for BigQuery and Snowflake only",
            "unit tests of unit_compare_classify_struct": "the package skips it on Databricks: a struct has its fields in order",
        },
    ),
    "codegen": Case(
        "codegen",
        28,
        needs=["dbt_utils"],
        commands=[("run-operation", "create_source_table"), ("build",)],
        failed=dict.fromkeys(
            ["test_generate_model_repeated_yaml", "test_generate_model_yaml", "test_generate_source_all_args"],
            "expects PostgreSQL's names of types, integer and text",
        ),
    ),
    "dbt_artifacts": Case("dbt_artifacts", 49, tests="integration_test_project", target_type="spark"),
    "dbt_profiler": Case("dbt_profiler", 57, needs=["dbt_utils", "dbt_expectations", "dbt_date"], target_type="databricks"),
    "hubspot": Case("hubspot", 186, needs=FIVETRAN, target_type="spark", schema="hubspot_integration_tests", commands=SEEDS_FIRST),
    "stripe": Case("stripe", 78, needs=FIVETRAN, target_type="spark", schema="stripe_integrations_tests", commands=SEEDS_FIRST),
    "dbt_project_evaluator": Case(
        "dbt_project_evaluator",
        154,
        needs=["dbt_utils"],
        target_type="databricks",
        extra={"exclude_package": "dbt-project-evaluator/integration_tests/exclude_package"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_own_tests_of_a_package(project: Project, name: str) -> None:
    case = CASES[name]
    passed, failed = run(project, case)
    assert (failed, passed) == (set(case.failed), case.passed)
    if name == "hubspot":
        senders = rows(project, "SELECT DISTINCT from_email FROM lake.hubspot_integration_tests_hubspot.stg_hubspot__email_event_sent")
        assert sorted(senders) == sorted(rows(project, 'SELECT DISTINCT "from" FROM lake.hubspot_integration_tests.email_event_sent_data'))
        assert len(senders) == 3


# -- packages without tests of their own that run elsewhere: small projects -----------------------------------------------------------


def rows(project: Project, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query that DuckDB runs on the lake."""
    with project.attach() as duckdb:
        return duckdb.execute(query).fetchall()


def test_automate_dv_loads_a_vault_in_three_runs(project: Project) -> None:
    """Its temporary relations are created by their identifier and read by their schema, in the materializations by period and by rank."""
    builds = [("build", "--vars", f"{{loads: {day}}}") for day in (1, 2, 3)]
    case = Case("automate_dv", 15, needs=["dbt_utils"], target_type="databricks", commands=builds)
    assert run(project, case, HERE / "automate_dv") == (15, set())
    counts = {name: rows(project, f"SELECT count(*) FROM lake.packages.{name}")[0][0] for name in VAULT}
    assert counts == VAULT
    assert rows(project, "SELECT * FROM lake.packages.sat_by_period EXCEPT SELECT * FROM lake.packages.sat_order") == []
    assert rows(project, "SELECT * FROM lake.packages.sat_by_rank EXCEPT SELECT * FROM lake.packages.sat_order") == []


def test_elementary_stores_results_of_its_tests(project: Project) -> None:
    case = Case("elementary", 46, needs=["dbt_utils"], target_type="spark", commands=[("build",), ("build",)])
    assert run(project, case, HERE / "elementary") == (46, set())
    stored = rows(project, "SELECT count(*), count(*) FILTER (status = 'error') FROM lake.packages_elementary.elementary_test_results")
    assert stored[0][0] >= 20
    assert stored[0][1] == 0
