"""Whether a dbt command will need Spark, decided before its first statement does, so that Spark starts while dbt parses and compiles."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

COMMANDS = ("run", "build", "test", "snapshot", "show")
"""The dbt commands that run the queries of nodes. Others start Spark with the first statement that needs it."""
SELECTIONS = ("select", "models", "exclude", "selector", "resource_types", "exclude_resource_types")
"""The options that select nodes."""
QUERIES = ("snapshot.", "test.", "unit_test.", "function.", "sql operation.")
"""Prefixes of the ids of nodes, other than models, that run queries in Spark."""


def command_needs_spark(config: Any) -> bool:
    """Whether a command needs Spark for every selection of nodes: it runs all nodes of a project that has models.

    Args:
        config: dbt's runtime configuration, or the profile alone.
    """
    arguments = getattr(config, "args", None)
    command = getattr(arguments, "which", None)
    if command == "show":
        return True
    if command not in ("run", "build") or any(getattr(arguments, name, None) for name in SELECTIONS) or getattr(config, "selectors", None):
        return False
    return any(_has_models(Path(config.project_root) / folder) for folder in config.model_paths)


def nodes_need_spark(config: Any, selected: Iterable[str], nodes: Collection[Any]) -> bool:
    """Whether a command needs Spark for one of the selected nodes.

    Args:
        config: dbt's runtime configuration, or the profile alone.
        selected: the ids of the selected nodes.
        nodes: the project's nodes that are relations; ephemeral models are not among them.
    """
    if getattr(getattr(config, "args", None), "which", None) not in COMMANDS:
        return False
    models = {node.unique_id for node in nodes if node.resource_type == "model"}
    return any(each in models or each.startswith(QUERIES) for each in selected)


def _has_models(folder: Path) -> bool:
    return any(name.endswith((".sql", ".py")) for _, _, names in os.walk(folder) for name in names)
