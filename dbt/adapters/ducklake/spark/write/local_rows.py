"""Rows of a query that are known to be few without a job: constants that Spark's optimizer has folded into a local relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...format.objects import Column
from ..values.conform import data_error
from .write import shaped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONSTANT = frozenset({"LocalRelation", "OneRowRelation"})


def local_row_count(rows: DataFrame) -> int | None:
    """How many rows a query of constants gives; None if it reads anything, or if only running it would tell."""
    frame: Any = getattr(rows, "_jdf", None)
    if frame is None:  # Spark Connect: the plan is the server's
        return None
    execution = frame.queryExecution()
    leaves = execution.analyzed().collectLeaves()
    if any(leaves.apply(index).nodeName() not in _CONSTANT for index in range(leaves.size())):
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
    """The rows in the table's types, fetched.

    Raises:
        DataError: a NULL in a column that is NOT NULL, or a value that its column's type does not have.
    """
    try:
        return shaped(rows, columns).toArrow()
    except BaseException as error:
        told = data_error(error)
        if told is not None:
            raise told from error
        raise
