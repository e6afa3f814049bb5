"""The origin of a snapshot: the node that committed it, or in the snapshot of a whole run the node that changed a relation."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.ducklake.format.origin import origin

RUN = {
    "invocation_id": "i",
    "nodes": [
        {"node_id": "model.a", "changed": ["main.a", "main.log"], "started_at": "2026-01-01T00:00:00+00:00"},
        {"node_id": "model.b", "changed": ["main.b", "main.log"]},
    ],
}


@pytest.mark.parametrize(("relation", "node"), [("main.a", "model.a"), ("main.log", "model.b"), ("main.other", None), (None, None)])
def test_the_node_of_a_run_is_the_last_one_that_changed_the_relation(relation: str | None, node: str | None) -> None:
    found = origin(json.dumps(RUN), relation)
    assert (found.node_id, found.invocation_id) == (node, "i")
    assert (found.started_at is not None) == (node == "model.a")


@pytest.mark.parametrize("nodes", [None, "x", [1, None], [{"changed": "main.a"}], {"changed": ["main.a"]}])
def test_other_programs_may_use_the_name_nodes(nodes: object) -> None:
    assert origin(json.dumps({"node_id": "n", "nodes": nodes}), "main.a").node_id == "n"
