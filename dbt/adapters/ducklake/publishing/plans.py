"""What each selected node reads and waits for under `publish: tested`, and whether configs and manifest fit the command's `publish`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from ..errors import ConfigurationError
from ..format.identifiers import fold
from .results import names
from .settings import CHOICES, NODE, RUN, TESTED, VARIABLE, Publishing

if TYPE_CHECKING:
    from ..session.staged_nodes import NodePlan

_TESTS = ("test", "unit_test")
_HOOK = "operation.dbt_ducklake.dbt_ducklake-on-run-end-"
"""The id of the hook that calls the macro `ducklake_publish_run`, without its number. Disabled hooks are not among a manifest's nodes."""


def check_nodes(manifest: Any, selected: Collection[str], publishing: Publishing) -> None:
    """Require that the selected nodes can be published as their configs and the command say.

    Raises:
        DbtRuntimeError: a config contradicts the command, or a run would change several lakes; the message names the nodes.
    """
    nodes = [node for node in map(_finder(manifest), selected) if node is not None]
    for name, known in CHOICES.items():
        _check_configs(nodes, name, known, publishing)
    built = [node for node in nodes if _is_built(node)]
    lakes = {fold(node.database): node.database for node in built if getattr(node, "database", None)}
    if publishing.publish == RUN and len(lakes) > 1:
        raise DbtRuntimeError(
            f"With `publish: run`, a command can change one lake, but the selected nodes are in {', '.join(sorted(lakes.values()))}. "
            "Select those of one lake, such as with `--select config.database:<name>`, or set publish: tested or publish: node"
        )


def _check_configs(nodes: Sequence[Any], name: str, known: Sequence[str], publishing: Publishing) -> None:
    """Require that the config `publish` or `publish_on` of each node has a known value that fits the command."""
    for node in nodes:
        own = _configs(node)[name]
        if own not in (None, *known):
            raise DbtRuntimeError(f"The config `{name}` of {node.unique_id} must be one of {', '.join(known)}; it is {own!r}")
    command = getattr(publishing, name)
    unfit = [] if name in publishing.on_command_line else [node for node in nodes if not _fits(_configs(node)[name], command)]
    if unfit:
        raise DbtRuntimeError(
            f"The config `{name}: {_configs(unfit[0])[name]}` does not fit this command, whose `{name}` is {command}: "
            f"{names(node.name for node in unfit)}. With `publish: tested`, a node can set `publish: node` to wait for no test. "
            f"All else is set for the whole command: in the profile, or by the variable `{VARIABLE}{name}`"
        )


def require_hook(manifest: Any) -> None:
    """Require that dbt will run the hook that publishes staged changes at the end of the command.

    The hook is enabled when the project is parsed. Code that calls dbt can pass a manifest that was parsed with another value of `publish`.

    Raises:
        ConfigurationError: the manifest does not have the hook, or it is disabled.
    """
    if not any(key.startswith(_HOOK) for key in getattr(manifest, "nodes", None) or ()):
        raise ConfigurationError(
            "The manifest given to dbt was parsed with `publish: node`, so nothing would publish the changes of this command. "
            "Parse the project again with the target and the vars of this command"
        )


def plans(manifest: Any, selected: Collection[str], publishing: Publishing) -> dict[str, NodePlan]:
    """Return the plan of each selected node and test.

    A test belongs to the node at which it is declared; a singular test, and a test of an ephemeral model, to all nodes that it reads.
    Unit tests of selected models are included, because `dbt build` runs them without naming them among the selected nodes.

    Args:
        manifest: dbt's manifest.
        selected: the ids of the selected nodes.
        publishing: the settings of the command.
    """
    from ..session.staged_nodes import NodePlan

    find = _finder(manifest)
    chosen = set(selected)
    chosen |= {key for key, test in (getattr(manifest, "unit_tests", None) or {}).items() if test.depends_on.nodes[0] in chosen}
    nodes = {key: node for key in chosen if (node := find(key)) is not None}
    built = {key for key, node in nodes.items() if _is_built(node)}
    waits_for: dict[str, set[str]] = {key: set() for key in built}
    for key, node in nodes.items():
        if node.resource_type == "test":
            attached = getattr(node, "attached_node", None)
            for owner in [attached] if attached in built else _tables(find, node) & built:
                if "publish" in publishing.on_command_line or _configs(nodes[owner])["publish"] != NODE:
                    waits_for[owner].add(key)
    return {
        key: NodePlan(frozenset(_ancestors(find, node) & built), frozenset(waits_for.get(key, ())), node.resource_type in _TESTS)
        for key, node in nodes.items()
    }


def _fits(own: str | None, command: str) -> bool:
    return own in (None, command) or (own, command) == (NODE, TESTED)


def _configs(node: Any) -> dict[str, str | None]:
    """Return the configs of a node that say when it is published."""
    config = node.config if hasattr(node.config, "get") else {}
    return {"publish": config.get("publish"), "publish_on": config.get("publish_on")}


def _is_built(node: Any) -> bool:
    return node.resource_type in ("model", "seed", "snapshot") and not _is_ephemeral(node)


def _is_ephemeral(node: Any) -> bool:
    return getattr(node.config, "materialized", None) == "ephemeral"


def _finder(manifest: Any) -> Any:
    """Return a function that finds a node, unit test or function by its id."""
    places = [getattr(manifest, name, None) or {} for name in ("nodes", "unit_tests", "functions")]
    return lambda key: next((place[key] for place in places if key in place), None)


def _parents(find: Any, node: Any) -> Iterator[Any]:
    for key in getattr(getattr(node, "depends_on", None), "nodes", ()):
        parent = find(key)
        if parent is not None:
            yield parent


def _tables(find: Any, node: Any) -> set[str]:
    """Return the ids of the nodes that a node reads; an ephemeral model is replaced by the nodes that it reads."""
    found: set[str] = set()
    for parent in _parents(find, node):
        found |= _tables(find, parent) if _is_ephemeral(parent) else {parent.unique_id}
    return found


def _ancestors(find: Any, node: Any) -> set[str]:
    found: set[str] = set()
    left = [node]
    while left:
        for parent in _parents(find, left.pop()):
            if parent.unique_id not in found:
                found.add(parent.unique_id)
                left.append(parent)
    return found
