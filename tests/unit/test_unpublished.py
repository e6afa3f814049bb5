"""If a command ends before it publishes its changes, a warning says how to build them."""

from __future__ import annotations

import multiprocessing
from types import SimpleNamespace

import pytest

from dbt.adapters.ducklake import connections
from dbt.adapters.ducklake.connections import DuckLakeConnectionManager

NO_RETRY = "Run the command again; `dbt retry` would not rebuild these nodes"


@pytest.mark.parametrize(
    ("run", "nodes", "warning"),
    [
        (SimpleNamespace(changes_catalog=True), None, "Nothing was published, because a hook failed or the run was stopped"),
        (
            None,
            SimpleNamespace(unpublished={"orders": "its test did not run"}),
            "These nodes were not published, because a hook failed or the command was stopped: orders.",
        ),
    ],
)
def test_the_warning_says_that_dbt_retry_does_not_build_discarded_nodes(
    monkeypatch: pytest.MonkeyPatch, run: object, nodes: object, warning: str
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(connections.logger, "warning", warnings.append)
    manager = DuckLakeConnectionManager(SimpleNamespace(credentials=None), multiprocessing.get_context("spawn"))  # type: ignore[arg-type]
    nothing = SimpleNamespace(release=lambda: None)
    manager._lake = SimpleNamespace(  # type: ignore[assignment]
        run=run, nodes=nodes, end_run=lambda: None, close_catalogs=lambda: None, runtime=nothing
    )
    manager.cleanup_all()
    assert len(warnings) == 1
    assert warning in warnings[0]
    assert NO_RETRY in warnings[0]
