"""Writes groups of data files as one file each: one Spark job for all groups of a table that are alike, whatever their number.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files". Each group goes through one task, which sorts it on
disk where memory does not suffice, and becomes one file. The rows keep their order, or take that of a sorted table; they keep their row
ids, and where snapshots before the compaction will read the file, the snapshots that they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from ...errors import LakeError
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
from ...format.objects import Column, SortField, Table
from ...format.paths import with_separator
from ..files import storage
from ..files.footers import FileToRead, read_files
from ..files.physical import field_by_id, physical_schemas
from ..read.scan import scan
from ..values.conform import conform
from .job import fresh_directory, run, settle
from .sorting import order_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GROUP = "__ducklake_group"
_RANK = "__ducklake_rank"
_SOURCE = "__ducklake_source"
_SNAPSHOT = "__ducklake_snapshot"
_MOST_TASKS = 2000


@dataclass(frozen=True)
class Job:
    """What the files of one call of `write_compacted` have in common.

    Args:
        table: says where files go, and the names that columns have now, which `order` uses.
        layout: the columns to read and write, in a plan without files.
        options: how files are written.
        order: how rows are sorted, in Spark's words; without, they stay in the order of the groups.
        snapshot_ids: rows keep the snapshot that they belong to.
    """

    table: Table
    layout: ScanPlan
    options: WriteOptions
    order: tuple[SortField, ...]
    snapshot_ids: bool


def write_compacted(spark: SparkSession, groups: Sequence[Group], job: Job) -> list[Compacted]:
    """Write each group as a file; on an error nothing is left behind.

    Raises:
        LakeError: a value that Spark cannot hold, or a file that is missing.
        StatementError: a column that Spark cannot write.
    """
    implicit = _without_row_ids(groups, job) if not job.order else [False] * len(groups)
    done: dict[int, Compacted] = {}
    try:
        for row_ids in (False, True):
            chosen = [number for number, plain in enumerate(implicit) if plain is not row_ids]
            if not chosen:
                continue
            written = _write(spark, [groups[number] for number in chosen], job, row_ids)
            for place, number in enumerate(chosen):
                start = None if row_ids else groups[number][0].file.row_id_start
                done[number] = Compacted(groups[number], written.get(place), start)
    except BaseException:
        storage.remove(unit.file.path for unit in done.values() if unit.file is not None)
        raise
    return [done[number] for number in range(len(groups))]


def _without_row_ids(groups: Sequence[Group], job: Job) -> list[bool]:
    """Of which groups the row ids follow from the position: they are consecutive, and no file holds ids of its own."""
    consecutive = [consecutive_row_ids(group) and not any(each.file.is_touched for each in group) for group in groups]
    files = [each.file for group, plain in zip(groups, consecutive, strict=True) if plain for each in group]
    schemas = physical_schemas(job.layout.name, files) if files else []
    own = {file.data_file_id for file, schema in zip(files, schemas, strict=True) if field_by_id(schema, ROW_ID_FIELD_ID) is not None}
    return [plain and not any(each.file.data_file_id in own for each in group) for group, plain in zip(groups, consecutive, strict=True)]


def _write(spark: SparkSession, groups: Sequence[Group], job: Job, row_ids: bool) -> dict[int, WrittenFile]:
    """By place in `groups`, the file that was written; none for a group that has no rows left."""
    columns = (*job.layout.columns, *((SNAPSHOT_ID,) if job.snapshot_ids else ()), *((ROW_ID,) if row_ids else ()))
    with fresh_directory(job.table.path) as target:
        places = {
            int(path[len(target) :].partition(f"{_GROUP}=")[2].partition("/")[0]): (path, size)
            for path, size in run(_rows(spark, groups, job, columns), target, job.options, [_GROUP])
        }
        ordered = sorted(places)
        found = read_files([FileToRead(*places[place], groups[place][0].partition_values) for place in ordered], columns)
        if [file.path for file in found] != [places[place][0] for place in ordered]:
            raise LakeError(f"the files that Spark wrote to {target} are not those that were expected")
        homes = [_home(groups[place], with_separator(job.table.path)) for place in ordered]
        return dict(zip(ordered, settle(found, homes, target), strict=True))


def _rows(spark: SparkSession, groups: Sequence[Group], job: Job, columns: Sequence[Column]) -> DataFrame:
    """The rows of all groups in their final order, as the columns of the files and `_GROUP`."""
    members = [(place, each.file) for place, group in enumerate(groups) for each in group]
    plan = replace(job.layout, files=tuple(file for _, file in members))
    now = {column.column_id: column.name for column in job.table.columns}
    names = [now.get(column.column_id, f"__ducklake_old_{column.column_id}") for column in plan.columns]
    rows = scan(spark, plan, lineage=True, virtual=("snapshot_id",))
    rows = rows.toDF(*names, LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, _SNAPSHOT)
    sources = {
        _SOURCE: pa.array([file.data_file_id for _, file in members], pa.int64()),
        _GROUP: pa.array([place for place, _ in members], pa.int64()),
        _RANK: pa.array(range(len(members)), pa.int64()),
    }
    rows = rows.join(F.broadcast(spark.createDataFrame(pa.table(sources))), F.col(LINEAGE_FILE) == F.col(_SOURCE))
    keys = [F.col(_GROUP), *order_of(rows, job.order), F.col(_RANK), F.col(LINEAGE_POSITION)]
    rows = rows.repartition(min(len(groups), _MOST_TASKS), F.col(_GROUP)).sortWithinPartitions(*keys)
    special: Mapping[int, str] = {ROW_ID_FIELD_ID: LINEAGE_ROW_ID, SNAPSHOT_ID_FIELD_ID: _SNAPSHOT}
    read = [*names, *(special[column.column_id] for column in columns[len(names) :])]
    types = {field.name: field.dataType for field in rows.schema.fields}
    fitted = [conform(rows[f"`{name}`"], types[name], column) for name, column in zip(read, columns, strict=True)]
    return rows.select(F.col(_GROUP), *fitted)


def _home(group: Group, home: str) -> str:
    """Beside the first of those below `home` that a file takes the place of."""
    own = (each.file.path for each in group if each.file.path.startswith(home))
    return next(own, home).rpartition("/")[0] + "/"
