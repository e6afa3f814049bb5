"""Which tests a node waits for under `publish: tested`, and which configs fit a command."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.publishing.plans import check_nodes, plans
from dbt.adapters.ducklake.publishing.settings import Publishing


def node(key: str, *reads: str, database: str = "lake", attached: str | None = None, **config: Any) -> SimpleNamespace:
    kind, _, name = key.partition(".")
    found = {"materialized": "table", **config}
    return SimpleNamespace(
        unique_id=key,
        name=name,
        resource_type=kind,
        database=database,
        attached_node=attached,
        depends_on=SimpleNamespace(nodes=list(reads)),
        config=SimpleNamespace(**found, get=found.get),
    )


def manifest(*nodes: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(nodes={each.unique_id: each for each in nodes})


PROJECT = manifest(
    node("seed.s"),
    node("model.a", "seed.s"),
    node("model.e", "model.a", materialized="ephemeral"),
    node("model.b", "model.e"),
    node("model.now", "seed.s", publish="node"),
    node("test.own", "model.b", attached="model.b"),
    node("test.between", "model.b", "model.a", attached="model.b"),
    node("test.singular", "model.a", "seed.s"),
    node("test.of_ephemeral", "model.e", attached="model.e"),
    node("test.of_now", "model.now", attached="model.now"),
    node("test.not_selected", "model.b", attached="model.b"),
)
SELECTED = [key for key in PROJECT.nodes if key != "test.not_selected"]


def test_a_node_waits_for_the_tests_that_belong_to_it() -> None:
    found = plans(PROJECT, SELECTED, Publishing("tested", "warn"))
    assert {key: set(plan.tests) for key, plan in found.items() if plan.tests} == {
        "seed.s": {"test.singular"},
        "model.a": {"test.singular", "test.of_ephemeral"},
        "model.b": {"test.own", "test.between"},
    }
    assert found["model.b"].reads == {"model.a", "seed.s"}
    assert found["test.own"].reads == {"model.a", "model.b", "seed.s"}
    assert {key for key, plan in found.items() if plan.is_test} == {key for key in SELECTED if key.startswith("test.")}


def test_a_unit_test_of_a_selected_model_reads_what_the_model_reads() -> None:
    """`dbt build` runs these unit tests with their models; it does not list them among the selected nodes."""
    tests = {key: node(key, model) for key, model in (("unit_test.b", "model.b"), ("unit_test.now", "model.now"))}
    given = SimpleNamespace(nodes=PROJECT.nodes, unit_tests=tests)
    found = plans(given, ["seed.s", "model.a", "model.b"], Publishing("tested", "warn"))
    assert found["unit_test.b"].reads >= {"seed.s", "model.a"}
    assert found["unit_test.b"].is_test
    assert "unit_test.now" not in found
    assert "unit_test.now" in plans(given, ["unit_test.now"], Publishing("tested", "warn"))


def test_the_command_line_decides_for_every_node() -> None:
    found = plans(PROJECT, SELECTED, Publishing("tested", "warn", on_command_line={"publish"}))
    assert found["model.now"].tests == {"test.of_now"}
    check_nodes(PROJECT, SELECTED, Publishing("run", "warn", on_command_line={"publish"}))
    given = manifest(node("model.a", publish_on="success"))
    check_nodes(given, given.nodes, Publishing("run", "always", on_command_line={"publish_on"}))


@pytest.mark.parametrize(
    ("own", "command", "fits"),
    [
        ("node", "tested", True),
        ("run", "run", True),
        ("node", "run", False),
        ("tested", "run", False),
        ("run", "tested", False),
        ("tested", "node", False),
    ],
)
def test_a_config_must_fit_the_command(own: str, command: str, fits: bool) -> None:
    given = manifest(node("model.a", publish=own), node("model.b"))
    if fits:
        check_nodes(given, given.nodes, Publishing(command, "warn"))
        return
    with pytest.raises(DbtRuntimeError, match=f"`publish: {own}` does not fit this command, whose `publish` is {command}: a. "):
        check_nodes(given, given.nodes, Publishing(command, "warn"))


@pytest.mark.parametrize("key", ["model.a", "test.a"])
def test_a_node_cannot_have_its_own_publish_on(key: str) -> None:
    given = manifest(node(key, publish_on="success"))
    check_nodes(given, given.nodes, Publishing("tested", "success"))
    with pytest.raises(DbtRuntimeError, match="`publish_on: success` does not fit this command, whose `publish_on` is warn: a"):
        check_nodes(given, given.nodes, Publishing("tested", "warn"))


@pytest.mark.parametrize(("config", "known"), [("publish", "node, tested, run"), ("publish_on", "warn, success, always")])
def test_an_unknown_config_is_refused(config: str, known: str) -> None:
    given = manifest(node("model.a", **{config: "later"}))
    with pytest.raises(DbtRuntimeError, match=f"The config `{config}` of model.a must be one of {known}; it is 'later'"):
        check_nodes(given, given.nodes, Publishing("tested", "warn"))


def test_a_run_changes_one_lake() -> None:
    given = manifest(node("model.a"), node("model.b", database="other"), node("model.c", database="third", materialized="ephemeral"))
    check_nodes(given, given.nodes, Publishing("tested", "warn"))
    check_nodes(given, ["model.b"], Publishing("run", "warn"))
    other_case = manifest(node("model.a"), node("model.b", database="LAKE"))
    check_nodes(other_case, other_case.nodes, Publishing("run", "warn"))
    with pytest.raises(DbtRuntimeError, match="can change one lake, but the selected nodes are in lake, other"):
        check_nodes(given, given.nodes, Publishing("run", "warn"))
