"""The deleted positions of many data files as one column of keys, for one anti join.

A key is `number of the data file * 2^40 + position`. A few delete files are read by this process, many by Spark in one scan. The catalog
maps them to their data files, not the path inside them. Positions with a snapshot id after the plan's snapshot are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ...format.files import SNAPSHOT_ID_COLUMN
from ..files.deletes import positions_table
from ..files.physical import THREADS
from .file_facts import with_facts
from .file_groups import NumberedFile
from .manifest import read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELETED = "__ducklake_deleted"
FILE_SPAN = 2**40
"""More than the number of rows in any file."""
MAX_LITERALS = 500
"""Up to this number of positions, the keys are literals in the query instead of a join."""
FETCH_LIMIT = 100_000
"""Up to this number of positions, this process reads the delete files, which saves a Spark job."""
BROADCAST_LIMIT = 10_000_000
"""The maximum number of positions that are broadcast (80 MB); above it, Spark chooses the join."""
_DELETE_FILE = StructType([StructField("pos", LongType()), StructField(SNAPSHOT_ID_COLUMN, LongType())])


def key(number: str, position: str) -> str:
    """Return SQL for the key of a row."""
    return f"{number} * {FILE_SPAN}L + {position}"


def without_deleted(spark: SparkSession, frame: DataFrame, files: Sequence[NumberedFile], keys: str) -> DataFrame:
    """Return the rows of `frame` whose key is not deleted; `keys` is SQL for the key, which is never NULL."""
    count = deleted_count(files)
    in_spark = [each for each in files if count > FETCH_LIMIT and _is_parquet(each)]
    known = _known_keys(files, not_read={each.number for each in in_spark})
    if count <= MAX_LITERALS:
        return frame.where(f"{keys} NOT IN ({', '.join(f'{each}L' for each in known.to_pylist())})") if len(known) else frame
    parts = [_local(spark, known)] if len(known) else []
    if in_spark:
        parts.append(_from_files(spark, in_spark))
    if not parts:
        return frame
    deleted = reduce(lambda one, other: one.unionAll(other), parts)
    if count <= BROADCAST_LIMIT:
        deleted = F.broadcast(deleted)
    return frame.join(deleted, F.expr(keys) == F.col(DELETED), "left_anti")


def deleted_count(files: Sequence[NumberedFile]) -> int:
    """Return an upper bound of the number of deleted positions."""
    return sum(
        len(each.file.inlined_deletes) + (each.file.delete_file.delete_count if each.file.delete_file is not None else 0) for each in files
    )


def _is_parquet(each: NumberedFile) -> bool:
    found = each.file.delete_file
    return found is not None and found.format.lower() == "parquet" and not found.others and found.encryption_key is None


def _from_files(spark: SparkSession, files: Sequence[NumberedFile]) -> DataFrame:
    """Return the keys in Parquet delete files, which Spark reads."""
    found = [(each.number, each.file.delete_file) for each in files if each.file.delete_file is not None]
    frame = read_files(spark, [(file.path, file.size_bytes) for _, file in found], _DELETE_FILE)
    facts = {
        "__ducklake_number": [number for number, _ in found],
        "__ducklake_limit": [file.snapshot_limit for _, file in found],
    }
    frame = with_facts(spark, frame, [file.path for _, file in found], facts)
    counts = f"{SNAPSHOT_ID_COLUMN} IS NULL OR {SNAPSHOT_ID_COLUMN} <= __ducklake_limit"
    return frame.where(counts).selectExpr(f"{key('__ducklake_number', 'pos')} AS {DELETED}")


def _known_keys(files: Sequence[NumberedFile], not_read: Collection[int]) -> pa.Array:
    """Return the keys of all inlined deletes, and of the delete files of the data files whose numbers are not in `not_read`."""
    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        return pa.concat_arrays([pa.array([], pa.int64()), *pool.map(lambda each: _keys_of(each, each.number not in not_read), files)])


def _keys_of(each: NumberedFile, reads_delete_file: bool) -> pa.Array:
    found = [pa.array(each.file.inlined_deletes, pa.int64())]
    if each.file.delete_file is not None and reads_delete_file:
        found += positions_table(each.file.delete_file).column("pos").chunks
    return pc.add(pa.concat_arrays(found), each.number * FILE_SPAN)


def _local(spark: SparkSession, keys: pa.Array) -> DataFrame:
    return spark.createDataFrame(pa.table({DELETED: keys}), StructType([StructField(DELETED, LongType())]))
