"""Find the files of a table that a query reads, cached until a newer snapshot of the lake is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..format.files import ScanPlan
from ..format.objects import Table
from .filters import Filters
from .view import LakeView, Version

MAX_PLANS = 8
"""How many plans of one version of a table are cached, for different filters."""


@dataclass(frozen=True)
class Scan:
    """How a table is read."""

    plan: ScanPlan
    needed: Filters

    @property
    def pruned_by(self) -> Filters:
        """The filters that left out files; empty if no file was left out."""
        return self.needed if self.plan.pruned_files else ()


@dataclass
class _Cached:
    """The number of files of one version of a table, and its plans."""

    files: int
    plans: dict[Filters, ScanPlan] = field(default_factory=dict)

    def keep(self, filters: Filters, plan: ScanPlan) -> None:
        """Cache a plan, and drop the oldest if there are `MAX_PLANS`."""
        while len(self.plans) >= MAX_PLANS:
            del self.plans[next(iter(self.plans))]
        self.plans[filters] = plan


class ScanPlans:
    """The scan plans of a session. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, Version], _Cached] = {}
        self._planned_at: dict[str, int] = {}

    def scan(self, lake: str, view: LakeView, version: Version, table: Table, needed: Callable[[], Filters]) -> Scan:
        """Return how to read a table.

        Args:
            lake: the name of its lake.
            view: the view of the lake in which `table` was found.
            version: the version of the rows that `view` shows.
            table: the table.
            needed: returns filters that every row passes that the query uses; called only if they can leave out a file.
        """
        if self._planned_at.get(lake) != version.planned_at:
            self._known = {key: known for key, known in self._known.items() if key[0] != lake}
            self._planned_at[lake] = version.planned_at
        known = self._known.get((lake, table.table_id, version))
        if known is None:
            return self._first(lake, view, version, table, needed)
        filters = needed() if known.files > 1 else ()
        plan = known.plans.get(filters)
        if plan is None:
            plan = view.scan_plan(table, within=filters)
            known.keep(filters, plan)
        return Scan(plan, filters)

    def _first(self, lake: str, view: LakeView, version: Version, table: Table, needed: Callable[[], Filters]) -> Scan:
        used: list[Filters] = []

        def within() -> Filters:
            used.append(needed())
            return used[-1]

        plan = view.scan_plan(table, within=within)
        filters = used[-1] if used else ()
        # plans for earlier staged changes of this table are dropped
        others = {key: known for key, known in self._known.items() if key[:2] != (lake, table.table_id) or key[2].revision is None}
        self._known = others | {(lake, table.table_id, version): _Cached(len(plan.files) + plan.pruned_files)}
        self._known[lake, table.table_id, version].keep(filters, plan)
        return Scan(plan, filters)
