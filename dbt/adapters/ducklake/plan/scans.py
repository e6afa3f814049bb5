"""Which files of a table a query reads, cached as long as the lake stays at the same snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..format.files import ColumnFilter, ScanPlan
from ..format.objects import Table
from .view import LakeView, Version

Filters = tuple[ColumnFilter, ...]
MOST_PLANS = 8
"""How many plans of one version of a table are remembered, for different conditions."""


@dataclass(frozen=True)
class Scan:
    """How a table is read."""

    plan: ScanPlan
    pruned_by: Filters
    """What left out files; empty if none was left out."""
    asked: Filters
    """What the rows must pass to matter to the query."""


@dataclass
class _Known:
    files: int
    plans: dict[Filters, ScanPlan] = field(default_factory=dict)

    def keep(self, asked: Filters, plan: ScanPlan) -> None:
        """Remember a plan, and only the latest few."""
        while len(self.plans) >= MOST_PLANS:
            del self.plans[next(iter(self.plans))]
        self.plans[asked] = plan


class ScanPlans:
    """The scan plans of a session. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, Version], _Known] = {}
        self._planned_at: dict[str, int] = {}

    def scan(self, lake: str, view: LakeView, version: Version, table: Table, needed: Callable[[], Filters]) -> Scan:
        """How to read a table.

        Args:
            lake: the name of its lake.
            view: its lake, in which `table` was found.
            version: which rows of it `view` shows.
            table: the table.
            needed: what rows must pass to matter to the query; called only if that can leave out a file.
        """
        if self._planned_at.get(lake) != version.planned_at:
            self._known = {key: known for key, known in self._known.items() if key[0] != lake}
            self._planned_at[lake] = version.planned_at
        known = self._known.get((lake, table.table_id, version))
        if known is None:
            return self._first(lake, view, version, table, needed)
        asked = needed() if known.files > 1 else ()
        plan = known.plans.get(asked)
        if plan is None:
            plan = view.scan_plan(table, within=asked)
            known.keep(asked, plan)
        return _scan(plan, asked)

    def _first(self, lake: str, view: LakeView, version: Version, table: Table, needed: Callable[[], Filters]) -> Scan:
        asked: list[Filters] = []

        def ask() -> Filters:
            asked.append(needed())
            return asked[-1]

        plan = view.scan_plan(table, within=ask)
        filters = asked[-1] if asked else ()
        others = {key: known for key, known in self._known.items() if key[:2] != (lake, table.table_id) or key[2].revision is None}
        self._known = others | {(lake, table.table_id, version): _Known(len(plan.files) + plan.pruned_files)}
        self._known[lake, table.table_id, version].keep(filters, plan)
        return _scan(plan, filters)


def _scan(plan: ScanPlan, asked: Filters) -> Scan:
    return Scan(plan, asked if plan.pruned_files else (), asked)
