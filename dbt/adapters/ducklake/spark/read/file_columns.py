"""Add values that the catalog has for each data file, such as its id, as columns of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from ..files import locations
from .manifest import UNKNOWN_FILE, file_index, plain_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_LITERALS = 1_000
"""Up to this number of files the values are literals in the query; for more they come from a broadcast join."""
_KEY = "__ducklake_file_key"
_FILE = "__ducklake_file_of_row"

FileValue = int | str | None


def with_file_columns(
    spark: SparkSession, frame: DataFrame, paths: Sequence[str], columns: Mapping[str, Sequence[FileValue]], also: Sequence[str] = ()
) -> DataFrame:
    """Return the rows of `read_files` with a column for each value of their file.

    Args:
        spark: the session of `frame`.
        frame: the rows of the files, with Spark's hidden column `_metadata`.
        paths: the files, in the order in which they were read.
        columns: column name → value for each file, all integers or all strings.
        also: SQL of further columns to add, over the columns of the files and `_metadata`.
    """
    literals = {name: _literal(values[0], is_text(values)) for name, values in columns.items() if len(set(values)) == 1}
    varying = {name: values for name, values in columns.items() if name not in literals}
    index = file_index(spark, paths) if varying else None
    if index is not None:
        for name, values in varying.items():
            if values == list(range(len(paths))):
                literals[name] = index
            elif len(paths) <= MAX_LITERALS:
                literals[name] = _by_index(index, values)
        varying = {name: values for name, values in varying.items() if name not in literals}
    added = [f"{text} AS {name}" for name, text in literals.items()]
    if not varying:
        return frame.selectExpr("*", *also, *added)
    return _joined(spark, frame, paths, index, varying, [*also, *added])


def _by_index(index: str, values: Sequence[FileValue]) -> str:
    """Return SQL for the value of a row's file; a file that is not in the list is an error, because NULL would hide deletes."""
    text = is_text(values)
    found = f"element_at(array({', '.join(_literal(value, text) for value in values)}), CAST({index} AS INT) + 1)"
    if text or None in values:
        return found
    return f"coalesce({found}, CAST(raise_error('{UNKNOWN_FILE}') AS BIGINT))"


def _joined(
    spark: SparkSession,
    frame: DataFrame,
    paths: Sequence[str],
    index: str | None,
    columns: Mapping[str, Sequence[FileValue]],
    also: Sequence[str],
) -> DataFrame:
    """Join the values by the index of the file, or without one by its path.

    Using a value of a file that is not in `paths` raises an error in Spark: otherwise deletes would be silently ignored.
    """
    if index is not None:
        key, keys = index, pa.array(range(len(paths)), pa.int64())
    else:
        key, keys = "_metadata.file_path", pa.array([locations.metadata_path(path) for path in paths], pa.string())
    arrays = {name: pa.array(values, pa.string() if is_text(values) else pa.int64()) for name, values in columns.items()}
    known = F.broadcast(spark.createDataFrame(pa.table({_KEY: keys, **arrays})))
    joined = frame.selectExpr("*", *also, f"{key} AS {_FILE}").join(known, F.col(_FILE) == F.col(_KEY), "left_outer")
    text = F.concat(F.lit(f"{UNKNOWN_FILE}: "), F.col(_FILE).cast("string"))
    return joined.withColumns(
        {
            name: F.when(F.col(_KEY).isNull(), F.raise_error(text).cast("string" if is_text(values) else "bigint")).otherwise(F.col(name))
            for name, values in columns.items()
        }
    )


def is_text(values: Sequence[FileValue]) -> bool:
    """Whether a column has strings; otherwise it has integers."""
    return any(isinstance(value, str) for value in values)


def _literal(value: FileValue, text: bool) -> str:
    if value is None:
        return f"CAST(NULL AS {'STRING' if text else 'BIGINT'})"
    return plain_literal(str(value)) if text else f"{value}L"
