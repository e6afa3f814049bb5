"""`publish` and `publish_on`: where they come from, and which results they allow to publish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import agate
import pytest
from dbt.artifacts.schemas.results import RunStatus, TestStatus
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.publishing import results as results_module
from dbt.adapters.ducklake.publishing.results import obstacle, publish_run, thresholds_reached
from dbt.adapters.ducklake.publishing.settings import Publishing
from dbt.adapters.ducklake.session import Lake, LakeSettings


def config(profile: dict[str, str], project: dict[str, Any], command_line: dict[str, str], which: str = "build") -> SimpleNamespace:
    return SimpleNamespace(
        credentials=SimpleNamespace(**{"publish": None, "publish_on": None} | profile),
        vars=SimpleNamespace(to_dict=lambda: {key: value for key, value in project.items() if key != "models"}),
        models=project.get("models"),
        cli_vars=command_line,
        project_name="shop",
        args=SimpleNamespace(which=which),
    )


@pytest.mark.parametrize(
    ("profile", "project", "command_line", "expected"),
    [
        ({}, {}, {}, "node"),
        ({"publish": "run"}, {}, {}, "run"),
        ({"publish": "run"}, {"ducklake_publish": "node"}, {}, "node"),
        ({}, {"ducklake_publish": "node", "shop": {"ducklake_publish": "run"}}, {}, "run"),
        ({}, {"shop": {"ducklake_publish": "run"}}, {"ducklake_publish": "node"}, "node"),
        ({"publish": "run"}, {"models": {"shop": {"+publish": "tested", "marts": {"+publish": "node"}}}}, {}, "tested"),
        ({}, {"ducklake_publish": "run", "models": {"+publish": "tested"}}, {}, "run"),
        ({}, {"publish": "weekly", "shop": {"publish_on": "Monday"}}, {"publish": "now"}, "node"),
        ({"publish": "run"}, {"models": {"shop": {"publish": {"+materialized": "table"}, "publish_on": {"+tags": "t"}}}}, {}, "run"),
        ({}, {"models": {"publish": {"+tags": "t"}, "shop": {"publish": {"+tags": "t"}, "+publish": "tested"}}}, {}, "tested"),
        ({}, {"models": {"shop": {"publish": "tested"}}}, {}, "tested"),
    ],
)
def test_the_command_line_overrides_the_project_and_the_project_the_profile(profile, project, command_line, expected) -> None:
    given = config(profile, project, command_line)
    assert Publishing.of(given.credentials, given).publish == expected


@pytest.mark.parametrize(("which", "staged"), [("build", True), ("run-operation", False), ("docs", False)])
def test_only_commands_that_build_are_staged(which: str, staged: bool) -> None:
    given = config({"publish": "run"}, {}, {}, which)
    assert Publishing.of(given.credentials, given).stages(given) is staged


@pytest.mark.parametrize(("name", "known"), [("publish", "node, tested, run"), ("publish_on", "warn, success, always")])
def test_an_unknown_value_is_refused(name: str, known: str) -> None:
    given = config({}, {}, {f"ducklake_{name}": "never"})
    places = f"the profile or the models of dbt_project.yml, and the variable `ducklake_{name}`"
    with pytest.raises(DbtRuntimeError, match=f"`{name}` in {places} must be one of {known}; it is 'never'"):
        Publishing.of(given.credentials, given)


def results(*statuses: RunStatus | TestStatus) -> list[SimpleNamespace]:
    return [SimpleNamespace(status=status, node=SimpleNamespace(name=f"n{number}")) for number, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("statuses", "publish_on", "expected"),
    [
        ((RunStatus.Success, TestStatus.Pass), "success", None),
        ((RunStatus.Success, TestStatus.Warn), "warn", None),
        ((RunStatus.Success, TestStatus.Warn), "success", "1 of 2 nodes warned (n1), and publish_on is success"),
        ((RunStatus.Success, TestStatus.Fail), "warn", "1 of 2 nodes failed (n1)"),
        ((RunStatus.Error, TestStatus.Skipped), "warn", "1 of 2 nodes failed (n0)"),
        ((RunStatus.PartialSuccess,), "warn", "1 of 1 nodes failed (n0)"),
        ((RunStatus.Error, TestStatus.Fail), "always", None),
        ((RunStatus.Error,) * 7, "warn", "7 of 7 nodes failed (n0, n1, n2, n3, n4 and 2 more)"),
    ],
)
def test_failures_prevent_publishing(statuses, publish_on, expected) -> None:
    assert obstacle(results(*statuses), publish_on) == expected


@pytest.mark.parametrize(
    ("severity", "error", "warning", "warnings_fail", "publish_on", "expected"),
    [
        ("error", True, True, False, "warn", "unique failed"),
        ("ERROR", True, True, False, "always", None),
        ("error", False, True, False, "warn", None),
        ("error", False, True, False, "success", "unique warned, and publish_on is success"),
        ("warn", True, True, False, "warn", None),
        ("warn", True, True, True, "warn", "unique failed"),
        ("warn", False, False, True, "success", None),
    ],
)
def test_the_result_of_a_test_decides_about_its_node(severity, error, warning, warnings_fail, publish_on, expected) -> None:
    test = {"name": "unique", "config": {"severity": severity}}
    found = Publishing("tested", publish_on).failure(test, error=error, warning=warning, warnings_fail=warnings_fail)
    assert found == expected


class Run:
    """A staged run that records what is published of it."""

    deferred = ()

    def __init__(self) -> None:
        self.kept: set[tuple[str, str]] | None = None

    def changed_names(self) -> list[str]:
        return ["main.orders"]

    def publish(self, *_: object, only: list[tuple[str, str]] | None = None) -> SimpleNamespace:
        self.kept = set(only or ())
        return SimpleNamespace(snapshot_id=7)


def discarded(monkeypatch: pytest.MonkeyPatch, results: list[Any], publish_on: str, *, selected=(), **flags: bool) -> tuple[Run, list[str]]:
    """Return a run that is published after these results, and the lines for the log."""
    run = Run()
    lake: Any = SimpleNamespace(run=run, end_run=lambda: None)
    defaults = {"STORE_FAILURES": False, "SKIP_NODES_IF_ON_RUN_START_FAILS": False}
    monkeypatch.setattr(results_module, "get_flags", lambda: SimpleNamespace(**{**defaults, **flags}))
    given = config({}, {}, {})
    return run, publish_run(lake, given, results, publish_on, selected)


def result(name: str, status: RunStatus | TestStatus, **given: Any) -> SimpleNamespace:
    stored = SimpleNamespace(**{"store_failures": None, "store_failures_as": None, **given})
    node = SimpleNamespace(name=name, schema="audit", alias=name, config=stored, resource_type="test")
    return SimpleNamespace(status=status, node=node, batch_results=None, message=None)


@pytest.mark.parametrize(
    ("flag", "publish_on", "kept"),
    [(False, "warn", {"own", "warned"}), (True, "warn", {"own", "warned", "by_flag"}), (True, "success", {"own", "warned", "by_flag"})],
)
def test_rows_of_failures_and_warnings_are_kept_if_a_run_is_discarded(monkeypatch: pytest.MonkeyPatch, flag, publish_on, kept) -> None:
    results = [
        result("own", TestStatus.Fail, store_failures=True),
        result("warned", TestStatus.Warn, store_failures=True, store_failures_as="table"),
        result("by_flag", TestStatus.Fail),
        result("not_even_by_flag", TestStatus.Fail, store_failures=False),
        result("view", TestStatus.Fail, store_failures=True, store_failures_as="view"),
        result("passed", TestStatus.Pass, store_failures=True),
        result("error", TestStatus.Error, store_failures=True),
    ]
    run, lines = discarded(monkeypatch, results, publish_on, STORE_FAILURES=flag)
    assert run.kept == {("audit", name) for name in kept}
    assert lines[0].endswith("The rows of failed tests are in snapshot 7.")


def test_rows_of_a_warning_that_prevents_publishing_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = discarded(monkeypatch, [result("warned", TestStatus.Warn, store_failures=True)], "success")
    assert run.kept == {("audit", "warned")}


@pytest.mark.parametrize(
    ("selected", "reason"), [(["model.a"], "because an on-run-start hook failed"), ([], "Published 1 relation as snapshot")]
)
def test_nothing_is_published_if_a_failed_hook_skips_the_selected_nodes(monkeypatch: pytest.MonkeyPatch, selected, reason) -> None:
    _, lines = discarded(monkeypatch, [], "warn", selected=selected, SKIP_NODES_IF_ON_RUN_START_FAILS=True)
    assert reason in lines[0]


@pytest.fixture
def two_lakes(tmp_path: Path) -> Iterator[Lake]:
    def settings(name: str) -> LakeSettings:
        return LakeSettings(f"ducklake:sqlite:{tmp_path}/{name}.sqlite", f"{tmp_path}/{name}/", database=name)

    with Lake.open(replace(settings("lake"), attached=(settings("other"),))) as lake:
        with lake.session() as session:
            for name in lake.names:
                session.execute(f"CREATE TABLE {name}.main.t (n INT)")
        lake.stage_run()
        yield lake
        lake.end_run()


def test_a_transaction_that_changed_nothing_in_the_end_leaves_the_choice_of_the_lake(two_lakes: Lake) -> None:
    with two_lakes.session() as session, two_lakes.session() as same_time:
        session.begin()
        session.execute("INSERT INTO other.main.t VALUES (1)")
        with pytest.raises(StatementError, match="the lake lake cannot be changed in this run"):
            same_time.execute("INSERT INTO t VALUES (1)")
        session.rollback()
        session.execute("CREATE SCHEMA IF NOT EXISTS other.main")
        session.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(StatementError, match="the lake other cannot be changed in this run"):
            same_time.execute("INSERT INTO other.main.t VALUES (1)")
    assert two_lakes.run is not None
    assert two_lakes.run.publish("me", "m", "{}") is not None


def test_a_commit_without_changes_leaves_the_choice_of_the_lake(two_lakes: Lake) -> None:
    assert two_lakes.run is not None
    transaction = two_lakes.run.begin("other", lambda: None)
    transaction.require_writable()
    with pytest.raises(StatementError, match="the lake lake cannot be changed in this run"):
        two_lakes.run.begin("lake", lambda: None).objects.new_schema("s")
    transaction.commit()
    two_lakes.run.begin("lake", lambda: None).objects.new_schema("s")


COUNTED = ("failures", "should_warn", "should_error")


@pytest.mark.parametrize(
    ("names", "rows", "expected"),
    [
        (COUNTED, [(0, False, False)], (False, False)),
        (COUNTED, [(2, True, False)], (True, False)),
        (COUNTED, [(Decimal(2), True, True)], (True, True)),
        (COUNTED, [(2, "true", "false")], (True, False)),
        (("FAILURES", "SHOULD_WARN", "SHOULD_ERROR"), [(2, 1, 0)], (True, False)),
        (COUNTED, [(0, None, None)], (False, False)),
        (COUNTED, [(None, None, None)], None),
        (COUNTED, [(Decimal("0.5"), True, True)], None),
        (COUNTED, [("none", True, True)], None),
        (COUNTED, [(2, "perhaps", True)], None),
        (COUNTED, [], None),
        (COUNTED, [(0, False, False), (0, False, False)], None),
        (COUNTED[:2], [(0, False)], None),
        ((*COUNTED, "more"), [(0, False, False, 1)], None),
        (("failures", "warn", "error"), [(0, False, False)], None),
    ],
)
def test_a_result_that_dbt_refuses_is_none(names, rows, expected) -> None:
    """Such a test is an error, which dbt reports after its query, so it says nothing about its nodes."""
    as_they_are = [_AsItIs() for _ in names]
    assert thresholds_reached(agate.Table(rows, names, as_they_are)) == expected


class _AsItIs(agate.DataType):
    def test(self, _: object) -> bool:
        return True

    def cast(self, value: object) -> object:
        return value
