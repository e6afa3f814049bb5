"""The deleted positions of many data files as one column of keys, for one anti join.

A key is `number of the data file * 2^40 + position`. Spark reads all delete files in one scan. The catalog maps them to their data files,
not the path inside them. Positions with a snapshot id after the plan's snapshot are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ...format.files import SNAPSHOT_ID_COLUMN
from ..files.deletes import positions_table
from .file_facts import PATH, with_facts
from .file_groups import NumberedFile
from .manifest import read_files

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

DELETED = "__ducklake_deleted"
FILE_SPAN = 2**40
"""More than the number of rows in any file."""
BROADCAST_LIMIT = 10_000_000
"""The maximum number of positions that are broadcast (80 MB); above it, Spark chooses the join."""
_DELETE_FILE = StructType([StructField("pos", LongType()), StructField(SNAPSHOT_ID_COLUMN, LongType())])


def key(number: SparkColumn, position: SparkColumn) -> SparkColumn:
    """Return the key of a row."""
    return number * F.lit(FILE_SPAN) + position


def without_deleted(spark: SparkSession, frame: DataFrame, files: Sequence[NumberedFile], keys: str) -> DataFrame:
    """Return the rows of `frame` whose key, in the column `keys`, is not deleted."""
    parts = [part for part in (_from_files(spark, files), _from_catalog(spark, files)) if part is not None]
    if not parts:
        return frame
    deleted = reduce(lambda one, other: one.unionAll(other), parts)
    if deleted_count(files) <= BROADCAST_LIMIT:
        deleted = F.broadcast(deleted)
    return frame.join(deleted, F.col(keys) == F.col(DELETED), "left_anti")


def deleted_count(files: Sequence[NumberedFile]) -> int:
    """Return an upper bound of the number of deleted positions."""
    return sum(
        len(each.file.inlined_deletes) + (each.file.delete_file.delete_count if each.file.delete_file is not None else 0) for each in files
    )


def _from_files(spark: SparkSession, files: Sequence[NumberedFile]) -> DataFrame | None:
    found = [
        (each.number, each.file.delete_file)
        for each in files
        if each.file.delete_file is not None and each.file.delete_file.format.lower() == "parquet"
    ]
    if not found:
        return None
    frame = read_files(spark, [(file.path, file.size_bytes) for _, file in found], _DELETE_FILE)
    frame = frame.select("pos", SNAPSHOT_ID_COLUMN, F.col("_metadata.file_path").alias(PATH))
    facts = {
        "__ducklake_number": [number for number, _ in found],
        "__ducklake_limit": [file.snapshot_limit for _, file in found],
    }
    frame = with_facts(spark, frame, [file.path for _, file in found], facts)
    snapshot = F.col(SNAPSHOT_ID_COLUMN)
    counts = snapshot.isNull() | (snapshot <= F.col("__ducklake_limit"))
    return frame.where(counts).select(key(F.col("__ducklake_number"), F.col("pos")).alias(DELETED))


def _from_catalog(spark: SparkSession, files: Sequence[NumberedFile]) -> DataFrame | None:
    """Return the keys of inlined deletes and of deletion vectors, which the driver decodes."""
    keys: list[pa.Array] = []
    for each in files:
        found = [pa.array(each.file.inlined_deletes, pa.int64())]
        delete_file = each.file.delete_file
        if delete_file is not None and delete_file.format.lower() != "parquet":
            found += positions_table(delete_file).column("pos").chunks
        keys += [pc.add(positions, each.number * FILE_SPAN) for positions in found if len(positions)]
    if not keys:
        return None
    return spark.createDataFrame(pa.table({DELETED: pa.chunked_array(keys)}), StructType([StructField(DELETED, LongType())]))
