"""Leave out the deleted rows of a scan: by a list of keys, by a bitmap, or by an anti join.

A key is `index of the data file * 2^40 + position`. A few positions are a list in the query. Otherwise the rows of all files are a bitmap
with a bit for each row, which costs a scan almost nothing. With Spark Connect, and for very many rows, Spark joins the rows with the
keys. This process reads the delete files; if there are very many positions, Spark reads them. The catalog maps delete files to their data
files, not the path inside them. Positions with a snapshot id after the plan's snapshot are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ...format.files import SNAPSHOT_ID_COLUMN, DataFile, DeleteFile
from ..files.deletes import POSITION_BITS, deleted_keys
from ..session.connect import is_connect
from ..session.jvm import java_class
from .file_columns import with_file_columns
from .manifest import read_files

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

DELETED = "__ducklake_deleted"
MAX_LITERALS = 500
"""Up to this number of positions, the keys are literals in the query."""
MAX_BITS = 32_000_000
"""Up to this number of rows in the files, the deleted ones are a bitmap, of 4 MB, which Spark sends to each executor with the query."""
MAX_POSITIONS_OF_FILE = 12_000_000
"""The maximum number of positions of one file in a bitmap; this process reads those of a file at once, and needs 32 bytes for each."""
KEYS_AT_ONCE = 1 << 20
"""The number of keys whose bits are set at once."""
POSITIONS_AT_ONCE = 4_000_000
"""Up to this number of positions, those of several files are read at once."""
FETCH_LIMIT = 100_000
"""Up to this number of positions for a join, this process reads the delete files, which saves a Spark job."""
BROADCAST_LIMIT = 10_000_000
"""The maximum number of positions that are broadcast (80 MB); above it, Spark chooses the join."""
_POSITION = (1 << POSITION_BITS) - 1
"""The bits of the position in a key."""
_SQL = "org.apache.spark.sql"
_DELETE_FILE = StructType([StructField("pos", LongType()), StructField(SNAPSHOT_ID_COLUMN, LongType())])


def without_deleted(spark: SparkSession, frame: DataFrame, files: Sequence[DataFile], file_index: str, position: str) -> DataFrame:
    """Return the rows of `frame` that are not deleted.

    Args:
        spark: the session of `frame`.
        frame: rows of `files`.
        files: the data files.
        file_index: SQL for the index in `files` of a row's data file, which is never NULL.
        position: SQL for the position of a row in its file, which is never NULL.
    """
    count = sum(file.deleted_count for file in files)
    if count == 0:
        return frame
    if count <= MAX_LITERALS:
        known = deleted_keys(enumerate(files))
        literals = ", ".join(f"{each}L" for each in known.to_pylist())
        return frame.where(f"{_key(file_index, position)} NOT IN ({literals})") if literals else frame
    rows = sum(file.record_count for file in files)
    if rows <= MAX_BITS and max(file.deleted_count for file in files) <= MAX_POSITIONS_OF_FILE and not is_connect(spark):
        return frame.where(_bit(spark, files, file_index, position) == 0)
    return _anti_join(spark, frame, files, count, _key(file_index, position))


def _key(file_index: str, position: str) -> str:
    """Return SQL for the key of a row, without arithmetic that ANSI mode would check for overflows."""
    return f"(shiftleft({file_index}, {POSITION_BITS}) | {position})"


def _bit(spark: SparkSession, files: Sequence[DataFile], file_index: str, position: str) -> SparkColumn:
    """Return the bit of a row, which is 1 if the row is deleted."""
    parts = [_bitmap(batch) for batch in _batches(files)]
    sizes = np.concatenate([part[0] for part in parts])
    starts = np.cumsum(sizes) - sizes
    words = _array_of_longs(spark, b"".join(part[1] for part in parts))
    index = F.expr(f"shiftright({position}, 6)")
    if len(files) > 1:  # a row that is not counted must not be looked up in the next file
        bounds = _array_of_longs(spark, np.append(starts, sizes.sum()).astype("<i8").tobytes())
        index = F.get(bounds, F.expr(f"CAST({file_index} AS INT)")) + index
        index = F.when(index < F.get(bounds, F.expr(f"CAST({file_index} AS INT) + 1")), index)
    word = F.coalesce(F.get(words, index.cast("int")), F.lit(0).cast("bigint"))
    return F.call_function("shiftright", word, F.expr(f"CAST({position} & 63 AS INT)")).bitwiseAND(F.lit(1).cast("bigint"))


def _batches(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Yield the files in their order, as many at once as have few enough positions."""
    batch: list[DataFile] = []
    count = 0
    for file in files:
        if batch and count + file.deleted_count > POSITIONS_AT_ONCE:
            yield batch
            batch, count = [], 0
        batch.append(file)
        count += file.deleted_count
    yield batch


