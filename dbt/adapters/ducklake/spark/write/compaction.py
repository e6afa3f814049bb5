"""Write each group of data files as one file, with one Spark job for all similar groups of a table.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files". One task writes each group, and sorts it on disk if it
does not fit in memory. The rows keep their order, or get that of a sorted table. They keep their row ids and, if earlier snapshots will
read the file, their snapshot ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from ...errors import LakeError
from ...format.buckets import spread_keys
from ...format.compaction import Compacted, Group, consecutive_row_ids
from ...format.files import (
    LINEAGE_FILE,
    LINEAGE_POSITION,
    LINEAGE_ROW_ID,
    ROW_ID,
    ROW_ID_FIELD_ID,
    SNAPSHOT_ID,
    SNAPSHOT_ID_FIELD_ID,
    ScanPlan,
    WriteOptions,
    WrittenFile,
)
from ...format.identifiers import backquoted
from ...format.objects import Column, SortField, Table
from ...format.paths import with_separator
from ...format.types import json_as_text
from ..files import storage
from ..files.footers import FileToRead, read_files
from ..files.physical import field_by_id, physical_schemas
from ..read.scan import scan
from ..values.conform import conform
from .encrypted import write_files
from .job import move_files, new_directory, run_write_job
from .sorting import sort_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GROUP = "__ducklake_group"
_RANK = "__ducklake_rank"
_TASK = "__ducklake_task"
_SOURCE = "__ducklake_source"
_SNAPSHOT = "__ducklake_snapshot"
_MAX_TASKS = 2000


@dataclass(frozen=True)
class Job:
    """The settings of a call of `write_compacted`.

    Args:
        table: the table, with its path and the present column names, which `order` uses.
        layout: a plan without files, with the columns to read and write.
        options: the lake's options.
        order: the sort keys, in Spark SQL; without keys the rows keep the order of the groups.
        snapshot_ids: rows keep their snapshot ids.
    """

    table: Table
    layout: ScanPlan
    options: WriteOptions
    order: tuple[SortField, ...]
    snapshot_ids: bool


def write_compacted(spark: SparkSession, groups: Sequence[Group], job: Job) -> list[Compacted]:
    """Write each group as a file; after an error no new files are left.

    Raises:
        LakeError: Spark cannot represent a value, or a file is missing.
        StatementError: Spark cannot write a column's type.
    """
    implicit = _without_row_ids(groups, job) if not job.order else [False] * len(groups)
    compacted: dict[int, Compacted] = {}
    try:
        for row_ids in (False, True):
            chosen = [number for number, plain in enumerate(implicit) if plain is not row_ids]
            if not chosen:
                continue
            written = _write(spark, [groups[number] for number in chosen], job, row_ids)
            for index, number in enumerate(chosen):
                start = None if row_ids else groups[number][0].file.row_id_start
                compacted[number] = Compacted(groups[number], written.get(index), start, job.layout.columns)
    except BaseException:
        storage.remove(unit.file.path for unit in compacted.values() if unit.file is not None)
        raise
    return [compacted[number] for number in range(len(groups))]


def _without_row_ids(groups: Sequence[Group], job: Job) -> list[bool]:
    """Return for each group whether row ids follow from positions: they are consecutive, and no file contains row ids."""
    consecutive = [consecutive_row_ids(group) and not any(each.file.has_deletes for each in group) for group in groups]
    files = [each.file for group, plain in zip(groups, consecutive, strict=True) if plain for each in group]
    schemas = physical_schemas(job.layout.name, files) if files else []
    embedded = {file.data_file_id for file, schema in zip(files, schemas, strict=True) if field_by_id(schema, ROW_ID_FIELD_ID) is not None}
    return [
        plain and not any(each.file.data_file_id in embedded for each in group) for group, plain in zip(groups, consecutive, strict=True)
    ]


def _write(spark: SparkSession, groups: Sequence[Group], job: Job, row_ids: bool) -> dict[int, WrittenFile]:
    """Return index in `groups` → the new file; groups without remaining rows are left out."""
    columns = (*job.layout.columns, *((SNAPSHOT_ID,) if job.snapshot_ids else ()), *((ROW_ID,) if row_ids else ()))
    with new_directory(job.table.path) as target:
        rows = _rows(spark, groups, job, columns)
        if job.options.encrypted:
            written = write_files(rows.withColumn(_GROUP, F.col(_GROUP).cast("string")), columns, target, job.options, [_GROUP])
            files = {
                int(keys[0] or 0): replace(file, partition_values=groups[int(keys[0] or 0)][0].partition_values) for keys, file in written
            }
            _require_rows(groups, files, job)
            directories = [_directory(groups[index], with_separator(job.table.path)) for index in files]
            return dict(zip(files, move_files(list(files.values()), directories, target), strict=True))
        outputs = {
            int(path[len(target) :].partition(f"{_GROUP}=")[2].partition("/")[0]): (path, size)
            for path, size in run_write_job(rows, target, job.options, [_GROUP], rows_per_file=0)
        }
        ordered = sorted(outputs)
        found = read_files([FileToRead(*outputs[index], groups[index][0].partition_values) for index in ordered], columns)
        if [file.path for file in found] != [outputs[index][0] for index in ordered]:
            raise LakeError(f"Spark did not write the expected files to {target}")
        _require_rows(groups, dict(zip(ordered, found, strict=True)), job)
        directories = [_directory(groups[index], with_separator(job.table.path)) for index in ordered]
        return dict(zip(ordered, move_files(found, directories, target), strict=True))


def _require_rows(groups: Sequence[Group], files: Mapping[int, WrittenFile], job: Job) -> None:
    """Require that the new file of each group has all rows of the old ones, which are removed.

    Raises:
        LakeError: a group has too few or too many rows.
    """
    for index, group in enumerate(groups):
        most = sum(each.file.record_count for each in group)
        is_complete = not any(each.file.has_snapshot_range for each in group)  # otherwise it has rows of later snapshots: a conflict
        least = most - sum(each.file.deleted_count for each in group) if is_complete else 0
        written = files[index].record_count if index in files else 0
        if not least <= written <= most:
            raise LakeError(
                f"Spark wrote {written} rows for files of the table {job.table.schema_name}.{job.table.name} that have {least} to {most} "
                "rows, so these files are kept. Please report this"
            )


def _rows(spark: SparkSession, groups: Sequence[Group], job: Job, columns: Sequence[Column]) -> DataFrame:
    """Return the rows of all groups in their final order, with `_GROUP` and the columns of the files."""
    members = [(index, each.file) for index, group in enumerate(groups) for each in group]
    plan = replace(job.layout, files=tuple(file for _, file in members))
    now = {column.column_id: column.name for column in job.table.columns}
    names = [now.get(column.column_id, f"__ducklake_old_{column.column_id}") for column in plan.columns]
    rows = scan(spark, plan, lineage=True, virtual=("snapshot_id",))
    rows = rows.toDF(*names, LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, _SNAPSHOT)
    tasks = spread_keys(min(len(groups), _MAX_TASKS))
    sources = {
        _SOURCE: pa.array([file.data_file_id for _, file in members], pa.int64()),
        _GROUP: pa.array([index for index, _ in members], pa.int64()),
        _RANK: pa.array(range(len(members)), pa.int64()),
        _TASK: pa.array([tasks[index % len(tasks)] for index, _ in members], pa.int64()),  # by the group alone, tasks would get several
    }
    rows = rows.join(F.broadcast(spark.createDataFrame(pa.table(sources))), F.col(LINEAGE_FILE) == F.col(_SOURCE))
    keys = [F.col(_GROUP), *sort_columns(rows, job.order), F.col(_RANK), F.col(LINEAGE_POSITION)]
    rows = rows.repartition(len(tasks), F.col(_TASK)).sortWithinPartitions(*keys)
    special: Mapping[int, str] = {ROW_ID_FIELD_ID: LINEAGE_ROW_ID, SNAPSHOT_ID_FIELD_ID: _SNAPSHOT}
    read = [*names, *(special[column.column_id] for column in columns[len(names) :])]
    types = {field.name: field.dataType for field in rows.schema.fields}
    fitted = [conform(rows[backquoted(name)], types[name], json_as_text(column)) for name, column in zip(read, columns, strict=True)]
    return rows.select(F.col(_GROUP), *fitted)


def _directory(group: Group, table_directory: str) -> str:
    """Return the directory for the new file: that of the group's first file below the table's directory."""
    inside = (each.file.path for each in group if each.file.path.startswith(table_directory))
    return next(inside, table_directory).rpartition("/")[0] + "/"
