"""Which dbt commands start Spark before their first statement."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext

from dbt.adapters.ducklake.early_start import command_needs_spark, nodes_need_spark
from dbt.adapters.ducklake.spark.session.application import Application
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

NODES = [
    SimpleNamespace(unique_id="model.p.a", resource_type="model"),
    SimpleNamespace(unique_id="seed.p.s", resource_type="seed"),
    SimpleNamespace(unique_id="snapshot.p.h", resource_type="snapshot"),
]


def config(folder: Path, which: str, selectors: Any = (), **arguments: Any) -> SimpleNamespace:
    return SimpleNamespace(
        args=SimpleNamespace(which=which, **arguments), project_root=str(folder), model_paths=["models"], selectors=dict.fromkeys(selectors)
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "models" / "inner").mkdir(parents=True)
    (tmp_path / "models" / "inner" / "a.sql").touch()
    return tmp_path


def test_a_run_of_all_models_needs_spark_before_the_project_is_parsed(project: Path) -> None:
    assert command_needs_spark(config(project, "run"))
    assert command_needs_spark(config(project, "build", select=(), exclude=()))
    assert command_needs_spark(config(project, "show"))
    assert not command_needs_spark(config(project, "build", select=("s",)))
    assert not command_needs_spark(config(project, "build", resource_types=("seed",)))
    assert not command_needs_spark(config(project, "build", selectors=["nightly"]))
    (project / "models" / "inner" / "a.sql").rename(project / "models" / "properties.yml")
    assert not command_needs_spark(config(project, "build"))


@pytest.mark.parametrize(
    "which", ["parse", "list", "ls", "compile", "generate", "seed", "debug", "run-operation", "clone", "test", "freshness"]
)
def test_other_commands_start_nothing_early(project: Path, which: str) -> None:
    assert not command_needs_spark(config(project, which))
    if which != "test":
        assert not nodes_need_spark(config(project, which), ["model.p.a"], NODES)


def test_a_profile_alone_starts_nothing() -> None:
    assert not command_needs_spark(SimpleNamespace(credentials=None))


@pytest.mark.parametrize(
    ("selected", "needed"),
    [
        (["seed.p.s"], False),
        (["model.p.ephemeral"], False),
        (["seed.p.s", "model.p.a"], True),
        (["snapshot.p.h"], True),
        (["test.p.unique_a.1"], True),
        (["unit_test.p.a.one"], True),
        ([], False),
    ],
)
def test_selected_nodes_that_run_in_spark_need_it(project: Path, selected: list[str], needed: bool) -> None:
    assert nodes_need_spark(config(project, "build"), selected, NODES) is needed


def test_nothing_starts_early_if_the_process_has_a_spark_of_an_earlier_command(monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[bool] = []
    for context in (object(), None):
        monkeypatch.setattr(SparkContext, "_active_spark_context", context)
        application = Application(SparkSettings(), "project", None, lambda: None)
        application.start_early(lambda: starts.append(True))
        if application._early_start is not None:
            application._early_start.join()
        assert len(starts) == (0 if context else 1)
