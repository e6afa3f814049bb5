"""Read encrypted files through DuckDB in Spark's Python workers, one file after the other in each task.

The encryption keys are part of the function that Spark sends to the workers: no plan shows them, and PySpark writes only large functions
to a file. So the files of a large scan are divided among several functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ...format.files import DataFile
from ..encrypted import worker_tasks
from ..encrypted.duckdb_files import BATCH_BYTES, BATCH_ROWS, FileToRead
from ..encrypted.keys import key_of
from ..encrypted.notice import announce
from ..encrypted.workers import send_code
from ..files.encrypted_files import location_of
from ..files.physical import physical_footers
from ..values.conversions import REFUSED
from .encrypted_columns import arrow_schema, select_list
from .file_columns import FileValue, is_text
from .unneeded import MARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FileColumns = Mapping[str, Sequence[FileValue]]
"""Column name → the value of the column in each file."""
TASK_BYTES = 32 * 1024 * 1024
"""One task reads several small files, up to this size in bytes together."""
FUNCTION_CHARACTERS = 500_000
"""The maximum length of the file list in one function. PySpark writes functions of more than 1 MiB to a temporary file."""
_CHARACTERS_PER_FILE = 200
"""The approximate length of an entry of the file list, without its path and its SELECT list."""
_ROW_BYTES = 8
"""The size of a row of `spark.range` for Spark's optimizer."""
_Request = tuple[DataFile, FileToRead]
"""A file in the catalog, and how it is read."""


def read_files(
    spark: SparkSession,
    table: str,
    files: Sequence[DataFile],
    fields: Sequence[StructField],
    position: str,
    columns: FileColumns,
    unneeded: Collection[str] = (),
) -> DataFrame:
    """Return the rows of encrypted files.

    Args:
        spark: the session.
        table: the table's name, for error messages.
        files: the files, each with its encryption key.
        fields: the columns to read. A column with a field id is found by it, any other by its name.
        position: the name of an additional column, with the position of each row in its file.
        columns: additional columns that have one value for each file, in the order of `files`.
        unneeded: the names of fields that are not read, and are NULL in the result.

    Raises:
        LakeError: the catalog has no valid encryption key for a file.
    """
    announce(spark)
    send_code()
    footers = physical_footers(table, files)
    left_out = [each for each in fields if each.name in unneeded]
    fields = [each for each in fields if each.name not in unneeded]
    selects = {schema: select_list(fields, schema) for schema in {footer.fields for footer in footers}}
    requests = [
        FileToRead(
            location_of(file.path),
            key_of(file.path, file.encryption_key or ""),
            selects[footer.fields],
            tuple(values[number] for values in columns.values()),
            max(1, min(BATCH_ROWS, footer.group_rows, int(BATCH_BYTES / max(footer.row_bytes, 1)))),
        )
        for number, (file, footer) in enumerate(zip(files, footers, strict=True))
    ]
    constants = pa.schema([(name, pa.string() if is_text(values) else pa.int64()) for name, values in columns.items()])
    added = [StructField(name, StringType() if is_text(values) else LongType()) for name, values in columns.items()]
    result = StructType([*(StructField(f.name, f.dataType) for f in fields), StructField(position, LongType()), *added])
    frames: list[DataFrame] = []
    for tasks in _functions(list(zip(files, requests, strict=True))):
        read = worker_tasks.reader([[request for _, request in task] for task in tasks], arrow_schema(fields), constants, REFUSED)
        read.__name__ = f"{MARK}{table}"  # `unneeded_columns` finds the function in the plan by its name
        frames.append(_task_numbers(spark, tasks).mapInArrow(read, result))
    rows = reduce(lambda one, other: one.unionAll(other), frames)
    return rows.select("*", *[F.lit(None).cast(each.dataType).alias(each.name) for each in left_out]) if left_out else rows


def _functions(files: Sequence[_Request]) -> list[list[list[_Request]]]:
    """Group the files into tasks by their size, and the tasks into functions by the length of the file list; keep the order."""
    functions: list[list[list[_Request]]] = []
    task_bytes = length = 0
    selects: set[str] = set()
    for data_file, request in files:
        added_length = len(request.location.path) + _CHARACTERS_PER_FILE
        added_length += 0 if request.select in selects else len(request.select)  # files of one schema share the text
        if not functions or length + added_length > FUNCTION_CHARACTERS:
            functions.append([[]])
            selects, task_bytes, length = set(), 0, 0
        elif task_bytes + data_file.size_bytes > TASK_BYTES:
            functions[-1].append([])
            task_bytes = 0
        functions[-1][-1].append((data_file, request))
        task_bytes += data_file.size_bytes
        length += added_length
        selects.add(request.select)
    return functions


def _task_numbers(spark: SparkSession, tasks: Sequence[Sequence[_Request]]) -> DataFrame:
    """Return the numbers of the tasks, each in a partition of its own.

    Spark decides on broadcast joins by an estimated size: here the size of the range below, before its filter. So the range has as many
    bytes as the files, whose size Spark takes for a scan of its own.
    """
    size = sum(file.size_bytes for task in tasks for file, _ in task)
    step = max(1, -(-size // (_ROW_BYTES * len(tasks))))  # rounded up
    numbers = spark.range(0, len(tasks) * step, 1, len(tasks))
    return numbers.where(F.col("id") % step == 0).select((F.col("id") / step).cast("bigint").alias("id"))
