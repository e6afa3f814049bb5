"""What the results of nodes and tests allow to publish, and publishing it at the end of a command."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt.flags import get_flags
from dbt_common.dataclass_schema import ValidationError
from dbt_common.exceptions import DbtBaseException, DbtRuntimeError

from ..errors import DuckLakeError
from ..provenance import provenance_of
from .settings import ALWAYS, SUCCESS

if TYPE_CHECKING:
    from ..session import Lake

_FAILED = ("error", "fail", "runtime error", "partial success")
"""The statuses of results that failed."""
_WITH_ROWS = ("fail", "warn")
"""The statuses of tests that found rows."""
_COUNTED_COLUMNS = 3
"""The number of columns of a test's result: `failures`, `should_warn` and `should_error`."""
_MAX_NAMES = 5
"""The maximum number of names, or of lines about nodes, in a message."""


def thresholds_reached(counted: Any) -> tuple[bool, bool] | None:
    """Return whether the number of failures of a data test reaches `warn_if`, and whether it reaches `error_if`; None if dbt rejects it.

    dbt reads the result after the materialization of the test. If it finds no number, as for `max(…)` of no rows, the test is an error.

    Args:
        counted: an agate table with the rows of the test's query.
    """
    from dbt.task.test import TestResultData

    if len(counted.rows) != 1 or len(counted.columns) != _COUNTED_COLUMNS:
        return None
    values = [float(value) if isinstance(value, Decimal) else value for value in counted.rows[0]]
    found: dict[str, Any] = {**dict(zip(map(str.lower, counted.column_names), values, strict=True)), "adapter_response": {}}
    try:
        TestResultData.validate(found)  # type: ignore[no-untyped-call]
    except (KeyError, ValidationError, DbtBaseException):
        return None
    return found["should_warn"], found["should_error"]


def obstacle(results: Sequence[Any], publish_on: str) -> str | None:
    """Return why the results prevent publishing; None if they do not."""
    if publish_on == ALWAYS:
        return None
    failed = [each for each in results if each.status in _FAILED]
    if failed:
        return f"{len(failed)} of {len(results)} nodes failed ({names(each.node.name for each in failed)})"
    warned = [each for each in results if each.status == "warn"]
    if warned and publish_on == SUCCESS:
        return f"{len(warned)} of {len(results)} nodes warned ({names(each.node.name for each in warned)}), and publish_on is success"
    return None


def publish_run(lake: Lake, config: Any, results: Sequence[Any], publish_on: str, selected: Collection[str]) -> list[str]:
    """Publish the staged run. If the results prevent that, discard it except for the rows that tests have stored.

    If nothing is published, the results that were successful are marked as skipped, so that `dbt retry` builds and tests their nodes again.

    Args:
        lake: the lake whose run is staged.
        config: dbt's runtime configuration.
        results: the results of the nodes.
        publish_on: see `CHOICES`.
        selected: the ids of the selected nodes.

    Returns:
        Lines for the log.

    Raises:
        DbtRuntimeError: the changes conflict with those of a concurrent writer, so nothing was published; or a deferred statement failed
            after the run was published.
    """
    run = lake.run
    if run is None:
        return []
    origin = provenance_of(config, None)
    reason = obstacle(results, publish_on)
    would_skip = get_flags().SKIP_NODES_IF_ON_RUN_START_FAILS and selected  # type: ignore[no-untyped-call]
    if not results and would_skip and publish_on != ALWAYS:
        reason = "no selected node ran, because an on-run-start hook failed"
    changed = run.changed_names()
    try:
        if reason is not None:
            kept = [(each.node.schema, each.node.alias) for each in results if each.status in _WITH_ROWS and _stores_failures(each.node)]
            _mark_skipped(results, reason)
            snapshot = run.publish(origin.author, f"{origin.message}: rows of failed tests", origin.extra_info, only=kept) if kept else None
            note = "" if snapshot is None else f" The rows of failed tests are in snapshot {snapshot.snapshot_id}."
            return [
                f"Nothing was published: {reason}.{note}",
                f"It would have changed {_relations(changed)}: {names(changed)}" if changed else "It would have changed nothing",
            ]
        snapshot = run.publish(origin.author, origin.message, origin.extra_info)
    except DuckLakeError as error:
        _mark_skipped(results, f"the run could not be published: {error}")
        raise DbtRuntimeError(f"Nothing was published: {error}") from error
    finally:
        lake.end_run()
    failed = _run_deferred(lake, config, run.deferred)
    if failed:
        raise DbtRuntimeError("\n".join(failed))
    if snapshot is None:
        return ["Nothing changed, so there is nothing to publish"]
    return [f"Published {_relations(changed)} as snapshot {snapshot.snapshot_id}: {names(changed)}"]


