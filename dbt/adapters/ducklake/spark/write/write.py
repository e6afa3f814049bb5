"""Write rows to data files of a table: one Spark job, then the footers; after a failure no files are left.

Specification: "Data files", "Field identifiers", "Partitioning". Spark's Parquet writer writes to a new directory. Then the missing ids are
added to the footers and the statistics are read. On a local file system the files move to the directories that DuckDB would use. The files
of an encrypted lake are written by `encrypted` instead of Spark's writer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from ...errors import DataError, LakeError
from ...format.files import LINEAGE_ROW_ID, ROW_ID, WriteOptions, WrittenFile
from ...format.objects import Column, PartitionField, SortField
from ...format.partitioning import directory as partition_directory
from ...format.partitioning import key_columns, key_names
from ...format.paths import with_separator
from ..files.footers import FileToRead, read_files
from ..values.conform import conform
from ..values.stats_checks import check_stats
from .encrypted import write_files
from .job import move_files, new_directory, run_write_job
from .partitions import key_name, values_of, values_of_keys, with_keys
from .sizes import in_file_tasks, large_tasks, rows_per_file
from .sorting import sort_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_rows(
    rows: DataFrame,
    columns: tuple[Column, ...],
    directory: str,
    options: WriteOptions,
    *,
    row_ids: bool = False,
    partition_fields: tuple[PartitionField, ...] = (),
    order: Sequence[SortField] = (),
    row_bytes: float | None = None,
) -> list[WrittenFile]:
    """Write the rows to data files below `directory`, without registering them.

    Args:
        rows: the columns by position, of types that can be cast; with `row_ids` also LINEAGE_ROW_ID, by name.
        columns: the table's columns.
        directory: the table's path.
        options: the lake's options.
        row_ids: the rows are new versions of existing rows, and their row ids are written to the files.
        partition_fields: the table's partition keys; each partition gets its own files.
        order: the sort keys, in Spark SQL over the table's column names.
        row_bytes: the average bytes per row in the table's existing files, if it has files.

    Returns:
        The files that have rows; an empty list if there are no rows.

    Raises:
        DataError: a NOT NULL column contains NULL, or a value does not fit its column.
        StatementError: Spark cannot write a column's type.
        LakeError: this process cannot see the files that Spark wrote.
    """
    written_columns = (*columns, ROW_ID) if row_ids else columns
    fitted = shaped(rows, columns, row_ids)
    keys: list[str] = []
    if partition_fields:
        fitted = with_keys(fitted, columns, partition_fields)
        keys = [key_name(index) for index in range(len(partition_fields))]
    with new_directory(directory) as target:
        per_file = rows_per_file(written_columns, options.target_file_size, row_bytes)
        with large_tasks(fitted.sparkSession, options.target_file_size):
            arrangement = in_file_tasks(fitted, keys, sort_columns(fitted, order), options)
            if options.encrypted:
                written = write_files(arrangement, written_columns, target, options, keys, per_file)
                files = [replace(file, partition_values=values_of_keys(texts, columns, partition_fields)) for texts, file in written]
            else:
                paths = run_write_job(arrangement, target, options, keys, per_file)
                files = _read_plain(paths, written_columns, target, partition_fields)
        check_stats(files, columns)
        subdirectories = _subdirectories(files, columns, partition_fields) if options.hive_file_pattern else [""] * len(files)
        return move_files(files, [with_separator(directory) + each for each in subdirectories], target)


def _subdirectories(files: Sequence[WrittenFile], columns: Sequence[Column], partition_fields: Sequence[PartitionField]) -> list[str]:
    """Return the directory of the partition of each file, relative to the table's."""
    names = key_names(key_columns(columns, partition_fields), partition_fields)
    return [partition_directory(names, file.partition_values) for file in files]


def _read_plain(
    paths: Sequence[tuple[str, int]], columns: tuple[Column, ...], target: str, partition_fields: Sequence[PartitionField]
) -> list[WrittenFile]:
    """Read the footers of new files.

    Raises:
        LakeError: there is no file. Without partition keys, Spark writes at least one, even if there are no rows.
    """
    if not paths and not partition_fields:
        raise LakeError(f"Spark wrote files to {target} that this machine cannot see: all workers and this machine must share data_path")
    values = [values_of(path[len(target) :], columns, partition_fields) if partition_fields else () for path, _ in paths]
    return read_files([FileToRead(path, size, each) for (path, size), each in zip(paths, values, strict=True)], columns)


def shaped(rows: DataFrame, columns: Sequence[Column], row_ids: bool = False) -> DataFrame:
    """Return the rows with exactly the columns of the file: cast, named, and with field ids.

    Args:
        rows: the columns by position; with `row_ids` also LINEAGE_ROW_ID, by name.
        columns: the table's columns.
        row_ids: add the row ids as the last column.

    Raises:
        DataError: the number of columns differs.
    """
    names = [name for name in rows.columns if not (row_ids and name == LINEAGE_ROW_ID)]
    if len(names) != len(columns):
        raise DataError(f"the rows have {len(names)} columns, the table has {len(columns)}: give one value for each column of the table")
    # Generated names, because names in `rows` may be duplicates or differ only in case.
    plain = rows.toDF(*[f"_{i}" if name in names else name for i, name in enumerate(rows.columns)])
    sources = [field for field in plain.schema.fields if not (row_ids and field.name == LINEAGE_ROW_ID)]
    fitted = [conform(F.col(source.name), source.dataType, column) for source, column in zip(sources, columns, strict=True)]
    if row_ids:
        fitted.append(conform(F.col(LINEAGE_ROW_ID), LongType(), ROW_ID))
    return plain.select(*fitted)
