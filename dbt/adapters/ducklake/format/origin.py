"""The origin of a snapshot, as `commit_extra_info` records it: dbt's invocation and node, and the versions.

Any program can write this field, so it need not be JSON, and its entries can have any type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Origin:
    """What is known about the dbt run that committed a snapshot."""

    node_id: str | None = None
    invocation_id: str | None = None
    started_at: datetime | None = None
    """When the node began, by the clock of dbt's machine."""
    entries: Mapping[str, str] | None = None
    """All entries; values that are not strings are encoded as JSON."""

    @property
    def versions(self) -> str | None:
        """The recorded versions, such as `dbt-ducklake/1.2 dbt/1.10`; None if none is recorded."""
        found = self.entries or {}
        names = {"dbt-ducklake": "dbt_ducklake_version", "dbt": "dbt_version"}
        return " ".join(f"{name}/{found[key]}" for name, key in names.items() if key in found) or None


@dataclass(frozen=True)
class NodeOrigin:
    """What a node added to the snapshot of a whole run."""

    node_id: str
    started_at: datetime | None
    message: str | None
    changed: tuple[str, ...]
    """`schema.name` of each relation that it changed."""


def nodes_of(extra_info: str | None) -> list[NodeOrigin]:
    """Return the nodes of the snapshot of a whole run, in their order. For other snapshots the list is empty."""
    found = _object(extra_info).get("nodes")
    return [_node(each) for each in (found if isinstance(found, list) else []) if isinstance(each, dict) and _text(each, "node_id")]


def _node(found: Mapping[str, object]) -> NodeOrigin:
    changed = found.get("changed")
    names = tuple(each for each in changed if isinstance(each, str)) if isinstance(changed, list) else ()
    return NodeOrigin(_text(found, "node_id") or "", _time(found.get("started_at")), _text(found, "message"), names)


def origin(extra_info: str | None, relation: str | None = None) -> Origin:
    """Return the origin that `commit_extra_info` describes; an empty one if it is not a JSON object.

    Args:
        extra_info: the value of `commit_extra_info`.
        relation: `schema.name` of a relation; in the snapshot of a whole run, the node is the last one that changed this relation.
    """
    found = _object(extra_info)
    if not found:
        return Origin()
    entries = {key: value if isinstance(value, str) else json.dumps(value) for key, value in found.items() if value is not None}
    node = found if relation is None else {**found, **_node_of(found, relation)}
    return Origin(_text(node, "node_id"), _text(found, "invocation_id"), _time(node.get("started_at")), entries)


def _object(extra_info: str | None) -> Mapping[str, object]:
    try:
        found = json.loads(extra_info or "null")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _node_of(found: Mapping[str, object], relation: str) -> Mapping[str, object]:
    """Return the entries of the last node of a run that changed a relation."""
    nodes = found.get("nodes")
    for node in reversed(nodes if isinstance(nodes, list) else []):
        changed = node.get("changed") if isinstance(node, dict) else None
        if isinstance(changed, list) and relation in changed:
            return dict(node)
    return {}


def _text(found: Mapping[str, object], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) else None


def _time(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
