"""Count and fetch, without a Spark job, the rows of a query of constants such as VALUES: the optimizer makes it a local relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...format.objects import Column
from ..values.conform import data_errors
from .write import shaped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONSTANT_LEAVES = frozenset({"LocalRelation", "OneRowRelation"})


def local_row_count(rows: DataFrame) -> int | None:
    """Return the number of rows of a query of constants; None if the query reads data, or if only running it shows the number."""
    frame: Any = getattr(rows, "_jdf", None)
    if frame is None:  # with Spark Connect only the server has the plan
        return None
    execution = frame.queryExecution()
    leaves = execution.analyzed().collectLeaves()
    if any(leaves.apply(index).nodeName() not in _CONSTANT_LEAVES for index in range(leaves.size())):
        return None
    plan = execution.optimizedPlan()
    while plan.nodeName() == "Project":
        plan = plan.child()
    match plan.nodeName():
        case "LocalRelation":
            return int(plan.data().size())
        case "OneRowRelation":
            return 1
    return None


def fitted_rows(rows: DataFrame, columns: tuple[Column, ...]) -> pa.Table:
    """Fetch the rows, cast to the types of the table's columns.

    Raises:
        DataError: a NOT NULL column contains NULL, or a value does not fit its column.
    """
    with data_errors():
        return shaped(rows, columns).toArrow()
