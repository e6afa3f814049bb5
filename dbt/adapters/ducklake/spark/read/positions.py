"""The deleted positions of many data files as one column of keys, for one anti join.

A key is `index of the data file * 2^40 + position`. A few delete files are read by this process, many by Spark in one scan. The catalog
maps them to their data files, not the path inside them. Positions with a snapshot id after the plan's snapshot are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ...format.files import SNAPSHOT_ID_COLUMN, DataFile, DeleteFile
from ..files.deletes import POSITION_BITS, deleted_keys
from .file_facts import with_facts
from .manifest import read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELETED = "__ducklake_deleted"
MAX_LITERALS = 500
"""Up to this number of positions, the keys are literals in the query instead of a join."""
FETCH_LIMIT = 100_000
"""Up to this number of positions, this process reads the delete files, which saves a Spark job."""
BROADCAST_LIMIT = 10_000_000
"""The maximum number of positions that are broadcast (80 MB); above it, Spark chooses the join."""
_DELETE_FILE = StructType([StructField("pos", LongType()), StructField(SNAPSHOT_ID_COLUMN, LongType())])


def key(number: str, position: str) -> str:
    """Return SQL for the key of a row, without arithmetic that ANSI mode would check for overflows."""
    return f"shiftleft({number}, {POSITION_BITS}) | {position}"


def without_deleted(spark: SparkSession, frame: DataFrame, files: Sequence[DataFile], keys: str) -> DataFrame:
    """Return the rows of `frame` whose key is not deleted.

    Args:
        spark: the session of `frame`.
        frame: rows of `files`.
        files: the data files; the index in a key is that in this list.
        keys: SQL for the key of a row, which is never NULL.
    """
    count = sum(file.deleted_count for file in files)
    in_spark = {index for index, file in enumerate(files) if count > FETCH_LIMIT and _is_parquet(file)}
    known = deleted_keys((index, replace(file, delete_file=None) if index in in_spark else file) for index, file in enumerate(files))
    if count <= MAX_LITERALS:
        return frame.where(f"{keys} NOT IN ({', '.join(f'{each}L' for each in known.to_pylist())})") if len(known) else frame
    parts = [_local(spark, known)] if len(known) else []
    if in_spark:
        parts.append(_from_files(spark, [(index, found) for index in sorted(in_spark) if (found := files[index].delete_file) is not None]))
    if not parts:
        return frame
    deleted = reduce(lambda one, other: one.unionAll(other), parts)
    if count <= BROADCAST_LIMIT:
        deleted = F.broadcast(deleted)
    return frame.join(deleted, F.expr(keys) == F.col(DELETED), "left_anti")


def _is_parquet(file: DataFile) -> bool:
    found = file.delete_file
    return found is not None and found.format.lower() == "parquet" and not found.others and found.encryption_key is None


def _from_files(spark: SparkSession, files: Sequence[tuple[int, DeleteFile]]) -> DataFrame:
    """Return the keys in Parquet delete files, which Spark reads, given with the indexes of their data files."""
    frame = read_files(spark, [(file.path, file.size_bytes) for _, file in files], _DELETE_FILE)
    facts = {
        "__ducklake_number": [index for index, _ in files],
        "__ducklake_limit": [file.snapshot_limit for _, file in files],
    }
    frame = with_facts(spark, frame, [file.path for _, file in files], facts)
    counts = f"{SNAPSHOT_ID_COLUMN} IS NULL OR {SNAPSHOT_ID_COLUMN} <= __ducklake_limit"
    return frame.where(counts).selectExpr(f"{key('__ducklake_number', 'pos')} AS {DELETED}")


def _local(spark: SparkSession, keys: pa.Array) -> DataFrame:
    return spark.createDataFrame(pa.table({DELETED: keys}), StructType([StructField(DELETED, LongType())]))
