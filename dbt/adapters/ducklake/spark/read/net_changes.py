"""The net changes of a table between two snapshots as a DataFrame: at most one change for each row.

A row that both snapshots have with the same values is no change, even if it was written again under another row id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from ...format.files import ChangePlan, ScanPlan
from ...format.identifiers import backquoted
from ..values.equality import groupable
from .changes import ROW, SNAPSHOT, deletions, insertions
from .scan import scan

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

CHANGE_TYPE = "_change_type"
SNAPSHOT_ID = "_snapshot_id"
INSERT, UPDATE, OLD_VERSION, DELETE = "insert", "update", "update_preimage", "delete"
"""The types of changes: new rows, new versions of rows, their old versions, and deleted rows."""
_IS_NEW = "__ducklake_is_new"
_EXTRA = "__ducklake_extra"
_PAIRED = "__ducklake_paired"


def all_rows(spark: SparkSession, plan: ScanPlan) -> DataFrame:
    """Return all rows of a table as insertions, each with the snapshot that created it."""
    names = [column.name for column in plan.columns]
    frame = scan(spark, plan, virtual=("snapshot_id",)).toDF(*names, SNAPSHOT)
    return frame.select(*map(backquoted, names), F.lit(INSERT).alias(CHANGE_TYPE), F.col(SNAPSHOT).alias(SNAPSHOT_ID))


def net_changes(spark: SparkSession, plan: ChangePlan, start: int, *, old_versions: bool) -> DataFrame:
    """Return the columns of the table, `_change_type`, and in `_snapshot_id` the snapshot of the change.

    Args:
        spark: a session of `SparkRuntime`.
        plan: the plan of `SnapshotReader.net_changes`.
        start: the first snapshot after the earlier one.
        old_versions: an update yields its old version, too.
    """
    columns = plan.inserted.columns
    new = insertions(spark, plan).withColumn(_IS_NEW, F.lit(True))
    if plan.ended.files or plan.ended.inlined or plan.files_with_deletes.files:
        both = new.unionAll(deletions(spark, plan, start).withColumn(_IS_NEW, F.lit(False)))
        values = [groupable(F.col(backquoted(column.name)), column) for column in columns]
        changed = _paired(_without_equals(both, values))
    else:
        changed = new.withColumn(_PAIRED, F.lit(False))
    kind = (
        F.when(F.col(_IS_NEW), F.when(F.col(_PAIRED), F.lit(UPDATE)).otherwise(F.lit(INSERT)))
        .when(F.col(_PAIRED), F.lit(OLD_VERSION))
        .otherwise(F.lit(DELETE))
    )
    names = [backquoted(column.name) for column in columns]
    found = changed.select(*names, kind.alias(CHANGE_TYPE), F.col(SNAPSHOT).alias(SNAPSHOT_ID))
    return found if old_versions else found.where(F.col(CHANGE_TYPE) != OLD_VERSION)


def _without_equals(both: DataFrame, values: list[SparkColumn]) -> DataFrame:
    """Remove pairs of one new and one old row with equal values."""
    number = F.row_number().over(Window.partitionBy(*values, _IS_NEW).orderBy(ROW))
    of_value = Window.partitionBy(*values)
    new, old = (F.sum(F.when(F.col(_IS_NEW) == is_new, 1).otherwise(0)).over(of_value) for is_new in (True, False))
    extra = number > F.when(F.col(_IS_NEW), old).otherwise(new)
    return both.withColumn(_EXTRA, extra).where(F.col(_EXTRA)).drop(_EXTRA)


def _paired(changed: DataFrame) -> DataFrame:
    """Add whether a row has both an old and a new version."""
    of_row = Window.partitionBy(ROW)
    return changed.withColumn(_PAIRED, F.min(_IS_NEW).over(of_row) != F.max(_IS_NEW).over(of_row))
