"""The change feed of a table as DataFrames: the inserted rows, the deleted rows, or both as changes.

Specification: the page "Data Change Feed". A row id that the same snapshot deleted and inserted is an update.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from ...format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, ChangePlan
from ...format.identifiers import backquoted
from ..files.storage import THREADS
from ..rows.deleted import entries
from .positions import BROADCAST_LIMIT
from .scan import scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Names that users see.
SNAPSHOT_ID = "snapshot_id"
ROW_ID = "rowid"
CHANGE_TYPE = "change_type"
# Internal names of the first two, which no column of a table has.
SNAPSHOT = "__ducklake_snapshot"
ROW = "__ducklake_row"
_MATCH = "__ducklake_other"
_FILE = "__ducklake_deleted_file"
_POSITION = "__ducklake_deleted_position"


def insertions(spark: SparkSession, plan: ChangePlan) -> DataFrame:
    """Return the inserted rows: the columns of the table, then `SNAPSHOT` (the snapshot that inserted the row) and `ROW` (the row id)."""
    names = [column.name for column in plan.inserted.columns]
    frame = scan(spark, plan.inserted, virtual=("snapshot_id", "rowid"))
    return frame.toDF(*names, SNAPSHOT, ROW)


def deletions(spark: SparkSession, plan: ChangePlan, start: int) -> DataFrame:
    """Return the deleted rows with the same columns as `insertions`, where `SNAPSHOT` is the snapshot that deleted the row.

    Args:
        spark: the Spark session.
        plan: the files and inlined rows with the changes.
        start: the first snapshot of the range.
    """
    names = [column.name for column in plan.ended.columns]
    inlined = scan(spark, replace(plan.ended, files=()), virtual=("snapshot_id", "rowid")).toDF(*names, SNAPSHOT, ROW)
    parts = [inlined] if plan.ended.inlined else []
    output = [*(F.col(name) for name in map(backquoted, names)), F.col(SNAPSHOT), F.col(LINEAGE_ROW_ID).alias(ROW)]
    if plan.ended.files:
        ends = pa.table({_FILE: pa.array(plan.end_snapshots, pa.int64()), SNAPSHOT: pa.array(plan.end_snapshots.values(), pa.int64())})
        frame = scan(spark, replace(plan.ended, inlined=()), lineage=True)
        parts.append(frame.join(F.broadcast(spark.createDataFrame(ends)), F.col(LINEAGE_FILE) == F.col(_FILE)).select(*output))
    positions = _positions(plan, start)
    if positions.num_rows:
        found = spark.createDataFrame(positions)
        if positions.num_rows <= BROADCAST_LIMIT:
            found = F.broadcast(found)
        frame = scan(spark, plan.files_with_deletes, lineage=True)
        condition = (F.col(LINEAGE_FILE) == F.col(_FILE)) & (F.col(LINEAGE_POSITION) == F.col(_POSITION))
        parts.append(frame.join(found, condition).select(*output))
    return reduce(lambda one, other: one.unionAll(other), parts) if parts else inlined


def with_public_names(frame: DataFrame) -> DataFrame:
    """Rename the columns of insertions or deletions to the names that users see."""
    return frame.withColumnsRenamed({SNAPSHOT: SNAPSHOT_ID, ROW: ROW_ID})


def changes(spark: SparkSession, plan: ChangePlan, start: int) -> DataFrame:
    """Return a row for each change: `snapshot_id`, `rowid`, `change_type` and the columns of the table.

    Args:
        spark: the Spark session.
        plan: the files and inlined rows with the changes.
        start: the first snapshot of the range.
    """
    inserted, deleted = insertions(spark, plan), deletions(spark, plan, start)
    names = [column.name for column in plan.inserted.columns]
    new = _with_change_type(inserted, deleted, names, "insert", "update_postimage")
    return new.unionAll(_with_change_type(deleted, inserted, names, "delete", "update_preimage"))


def _with_change_type(frame: DataFrame, others: DataFrame, names: list[str], alone: str, paired: str) -> DataFrame:
    """Return the rows of `frame` with the change type `paired` if `others` has the same row id and snapshot, else with `alone`."""
    keys = others.select(F.col(SNAPSHOT).alias(_MATCH), F.col(ROW).alias(_MATCH + "_row")).distinct()
    joined = frame.join(keys, (F.col(SNAPSHOT) == F.col(_MATCH)) & (F.col(ROW) == F.col(_MATCH + "_row")), "left")
    kind = F.when(F.col(_MATCH).isNull(), F.lit(alone)).otherwise(F.lit(paired))
    head = [F.col(SNAPSHOT).alias(SNAPSHOT_ID), F.col(ROW).alias(ROW_ID), kind.alias(CHANGE_TYPE)]
    return joined.select(*head, *map(backquoted, names))


def _positions(plan: ChangePlan, start: int) -> pa.Table:
    """Return the positions that were deleted in `start` or later, in all files with deletes, with the snapshot that deleted each."""
    empty = pa.table({name: pa.array([], pa.int64()) for name in (_POSITION, SNAPSHOT, _FILE)})
    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        tables = pool.map(lambda file: _positions_of(file.data_file_id, plan, start), plan.files_with_deletes.files)
        return pa.concat_tables([empty, *tables]).combine_chunks()  # Spark 4.3 stops reading at an empty chunk


def _positions_of(file_id: int, plan: ChangePlan, start: int) -> pa.Table:
    """Return the positions of one file. A position can be listed more than once; the smallest snapshot is the one that deleted it."""
    found = [entries(each) for each in plan.delete_files[file_id]]
    inlined = plan.inlined_deletes[file_id]
    found.append((pa.array(inlined.keys(), pa.int64()), pa.array(inlined.values(), pa.int64())))
    positions, snapshots = (pa.concat_arrays([each[index] for each in found]) for index in (0, 1))
    first = pa.table({_POSITION: positions, SNAPSHOT: snapshots}).group_by(_POSITION).aggregate([(SNAPSHOT, "min")])
    first = first.select([_POSITION, f"{SNAPSHOT}_min"]).rename_columns([_POSITION, SNAPSHOT])
    first = first.filter(pc.greater_equal(first.column(SNAPSHOT), start))
    return first.append_column(_FILE, pa.repeat(pa.scalar(file_id, pa.int64()), first.num_rows))
