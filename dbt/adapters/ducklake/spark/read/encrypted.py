"""Read encrypted files through DuckDB in Spark's Python workers, one file after the other in each task.

The keys are in the function that Spark sends to the workers: no plan shows it, and Spark does not write it to a file as long as it is
small, so many files are read by several functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ...format.files import DataFile
from ..encrypted import duckdb_files
from ..encrypted.keys import key_of
from ..encrypted.notice import announce
from ..encrypted.workers import send_code
from ..files.encrypted_files import place_of
from ..files.physical import physical_schemas
from ..values.conversions import REFUSED
from .encrypted_columns import arrow_schema, select_list
from .file_facts import Fact
from .unneeded import MARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Facts = Mapping[str, Sequence[Fact]]
TASK_BYTES = 32 * 1024 * 1024
"""Small files are read together by one task, up to this size in bytes."""
FUNCTION_CHARACTERS = 500_000
"""The maximum length of the file list in one function. PySpark writes functions of more than 1 MiB to a temporary file."""
_CHARACTERS_OF_FILE = 200
_ROW_BYTES = 8
_Chosen = tuple[DataFile, duckdb_files.FileToRead]


def read_files(
    spark: SparkSession,
    table: str,
    files: Sequence[DataFile],
    fields: Sequence[StructField],
    position: str,
    facts: Facts,
    unneeded: Collection[str] = (),
) -> DataFrame:
    """Read encrypted files.

    Args:
        spark: the session.
        table: the table's name, for error messages.
        files: the files, each with a key.
        fields: the columns to read, with their field ids; those without match by name.
        position: the name of a further column for the position of the row in its file.
        facts: name → value for each file, of further columns.
        unneeded: the names of fields that are not read; they are NULL.
    """
    announce(spark)
    send_code()
    schemas = physical_schemas(table, files)
    left_out = [each for each in fields if each.name in unneeded]
    fields = [each for each in fields if each.name not in unneeded]
    selects = {schema: select_list(fields, schema) for schema in set(schemas)}
    chosen = [
        duckdb_files.FileToRead(
            place_of(file.path),
            key_of(file.path, file.encryption_key or ""),
            selects[schema],
            tuple(values[number] for values in facts.values()),
        )
        for number, (file, schema) in enumerate(zip(files, schemas, strict=True))
    ]
    constants = pa.schema([(name, pa.string() if _is_text(values) else pa.int64()) for name, values in facts.items()])
    added = [StructField(name, StringType() if _is_text(values) else LongType()) for name, values in facts.items()]
    result = StructType([*(StructField(f.name, f.dataType) for f in fields), StructField(position, LongType()), *added])
    frames: list[DataFrame] = []
    for part in _parts(list(zip(files, chosen, strict=True))):
        read = duckdb_files.reader([[each for _, each in task] for task in part], arrow_schema(fields), constants, REFUSED)
        read.__name__ = f"{MARK}{table}"
        frames.append(_task_numbers(spark, part).mapInArrow(read, result))
    found = reduce(lambda one, other: one.unionAll(other), frames)
    return found.select("*", *[F.lit(None).cast(each.dataType).alias(each.name) for each in left_out]) if left_out else found


def _parts(files: Sequence[_Chosen]) -> list[list[list[_Chosen]]]:
    """Group the files into tasks, and the tasks into functions."""
    parts: list[list[list[_Chosen]]] = []
    task_bytes = length = 0
    selects: set[str] = set()
    for data_file, chosen in files:
        size = len(chosen.place.path) + _CHARACTERS_OF_FILE
        size += 0 if chosen.select in selects else len(chosen.select)  # files of one schema share the text
        if not parts or length + size > FUNCTION_CHARACTERS:
            parts.append([[]])
            selects, task_bytes, length = set(), 0, 0
        elif task_bytes + data_file.size_bytes > TASK_BYTES:
            parts[-1].append([])
            task_bytes = 0
        parts[-1][-1].append((data_file, chosen))
        task_bytes += data_file.size_bytes
        length += size
        selects.add(chosen.select)
    return parts


def _task_numbers(spark: SparkSession, tasks: Sequence[Sequence[_Chosen]]) -> DataFrame:
    """Return the numbers of the tasks, each in a partition of its own.

    Spark takes the size of this frame before its filter for the size of the result, which decides on broadcast joins. So it is that of
    the files, as it is in a scan of Spark.
    """
    size = sum(file.size_bytes for task in tasks for file, _ in task)
    step = max(1, -(-size // (_ROW_BYTES * len(tasks))))
    numbers = spark.range(0, len(tasks) * step, 1, len(tasks))
    return numbers.where(F.col("id") % step == 0).select((F.col("id") / step).cast("bigint").alias("id"))


def _is_text(values: Sequence[Fact]) -> bool:
    return any(isinstance(value, str) for value in values)
