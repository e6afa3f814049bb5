"""dbt's own conformance suite: its fixtures, on an SQLite lake in a folder per test class and one Spark for the process."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.tests.fixtures.project import *  # noqa: F403 -- the suite's fixtures
from dbt.tests.fixtures.project import TestProjInfo

from dbt.adapters.ducklake.spark.runtime import SparkRuntime
from tests.functional.adapter.dialect import in_spark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The suite's classes have class-scoped fixtures as methods, of which pytest warns."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore:Class-scoped fixtures defined as instance methods"))


@pytest.fixture(scope="session", autouse=True)
def started_spark(runtime: SparkRuntime) -> None:
    """Spark runs already when the first dbt command asks for it, and no command that finds it running stops it."""
    runtime.session()


@pytest.fixture(scope="class")
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """A profile on a lake of the class's own."""
    folder = tmp_path_factory.mktemp("lake")
    return {
        "type": "ducklake",
        "path": f"ducklake:sqlite:{folder}/lake.sqlite",
        "data_path": f"{folder}/files/",
        "threads": 4,
        "spark": {"master": "local[2]"},
    }


@pytest.fixture(scope="class")
def profile_user() -> None:
    """A lake has no owners."""


@pytest.fixture(scope="class")
def project(project_setup: TestProjInfo, project_files: None) -> TestProjInfo:
    """The suite's project; SQL that tests send by themselves is written for PostgreSQL and is translated word by word."""
    run_sql = project_setup.run_sql
    project_setup.run_sql = lambda sql, fetch=None: run_sql(in_spark(sql), fetch)
    return project_setup
