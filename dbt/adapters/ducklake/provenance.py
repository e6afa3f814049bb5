"""The provenance that a snapshot records: author, message, and JSON with dbt's invocation, node, start time, target and versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from .__version__ import version as adapter_version


@dataclass(frozen=True)
class Provenance:
    """`author`, `message` and `extra_info` (JSON text) of the snapshots that a connection commits."""

    author: str | None
    message: str
    extra_info: str

    def with_message(self, message: str, author: str | None) -> Provenance:
        """Return this provenance with the user's message, and author if given."""
        return replace(self, message=message.strip() or self.message, author=author or self.author)

    def with_extra_info(self, more: str | Mapping[str, Any] | None) -> Provenance:
        """Return this provenance with more JSON: the entries of a dictionary or of a JSON object; any other text is stored under `info`.

        Raises:
            DbtRuntimeError: an entry has a name that dbt-ducklake sets, or `more` is neither a dictionary nor a string.
        """
        if not more:
            return self
        own, added = json.loads(self.extra_info), _entries(more)
        taken = sorted(own.keys() & added.keys())
        if taken:
            raise DbtRuntimeError(f"commit_extra_info cannot contain {', '.join(taken)}: dbt-ducklake sets them. Choose other names")
        return replace(self, extra_info=json.dumps({**own, **added}, default=str))


def _entries(more: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a dictionary or of a JSON object; any other text becomes the entry `info`."""
    if isinstance(more, Mapping):
        return dict(more)
    if not isinstance(more, str):
        raise DbtRuntimeError(f"commit_extra_info must be a dictionary or a string; it is {more!r}")
    try:
        found = json.loads(more)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"info": more}


def provenance_of(config: Any, name: str | None) -> Provenance:
    """Return the provenance of a connection's snapshots: a node, an operation, or the hooks of a run.

    Args:
        config: dbt's runtime configuration, or the profile alone as `dbt debug` has it.
        name: the connection's name, which is the node's unique id where there is a node.
    """
    command = getattr(getattr(config, "args", None), "which", None)
    is_node = name is not None and "." in name  # only the unique id of a node contains a dot
    message = " ".join(["dbt", *filter(None, [command, name if is_node or command is None else None])])
    extra: Mapping[str, str | None] = {
        "invocation_id": get_invocation_id(),
        "node_id": name if is_node else None,
        "started_at": datetime.now(timezone.utc).isoformat(timespec="milliseconds") if is_node else None,
        "target": getattr(config, "target_name", None),
        "project": getattr(config, "project_name", None),
        "dbt_version": _installed_version("dbt-core"),
        "dbt_ducklake_version": adapter_version,
    }
    author = getattr(config.credentials, "author", None)
    return Provenance(author, message, json.dumps({key: value for key, value in extra.items() if value is not None}))


def _installed_version(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
