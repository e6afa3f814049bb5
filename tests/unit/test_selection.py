"""Which nodes a command has selected; dbt does not record it for `dbt retry`."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from dbt.artifacts.schemas.results import NodeStatus
from dbt.mp_context import get_mp_context
from dbt.task import retry

from dbt import selected_resources
from dbt.adapters.ducklake.connections import DuckLakeConnectionManager
from dbt.adapters.ducklake.selection import retried

RESULTS = {
    "seed.shop.given": "success",
    "model.shop.orders": "skipped",
    "model.shop.report": "error",
    "test.shop.unique": "fail",
    "test.shop.rare": "warn",
    "model.shop.batches": "partial success",
    "operation.shop.shop-on-run-end-0": "error",
}
FAILED = {"model.shop.orders", "model.shop.report", "test.shop.unique", "model.shop.batches"}


def context(folder: Path, command: str, state: str | None = None) -> click.Context:
    """Return the context of a dbt command, whose project has the results of an earlier command."""
    target = folder / (state or "target")
    target.mkdir()
    results = [
        {"unique_id": key, "status": status, "timing": [], "thread_id": "main", "execution_time": 0, "adapter_response": {}}
        | {"message": None, "failures": None, "compiled": None, "compiled_code": None, "relation_name": None}
        for key, status in RESULTS.items()
    ]
    schema = "https://schemas.getdbt.com/dbt/run-results/v6.json"
    whole = {"metadata": {"dbt_schema_version": schema}, "results": results, "elapsed_time": 0, "args": {"which": "build"}}
    (target / "run_results.json").write_text(json.dumps(whole))
    config = SimpleNamespace(project_root=str(folder), target_path="target")
    return click.Context(click.Command(command), info_name=command, obj={"flags": SimpleNamespace(state=state), "runtime_config": config})


@pytest.mark.parametrize("state", [None, "earlier"])
def test_a_retry_selects_what_did_not_succeed(tmp_path: Path, state: str | None) -> None:
    with context(tmp_path, "retry", state):
        assert retried() == FAILED


def test_a_retry_with_warn_error_selects_tests_that_warned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "RETRYABLE_STATUSES", {*retry.RETRYABLE_STATUSES, NodeStatus.Warn})  # as dbt does
    with context(tmp_path, "retry"):
        assert retried() == FAILED | {"test.shop.rare"}


def test_other_commands_retry_nothing(tmp_path: Path) -> None:
    assert retried() is None
    with context(tmp_path, "build"):
        assert retried() is None


def test_a_retry_does_not_use_what_an_earlier_command_of_the_process_has_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", ["seed.shop.given"])
    profile = SimpleNamespace(credentials=None)
    with context(tmp_path, "retry"):
        assert DuckLakeConnectionManager(profile, get_mp_context()).selected == FAILED  # type: ignore[arg-type]
    assert DuckLakeConnectionManager(profile, get_mp_context()).selected == ["seed.shop.given"]  # type: ignore[arg-type]
