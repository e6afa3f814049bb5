"""Which nodes `dbt retry` builds; for all other commands, dbt records the selection in `dbt.selected_resources`."""

from __future__ import annotations

from pathlib import Path

from click import get_current_context
from dbt.constants import RUN_RESULTS_FILE_NAME
from dbt.contracts.state import load_result_state


def retried() -> frozenset[str] | None:
    """Return the ids of the nodes and tests that this `dbt retry` runs again; None for all other commands.

    dbt selects them by the results of the earlier command, and records them nowhere. Nor does its configuration name the command: it has
    the arguments of the earlier one. So this reads the same results, and must be called in the thread of the command, after dbt has begun
    the retry and before it writes new results.
    """
    context = get_current_context(silent=True)
    if context is None or context.info_name != "retry":
        return None
    from dbt.task.retry import RETRYABLE_STATUSES  # with dbt's `--warn-error`, it includes warnings by now

    config, flags = context.obj["runtime_config"], context.obj["flags"]
    previous = load_result_state(Path(config.project_root) / Path(flags.state or config.target_path) / RUN_RESULTS_FILE_NAME)
    results = () if previous is None else previous.results
    # the statuses are enumerations of the same strings
    failed = (result.unique_id for result in results if result.status in RETRYABLE_STATUSES)  # type: ignore[comparison-overlap]
    return frozenset(key for key in failed if not key.startswith("operation."))
