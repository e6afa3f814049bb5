"""Bound and fetch the rows of a query that Spark knows to be small. Then this process stages them, and no Spark job writes files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...format.objects import Column
from ..values.conform import data_errors
from .write import shaped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_ROWS = 100_000
"""The maximum number of rows that are fetched. Executors write more rows in parallel."""
_LITERAL_LEAVES = frozenset({"LocalRelation", "OneRowRelation"})


@dataclass(frozen=True)
class RowBound:
    """An upper bound of the number of rows of a query."""

    rows: int
    is_exact: bool
    """Whether it is the number of rows, because the optimizer made the query a local relation, which no job computes."""
    reads_memory: bool
    """Whether the query reads only local relations. Otherwise it ends with a LIMIT, and the size of its values is unknown."""

    @property
    def is_few(self) -> bool:
        """Whether so many rows may be fetched."""
        return self.rows <= MAX_ROWS


def bound_of_rows(rows: DataFrame) -> RowBound | None:
    """Return a bound for a query that reads only local relations, such as VALUES and small tables, or that ends with a LIMIT.

    Returns:
        The bound; None for other queries, if Spark knows none, or with Spark Connect, where only the server has the plan.
    """
    frame: Any = getattr(rows, "_jdf", None)
    if frame is None:
        return None
    analyzed = frame.queryExecution().analyzed()
    reads_memory = _leaves(analyzed) <= _LITERAL_LEAVES
    if not reads_memory and _inner(analyzed, "Project", "SubqueryAlias", "View").nodeName() != "GlobalLimit":
        return None
    plan = frame.queryExecution().optimizedPlan()
    bound = plan.maxRows()
    if not bound.isDefined():
        return None
    return RowBound(int(bound.get()), _inner(plan, "Project").nodeName() in _LITERAL_LEAVES, reads_memory)


def fitted_rows(rows: DataFrame, columns: tuple[Column, ...]) -> pa.Table:
    """Fetch the rows, cast to the types of the table's columns.

    Raises:
        DataError: a NOT NULL column contains NULL, or a value does not fit its column.
    """
    with data_errors():
        return shaped(rows, columns).toArrow()


def _leaves(plan: Any) -> set[str]:
    leaves = plan.collectLeaves()
    return {str(leaves.apply(index).nodeName()) for index in range(leaves.size())}


def _inner(plan: Any, *outer: str) -> Any:
    """Return the first node below the top that is none of `outer`, which have one child each."""
    while plan.nodeName() in outer:
        plan = plan.children().head()
    return plan
