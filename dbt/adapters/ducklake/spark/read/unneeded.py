"""Which columns of encrypted files a query does not need, from the plan that Spark's optimizer makes of it.

Spark leaves no column out of what a Python function returns. But the optimizer places a projection on each function, perhaps with
filters in between, and their columns are all that the query needs of it. Without these columns the query can be registered again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MARK = "read_encrypted: "
"""The beginning of the names of the functions that read encrypted files; the rest is the name of the table."""
_OWN = ("__ducklake", "_ducklake")
"""Prefixes of what a scan adds to the columns of a table; columns with such names are read under others."""


def unneeded_columns(frame: DataFrame) -> Mapping[str, frozenset[str]]:
    """Return table → its columns that the query does not need, by the names under which they are read.

    Empty if nothing can be left out, if Spark has cached rows for a part of the query, which would be computed again, and with Spark
    Connect, which shows no plan.
    """
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        return {}
    found = _Found()
    found.visit(java.queryExecution().optimizedPlan(), None)
    unneeded = {table: frozenset(names - found.used[table]) for table, names in found.read.items()}
    return {} if found.cached else {table: names for table, names in unneeded.items() if names}


@dataclass
class _Found:
    """The columns of each table that the functions of a plan return, and those that the plan uses."""

    read: dict[str, set[str]] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=dict)
    cached: bool = False
    """Whether Spark has cached the rows of a part of the plan."""

    def visit(self, plan: Any, used: frozenset[str] | None) -> None:
        """Visit a node and those below it, also in subqueries; the nodes above need the columns `used`, or all if it is None."""
        kind = plan.getClass().getSimpleName()
        self.cached = self.cached or kind == "InMemoryRelation"
        name = plan.functionExpr().name() if kind == "MapInArrow" else ""
        if name.startswith(MARK):
            table = name.removeprefix(MARK)
            columns = {each for each in _names(plan.output()) if not each.startswith(_OWN)}
            self.read.setdefault(table, set()).update(columns)
            self.used.setdefault(table, set()).update(columns if used is None else used)
        below = None
        if kind == "Project":
            below = _referenced(plan)
        elif kind == "Filter" and used is not None:
            below = used | _referenced(plan)
        for child in _each(plan.children()):
            self.visit(child, below)
        for subquery in _each(plan.subqueries()):
            self.visit(subquery, None)


def _referenced(plan: Any) -> frozenset[str]:
    return frozenset(_names(plan.references().toSeq()))


def _names(attributes: Any) -> Iterator[str]:
    return (str(each.name()) for each in _each(attributes))


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(number) for number in range(sequence.size()))
