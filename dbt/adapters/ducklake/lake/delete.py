"""DELETE and TRUNCATE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..spark.row_positions import collect_positions
from ..spec.files import ScanPlan
from ..spec.objects import Table
from .context import Context, RowCounts
from .row_changes import end_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delete(context: Context, table: Table, plan: ScanPlan, doomed: DataFrame) -> RowCounts:
    """Stage the end of the rows in `doomed`: rows of a scan of `plan` with lineage."""
    context.transaction.depends_on_rows(table)
    return RowCounts(deleted=end_rows(context, table, plan, collect_positions(doomed)))


def truncate(context: Context, table: Table) -> None:
    """Stage the end of every row, by metadata alone."""
    context.transaction.depends_on_rows(table)
    context.transaction.truncate(table)