def publish_tested(lake: Lake, config: Any, results: Sequence[Any], publish_on: str) -> list[str]:
    """Publish the nodes that wait only for the end of the command, and discard the rest.

    The results of nodes that are not published, and of their tests, are marked as skipped, so that `dbt retry` builds and tests them again.

    Args:
        lake: the lake whose nodes are staged.
        config: dbt's runtime configuration.
        results: the results of the nodes.
        publish_on: see `CHOICES`.

    Returns:
        Lines for the log.

    Raises:
        DbtRuntimeError: the changes of a node conflict with those of a concurrent writer, so the node was not published; or a deferred
            statement failed after nodes were published.
    """
    nodes = lake.nodes
    if nodes is None:
        return []
    built = {each.node.unique_id for each in results if each.status not in (*_FAILED, "skipped")}
    conflicts: list[DuckLakeError] = []
    try:
        nodes.finish(built, untested=publish_on == ALWAYS)
    except DuckLakeError as error:
        conflicts.append(error)
    unpublished = nodes.unpublished
    lake.end_run()
    for each in results:
        reasons = _reasons(each.node, unpublished)
        if reasons:
            _mark_skipped([each], reasons[0])
    errors = [*map(str, conflicts), *_run_deferred(lake, config, nodes.deferred)]
    if errors:
        raise DbtRuntimeError("\n".join(errors)) from (conflicts[0] if conflicts else None)
    lines = [f"{node.split('.', 2)[-1]} was not published: {reason}" for node, reason in unpublished.items()]
    more = len(lines) - _MAX_NAMES
    return lines[:_MAX_NAMES] + ([f"{more} more nodes were not published"] if more > 0 else [])


def _reasons(node: Any, unpublished: Mapping[str, str]) -> list[str]:
    """Return why a node, or a node that it tests, was not published."""
    tested = node.depends_on.nodes if node.resource_type == "test" else ()
    return [unpublished[key] for key in (node.unique_id, *tested) if key in unpublished]


def _run_deferred(lake: Lake, config: Any, statements: Sequence[str]) -> list[str]:
    """Run the maintenance statements that hooks of the run have sent, and return a message for each that fails."""
    failed: list[str] = []
    if not statements:
        return failed
    with lake.session(config.credentials.schema) as session:
        for statement in statements:
            try:
                session.execute(statement)
            except DuckLakeError as error:
                failed.append(f"The changes were published, but this maintenance statement of a hook failed: {statement}\n  {error}")
    return failed


def _stores_failures(node: Any) -> bool:
    """Whether a test stores its rows in a table. As in dbt's `should_store_failures`, its config takes precedence over the flag."""
    own = getattr(node.config, "store_failures", None)
    stores = get_flags().STORE_FAILURES if own is None else own  # type: ignore[no-untyped-call]
    return bool(stores) and getattr(node.config, "store_failures_as", None) in (None, "table")


def _mark_skipped(results: Sequence[Any], reason: str) -> None:
    """Mark successful results as skipped and forget the batches of all results, so that `dbt retry` runs all nodes with all batches."""
    for each in results:
        each.batch_results = None
        if each.status not in _FAILED:
            each.status = type(each.status)("skipped")
            each.message = f"not published: {reason}"


def _relations(changed: Collection[str]) -> str:
    return f"{len(changed)} relation{'' if len(changed) == 1 else 's'}"


def names(given: Iterable[str]) -> str:
    """Return the first names, in alphabetical order, for a message."""
    found = sorted(given)
    more = f" and {len(found) - _MAX_NAMES} more" if len(found) > _MAX_NAMES else ""
    return ", ".join(found[:_MAX_NAMES]) + more
