"""Fixtures for dbt's own conformance suite: an SQLite lake in a folder per test class, and one Spark for the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from dbt.clients import jinja_static
from dbt.context import base as context
from dbt.contracts.graph.manifest import Manifest
from dbt.tests.fixtures.project import *  # noqa: F403 -- the suite's fixtures
from dbt.tests.fixtures.project import TestProjInfo
from dbt_common.behavior_flags import BehaviorFlagRendered
from dbt_common.clients.jinja import get_environment

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.functional.adapter.dialect import in_spark
from tests.places import ENCRYPTED, FULL_MATRIX


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore pytest's warning about class-scoped fixtures that are methods, as in the suite's classes."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore:Class-scoped fixtures defined as instance methods"))


@pytest.fixture(scope="session", autouse=True)
def started_spark(runtime: SparkRuntime) -> None:
    """Start Spark before the first dbt command needs it. Commands do not stop a Spark that was already running."""
    runtime.session()


@pytest.fixture(scope="session", autouse=True)
def quick_dbt() -> Iterator[None]:
    """Skip what dbt computes again and again with the same result, which takes a third of a command's time.

    These are the module that uses a behavior flag (slow under pytest), Jinja's environment for each macro, and the Python modules for each context.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BehaviorFlagRendered, "_default_source", staticmethod(lambda: "dbt.adapters.ducklake.impl"))
        patch.setattr(jinja_static, "get_environment", cache(get_environment))
        patch.setattr(context, "get_context_modules", cache(context.get_context_modules))
        yield


@pytest.fixture(scope="class", autouse=True)
def manifest_file(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write target/manifest.json only for tests that read it (mark `manifest_file`), because that takes longer than a small run."""
    with pytest.MonkeyPatch.context() as patch:
        if not FULL_MATRIX and request.node.get_closest_marker("manifest_file") is None:
            patch.setattr(Manifest, "write", lambda _self, _path: None)
        yield


@pytest.fixture(scope="class")  # type: ignore[no-redef]  # instead of the suite's
def dbt_profile_target(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """A profile with a separate lake for each class."""
    folder = tmp_path_factory.mktemp("lake")
    return {
        "type": "ducklake",
        "path": f"ducklake:sqlite:{folder}/lake.sqlite",
        "data_path": f"{folder}/files/",
        "threads": 4,
        "spark": {"master": "local[2]"},
        **({"encrypted": True} if ENCRYPTED else {}),
    }


@pytest.fixture(scope="class")  # type: ignore[no-redef]  # instead of the suite's
def profile_user() -> None:
    """Do nothing, because a lake has no owners."""


@pytest.fixture(scope="class")  # type: ignore[no-redef]  # instead of the suite's
def project(project_setup: TestProjInfo, project_files: None) -> Iterator[TestProjInfo]:  # noqa: ARG001 (writes the models)
    """The suite's project. SQL that tests run directly is written for PostgreSQL and is translated word by word."""
    run_sql: Callable[..., Any] = project_setup.run_sql
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(project_setup, "run_sql", lambda sql, fetch=None: run_sql(in_spark(sql), fetch))
        yield project_setup
