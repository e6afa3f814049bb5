"""Control the number and size of the files of a write, without unnecessary shuffles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from ...format.files import WriteOptions
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ..session.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES = 16 * 1024 * 1024
"""Results up to this size in bytes, as Spark estimates it, become one file."""
MAX_TASK_BYTES = 256 * 1024 * 1024
"""The maximum size of a writing task in shuffle bytes, so that large files do not leave cores idle."""
_TASK_SIZE = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
_DEFAULT_TASK_BYTES = 64 * 2**20
"""Spark's default advisory task size."""
_TASK_SIZE_DEFAULT = (f"{_DEFAULT_TASK_BYTES}b", "64mb", "64m")

_ESTIMATE = re.compile(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) ([KMGTPE]?i?B)")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "EiB": 2**60}
_ELEMENTS = 8
_COMPRESSION = 2.5
"""The estimated compression ratio: lower for hashed keys, higher for words and dates."""


def in_file_tasks(rows: DataFrame, keys: Sequence[str], order: Sequence[SparkColumn], options: WriteOptions) -> DataFrame:
    """Return the rows in about as many tasks as files are wanted, each task sorted.

    A large sorted result is split by ranges, so that each file has a narrow range of values. This takes a third more time than sorting each
    task, but a reader of one value then opens one file instead of all.

    Args:
        rows: the rows to write.
        keys: the partition key columns; a file has one value of each.
        order: the sort keys.
        options: the lake's options.
    """
    if not options.per_thread_output:
        rows = _redistributed(rows, keys, order)
    if not order and not (keys and options.encrypted):  # Spark's writer sorts by the keys itself
        return rows
    return rows.sortWithinPartitions(*[F.col(key) for key in keys], *order)


def _redistributed(rows: DataFrame, keys: Sequence[str], order: Sequence[SparkColumn]) -> DataFrame:
    if keys:
        # One task and one file for each partition; Spark splits or joins tasks that are too large or too small.
        return rows.hint("rebalance", *[F.col(key) for key in keys])
    size, plan = _size_and_plan(rows)
    # A plan that runs Python can be expensive even with few rows, so it keeps its tasks.
    if size is not None and size <= SMALL_BYTES and "Python" not in plan and "MapIn" not in plan:
        return rows.coalesce(1)
    return rows.repartitionByRange(*order) if order else rows


@contextmanager
def large_tasks(spark: SparkSession, target_file_size: int) -> Iterator[None]:
    """Increase Spark's advisory task size to the target file size while a table is written, unless the user changed the setting."""
    wanted = min(target_file_size, MAX_TASK_BYTES)
    before = spark.conf.get(_TASK_SIZE, None)
    if before is None or before.lower() not in _TASK_SIZE_DEFAULT or wanted <= _DEFAULT_TASK_BYTES:
        yield
        return
    spark.conf.set(_TASK_SIZE, f"{wanted}b")
    try:
        yield
    finally:
        spark.conf.set(_TASK_SIZE, before)


def rows_per_file(columns: Sequence[Column], target_file_size: int, row_bytes: float | None = None) -> int:
    """Estimate the number of rows in a file of the target size; at least 1000.

    Args:
        columns: the columns of the file.
        target_file_size: in bytes.
        row_bytes: the average bytes per row in the table's existing files, if it has files.
    """
    width = row_bytes or sum(_width(column) for column in columns) / _COMPRESSION
    return max(1000, int(target_file_size / max(width, 0.01)))


def _width(column: Column) -> int:
    if column.type in {"list", "map"}:
        return _ELEMENTS * sum(_width(child) for child in column.children)
    if column.type == "struct":
        return sum(_width(child) for child in column.children)
    return leaf_type(column.type).width


def _size_and_plan(rows: DataFrame) -> tuple[int | None, str]:
    """Return Spark's estimate of the result size in bytes (None without an estimate), and the text of the plan."""
    frame: Any = rows
    if not is_connect(rows.sparkSession):
        plan = frame._jdf.queryExecution().optimizedPlan()
        return int(str(plan.stats().sizeInBytes())), str(plan.toString())
    text: str = frame._explain_string(mode="cost")
    match = _ESTIMATE.search(text)
    return (int(float(match[1]) * _UNITS[match[2]]) if match else None), text