def _bitmap(files: Sequence[DataFile]) -> tuple[np.ndarray[Any, Any], bytes]:
    """Return the number of 64-bit words for each file, and the words, which have a bit for each row."""
    keys = deleted_keys(enumerate(files)).to_numpy(zero_copy_only=False)
    slices = [keys[start : start + KEYS_AT_ONCE] for start in range(0, len(keys), KEYS_AT_ONCE)]
    counts = np.array([file.record_count for file in files])
    for part in slices:  # in a damaged catalog, a file can have more rows than are counted
        np.maximum.at(counts, part >> POSITION_BITS, (part & _POSITION) + 1)
    sizes = (counts + 63) // 64
    starts = np.cumsum(sizes) - sizes
    deleted = np.zeros(64 * int(sizes.sum()), dtype=bool)
    for part in slices:
        deleted[64 * starts[part >> POSITION_BITS] + (part & _POSITION)] = True
    return sizes, np.packbits(deleted, bitorder="little").tobytes()


def _array_of_longs(spark: SparkSession, values: bytes) -> SparkColumn:
    """Return an array of BIGINT as one literal, built with Spark's Java classes: PySpark has no function for it.

    It takes a few milliseconds for a million elements.

    Args:
        spark: a session without Spark Connect, which gives no access to these classes.
        values: the elements as 64-bit little-endian integers.
    """
    from pyspark.sql.classic.column import Column as ClassicColumn

    session: Any = spark
    jvm = session._jvm
    elements = session.sparkContext._gateway.new_array(jvm.long, len(values) // 8)
    little_endian = java_class(jvm, "java.nio.ByteOrder").LITTLE_ENDIAN
    java_class(jvm, "java.nio.ByteBuffer").wrap(values).order(little_endian).asLongBuffer().get(elements)
    types = java_class(jvm, f"{_SQL}.types.DataTypes")
    data = java_class(jvm, f"{_SQL}.catalyst.expressions.UnsafeArrayData").fromPrimitiveArray(elements)
    literal = java_class(jvm, f"{_SQL}.catalyst.expressions.Literal")(data, types.createArrayType(types.LongType, False))
    return ClassicColumn(java_class(jvm, f"{_SQL}.classic.ExpressionUtils").column(literal))


def _anti_join(spark: SparkSession, frame: DataFrame, files: Sequence[DataFile], count: int, key: str) -> DataFrame:
    in_spark = {index for index, file in enumerate(files) if count > FETCH_LIMIT and _is_parquet(file)}
    known = deleted_keys((index, replace(file, delete_file=None) if index in in_spark else file) for index, file in enumerate(files))
    parts = [_local(spark, known)] if len(known) else []
    if in_spark:
        parts.append(_from_files(spark, [(index, found) for index in sorted(in_spark) if (found := files[index].delete_file) is not None]))
    if not parts:
        return frame
    deleted = reduce(lambda one, other: one.unionAll(other), parts)
    if count <= BROADCAST_LIMIT:
        deleted = F.broadcast(deleted)
    return frame.join(deleted, F.expr(key) == F.col(DELETED), "left_anti")


def _is_parquet(file: DataFile) -> bool:
    found = file.delete_file
    return found is not None and found.format.lower() == "parquet" and not found.others and found.encryption_key is None


def _from_files(spark: SparkSession, files: Sequence[tuple[int, DeleteFile]]) -> DataFrame:
    """Return the keys in Parquet delete files, which Spark reads, given with the indexes of their data files."""
    frame = read_files(spark, [(file.path, file.size_bytes) for _, file in files], _DELETE_FILE)
    columns = {
        "__ducklake_number": [index for index, _ in files],
        "__ducklake_limit": [file.snapshot_limit for _, file in files],
    }
    frame = with_file_columns(spark, frame, [file.path for _, file in files], columns)
    # Spark finds the positions by their name: without it, they would be NULL, and the rows would not be deleted.
    problem = f"a delete file with more than {FETCH_LIMIT:,} positions calls them otherwise than pos; let DuckDB rewrite the table"
    position = f"coalesce(pos, raise_error('{problem}'))"
    counts = f"{SNAPSHOT_ID_COLUMN} IS NULL OR {SNAPSHOT_ID_COLUMN} <= __ducklake_limit"
    return frame.where(counts).selectExpr(f"{_key('__ducklake_number', position)} AS {DELETED}")


def _local(spark: SparkSession, keys: pa.Array) -> DataFrame:
    return spark.createDataFrame(pa.table({DELETED: keys}), StructType([StructField(DELETED, LongType())]))
