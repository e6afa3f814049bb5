"""Writes rows as the data files of a table: one Spark job, then the footers; a failure leaves nothing behind.

Specification: "Data files", "Field identifiers", "Partitioning". Spark's own Parquet writer fills a fresh directory;
the footers then get the ids that Spark leaves out and give the statistics; on a local file system the files move to
where DuckDB would put them.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from ..values.rules import check_rules
from .job import fresh_directory, run, settle
from .partitions import key_name, values_of, with_keys
from .sizes import arranged, large_tasks, rows_per_file
from .sorting import order_of

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
    """Write the rows as data files below `directory`; nothing is registered.

    Args:
        rows: the columns by position, of any type that casts to theirs; with `row_ids`, LINEAGE_ROW_ID besides, by
        name. columns: the table's columns.
        directory: the table's path.
        options: how files are written.
        row_ids: the rows are new versions of old ones; their ids go into the files.
        partition_fields: the table's partition keys; a file then holds one partition.
        order: how rows are sorted, if at all, in Spark's words over the table's column names.
        row_bytes: what a row of the table takes in a file, if that is known from files that exist.

    Returns:
        The files, none of them empty; no file at all if there are no rows.

    Raises:
        DataError: a NULL in a column that is NOT NULL, or a value that its column's type does not have.
        StatementError: a column that Spark cannot write.
        LakeError: the driver does not see the files that Spark wrote.
    """
    written_columns = (*columns, ROW_ID) if row_ids else columns
    fitted = shaped(rows, columns, row_ids)
    keys: list[str] = []
    if partition_fields:
        fitted = with_keys(fitted, columns, partition_fields)
        keys = [key_name(index) for index in range(len(partition_fields))]
    with fresh_directory(directory) as target:
        per_file = rows_per_file(written_columns, options.target_file_size, row_bytes)
        with large_tasks(fitted.sparkSession, options.target_file_size):
            paths = run(arranged(fitted, keys, order_of(fitted, order), options), target, options, keys, per_file)
        if not paths and not keys:
            raise LakeError(f"Spark wrote files to {target} that this machine does not see: data_path must be shared")
        values = [values_of(path[len(target) :], columns, partition_fields) if keys else () for path, _ in paths]
        found = [FileToRead(path, size, each) for (path, size), each in zip(paths, values, strict=True)]
        files = read_files(found, written_columns)
        check_rules(files, columns)
        names = key_names(key_columns(columns, partition_fields), partition_fields)
        by_key = [partition_directory(names, file.partition_values) if options.hive_file_pattern else "" for file in files]
        homes = [with_separator(directory) + each for each in by_key]
        return settle(files, homes, target)


def shaped(rows: DataFrame, columns: Sequence[Column], row_ids: bool = False) -> DataFrame:
    """The rows with exactly the columns of the file, cast, named, and with their ids."""
    names = [name for name in rows.columns if not (row_ids and name == LINEAGE_ROW_ID)]
    if len(names) != len(columns):
        raise DataError(f"the rows have {len(names)} columns, the table has {len(columns)}")
    # By generated names: those of the rows may repeat or differ only in case.
    plain = rows.toDF(*[f"_{i}" if name in names else name for i, name in enumerate(rows.columns)])
    sources = [field for field in plain.schema.fields if not (row_ids and field.name == LINEAGE_ROW_ID)]
    fitted = [conform(F.col(source.name), source.dataType, column) for source, column in zip(sources, columns, strict=True)]
    if row_ids:
        fitted.append(conform(F.col(LINEAGE_ROW_ID), LongType(), ROW_ID))
    return plain.select(*fitted)
