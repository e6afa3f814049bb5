"""The end of a command with `publish: tested`: publish the nodes that wait for nothing more, and report the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from .errors import DuckLakeError
from .publishing import ALWAYS, FAILED, MAX_NAMES, mark_skipped, run_deferred

if TYPE_CHECKING:
    from .session import Lake


def publish_tested(lake: Lake, config: Any, results: Sequence[Any], publish_on: str) -> list[str]:
    """Publish the nodes that wait only for the end of the command, and discard the rest.

    The results of nodes that are not published, and of their tests, are marked as skipped, so that `dbt retry` builds and tests them again.

    Args:
        lake: the lake whose nodes are staged.
        config: dbt's runtime configuration.
        results: the results of the nodes.
        publish_on: see `PUBLISH_ON`.

    Returns:
        Lines for the log.

    Raises:
        DbtRuntimeError: the changes of a node conflict with those of a concurrent writer; the node was not published.
    """
    nodes = lake.nodes
    if nodes is None:
        return []
    built = {each.node.unique_id for each in results if each.status not in (*FAILED, "skipped")}
    conflict = None
    try:
        nodes.finish(built, untested=publish_on == ALWAYS)
    except DuckLakeError as error:
        conflict = error
    unpublished = nodes.unpublished
    lake.end_run()
    for each in results:
        reasons = _reasons(each.node, unpublished)
        if reasons:
            mark_skipped([each], reasons[0])
    run_deferred(lake, config, nodes.deferred)
    if conflict is not None:
        raise DbtRuntimeError(str(conflict)) from conflict
    lines = [f"{node.split('.', 2)[-1]} was not published: {reason}" for node, reason in unpublished.items()]
    more = len(lines) - MAX_NAMES
    return lines[:MAX_NAMES] + ([f"{more} more nodes were not published"] if more > 0 else [])


def _reasons(node: Any, unpublished: Mapping[str, str]) -> list[str]:
    """Return why a node, or a node that it tests, was not published."""
    tested = node.depends_on.nodes if node.resource_type == "test" else ()
    return [unpublished[key] for key in (node.unique_id, *tested) if key in unpublished]
