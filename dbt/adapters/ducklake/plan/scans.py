"""Find the files of a table that a query reads. The plans are cached until the lake has a newer snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..format.files import Condition, ScanPlan
from ..format.objects import Table
from .view import LakeView, Version

MAX_PLANS = 8
"""How many plans of one version of a table are cached, for different filters; then the oldest is dropped."""


class ScanPlans:
    """The scan plans of a session. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, Version], dict[Condition, ScanPlan]] = {}
        self._planned_at: dict[str, int] = {}

    def scan(
        self, lake: str, view: LakeView, version: Version, table: Table, needed: Callable[[], Condition]
    ) -> tuple[ScanPlan, Condition]:
        """Return how to read a table, and the filters that were used to leave out files, even if none was left out.

        Args:
            lake: the name of its lake.
            view: the view of the lake in which `table` was found.
            version: the version of the rows that `view` shows.
            table: the table.
            needed: returns filters that every row used by the query passes; called only if they can leave out a file.
        """
        if self._planned_at.get(lake) != version.planned_at:
            self._known = {key: plans for key, plans in self._known.items() if key[0] != lake}
            self._planned_at[lake] = version.planned_at
        plans = self._known.get((lake, table.table_id, version))
        if plans is None:
            return self._first(lake, view, version, table, needed)
        any_plan = next(iter(plans.values()))
        filters = needed() if len(any_plan.files) + any_plan.pruned_files > 1 else ()
        if filters not in plans:
            plan = view.scan_plan(table, within=filters)
            if plan.inlined == any_plan.inlined:  # a concurrent flush may have moved them to a file, so they are read again
                plan = replace(plan, inlined=any_plan.inlined)
            if len(plans) >= MAX_PLANS:
                del plans[next(iter(plans))]
            plans[filters] = plan
        return plans[filters], filters

    def _first(
        self, lake: str, view: LakeView, version: Version, table: Table, needed: Callable[[], Condition]
    ) -> tuple[ScanPlan, Condition]:
        filters: Condition = ()

        def within() -> Condition:
            nonlocal filters
            filters = needed()
            return filters

        plan = view.scan_plan(table, within=within)
        # plans for earlier staged changes of this table are dropped
        others = {key: plans for key, plans in self._known.items() if key[:2] != (lake, table.table_id) or key[2].revision is None}
        self._known = others | {(lake, table.table_id, version): {filters: plan}}
        return plan, filters
