"""What dbt's manifest says about a node: whether it reads changes, which tables it refers to, which batches are done, Spark settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt_common.clients.jinja import get_environment

READS_CHANGES = "ducklake_changes"
"""The macro that reads changes."""


def names_macro(code: str, name: str) -> bool:
    """Whether Jinja in the code names a macro; text and comments do not."""
    return any(kind == "name" and value == name for _, kind, value in get_environment().lex(code))


def calls_macro(node: Mapping[str, Any], name: str, manifest: Any) -> bool:
    """Whether the code of a node names a macro, or calls it through other macros.

    Args:
        node: the node, as Jinja's `model`.
        name: the name of the macro without its package.
        manifest: dbt's manifest; without one, only the code is searched.
    """
    if names_macro(node.get("raw_code") or "", name):
        return True
    macros = {} if manifest is None else manifest.macros
    seen: set[str] = set()
    pending = list((node.get("depends_on") or {}).get("macros") or ())
    while pending:
        key = pending.pop()
        if key in seen:
            continue
        seen.add(key)
        if key.rpartition(".")[2] == name:
            return True
        if key in macros:
            pending.extend(macros[key].depends_on.macros)
    return False


def inputs_of(node: Mapping[str, Any], manifest: Any) -> set[tuple[str, str]] | None:
    """Return (lake, `schema.name`) of each relation that a node refers to, with those that `--defer` would use; None without a manifest."""
    if manifest is None:
        return None
    found = set()
    for key in (node.get("depends_on") or {}).get("nodes") or ():
        relation = manifest.nodes.get(key) or manifest.sources.get(key)
        for place in (relation, getattr(relation, "defer_relation", None)):
            if place is not None and place.database and place.schema:
                found.add((place.database, f"{place.schema}.{getattr(place, 'identifier', None) or place.alias}"))
    return found


def has_finished_batches(node: Mapping[str, Any], manifest: Any) -> bool:
    """Whether batches of a microbatch model have succeeded in the run that `dbt retry` continues."""
    found = None if manifest is None else manifest.nodes.get(node.get("unique_id"))
    results = getattr(found, "previous_batch_results", None)
    return bool(results is not None and results.successful)


def spark_config(config: Mapping[str, Any], manifest: Any) -> Any:
    """Return the Spark settings of a node: for a unit test those of its model, whose query it computes."""
    tested = getattr(getattr(config, "model", None), "tested_node_unique_id", None)
    model = None if tested is None or manifest is None else manifest.nodes.get(tested)
    if model is not None:
        config = model.config
    return config.get("spark_config")
