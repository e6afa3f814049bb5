"""A table at a snapshot as a DataFrame, from its `ScanPlan`.

Each group of files (`file_groups`) is split (`FileGroup.split`): files that are read whole, restricted files, encrypted files, and further
entries of the same path have scans of their own. If most rows are in restricted files, one scan reads both. Inlined rows are local
relations. A table without schema changes and deletes is one plain scan, with Spark's filter pushdown and column pruning.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StructType

from ...errors import StatementError
from ...format.files import (
    INLINED_BASE,
    LINEAGE_FILE,
    LINEAGE_POSITION,
    LINEAGE_ROW_ID,
    ROW_ID_COLUMN,
    ROW_ID_FIELD_ID,
    SNAPSHOT_ID_COLUMN,
    SNAPSHOT_ID_FIELD_ID,
    ScanPlan,
)
from ...format.identifiers import backquoted
from ..files.locations import hive_column_value
from ..values.conversions import REFUSED, convert
from ..values.expressions import Expression, can_be_sql, select
from ..values.types import spark_type
from . import encrypted, inlined, positions
from .file_columns import FileValue, with_file_columns
from .file_groups import FileGroup, group_files
from .manifest import read_files
from .reading import embedded_column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

VIRTUAL = ("rowid", "snapshot_id", "filename", "file_row_number")
"""DuckLake's virtual columns; `filename` and `file_row_number` are NULL for inlined rows."""

_POSITION = "__ducklake_position"
_NUMBER = "__ducklake_number"
_FILE_ID = "__ducklake_file_id"
_ROW_ID_START = "__ducklake_row_id_start"
_BEGIN = "__ducklake_begin_snapshot"
_UNTIL = "__ducklake_until"
_FROM = "__ducklake_from"
_FILENAME = "__ducklake_filename"
_PARTITION = "__ducklake_partition_"


def scan(
    spark: SparkSession, plan: ScanPlan, *, lineage: bool = False, virtual: Collection[str] = (), unneeded: Collection[str] = ()
) -> DataFrame:
    """Return the rows of a table: its columns in order, with their names and Spark types.

    Args:
        spark: a session of `SparkRuntime`.
        plan: the files and inlined rows to read.
        lineage: add LINEAGE_FILE, LINEAGE_POSITION and LINEAGE_ROW_ID after the columns.
        virtual: names of `VIRTUAL` to add after that, in this order.
        unneeded: the names of columns that the query does not need, from `unneeded_columns`. Encrypted files are read without them; there
            they are NULL.

    Raises:
        LakeError: a file whose footer is needed is missing or is not a Parquet file, the key of an encrypted file is wrong, or Spark cannot
            represent an inlined value or would skip a file.
        StatementError: an unknown virtual column.
    """
    for name in virtual:
        if name not in VIRTUAL:
            raise StatementError(f"{name} is not a virtual column; there are {', '.join(VIRTUAL)}")
    parts = [part for group in group_files(plan) for part in group.split()]
    branches = [_read_group(spark, plan, part, lineage, tuple(virtual), unneeded) for part in parts]
    branches += [_read_inlined(spark, plan, index, lineage, tuple(virtual)) for index, rows in enumerate(plan.inlined) if rows.rows]
    if not branches:
        return _empty(spark, plan, lineage, tuple(virtual))
    return reduce(lambda one, other: one.unionAll(other), branches)


def _read_group(
    spark: SparkSession, plan: ScanPlan, group: FileGroup, lineage: bool, virtual: Sequence[str], unneeded: Collection[str]
) -> DataFrame:
    """Read a group of files with one scan."""
    restricted = group.is_restricted
    files = [(file.path, file.size_bytes) for file in group.files]
    needs_row_id = (lineage or "rowid" in virtual) and not group.by_name
    some_snapshots = any(file.has_snapshot_range for file in group.files)
    fields = [reading.field for reading in group.readings]
    if needs_row_id:
        fields.append(embedded_column(ROW_ID_COLUMN, ROW_ID_FIELD_ID))
    if (some_snapshots or "snapshot_id" in virtual) and not group.by_name:
        fields.append(embedded_column(SNAPSHOT_ID_COLUMN, SNAPSHOT_ID_FIELD_ID))
    paths = [file.path for file in group.files]
    columns = _file_columns(plan, group, restricted, lineage, virtual)
    if group.files[0].is_encrypted:
        frame = encrypted.read_files(spark, plan.name, group.files, fields, _POSITION, columns, unneeded)
    else:
        frame = read_files(spark, files, StructType(fields), by_name=group.by_name)
        if columns or restricted:
            frame = with_file_columns(spark, frame, paths, columns, [f"_metadata.row_index AS {_POSITION}"])
    if columns or restricted:
        if some_snapshots:
            frame = frame.where(_is_of_snapshots(frame, plan))
        if restricted:
            frame = positions.without_deleted(spark, frame, group.files, _NUMBER, _POSITION)
    elif not group.files[0].is_encrypted and all(
        r.is_plain and r.field.name == c.name for r, c in zip(group.readings, plan.columns, strict=True)
    ):
        return frame
    return select(frame, [*_columns(plan, group), *_added(frame, lineage, virtual)])


def _columns(plan: ScanPlan, group: FileGroup) -> list[Expression]:
    keys = dict(group.partition_keys)
    expressions: list[Expression] = []
    for index, (column, reading) in enumerate(zip(plan.columns, group.readings, strict=True)):
        plain = index not in keys and reading.is_plain and not reading.is_read_whole
        if plain and can_be_sql(reading.field.name, column.name):
            expressions.append(f"{backquoted(reading.field.name)} AS {backquoted(column.name)}")
            continue
        if index in keys:
            text = F.col(f"{_PARTITION}{index}").cast("string")  # a column that is NULL for all files is a BIGINT
            value = F.unhex(text) if column.type.lower() == "blob" else text.cast(reading.final)
        else:
            value = F.col(backquoted(reading.field.name))
            if reading.is_read_whole:
                value = _unpruned(value)
            value = convert(value, reading.conversion, reading.field.dataType, reading.final)
        expressions.append(value.alias(column.name))
    return expressions


def _unpruned(value: SparkColumn) -> SparkColumn:
    """Return the same value in an expression that stops Spark's optimizer from pruning its fields."""
    return F.element_at(F.array(value), 1)


def _file_columns(plan: ScanPlan, group: FileGroup, numbers: bool, lineage: bool, virtual: Sequence[str]) -> dict[str, list[FileValue]]:
    """Return the columns with values per file that these files need; with `numbers` also the index of the file in the group."""
    files = group.files
    columns: dict[str, list[FileValue]] = {
        f"{_PARTITION}{index}": [hive_column_value(file.path, key, plan.columns[index].type.lower()) for file in files]
        for index, key in group.partition_keys
    }
    if numbers:
        columns[_NUMBER] = list(range(len(files)))
    if any(file.has_snapshot_range for file in group.files):
        columns[_UNTIL] = [file.rows_until_snapshot for file in files]
        columns[_FROM] = [file.rows_from_snapshot for file in files]
    if lineage:
        columns[_FILE_ID] = [file.data_file_id for file in files]
    if lineage or "rowid" in virtual:
        columns[_ROW_ID_START] = [file.row_id_start for file in files]
    if "snapshot_id" in virtual:
        columns[_BEGIN] = [file.begin_snapshot for file in files]
    if "filename" in virtual or "file_row_number" in virtual:
        columns[_FILENAME] = [file.path for file in files]
    return columns


def _is_of_snapshots(frame: DataFrame, plan: ScanPlan) -> SparkColumn:
    """Return the condition that a row's embedded snapshot id is in the wanted range, for files with rows of several snapshots."""
    text = (
        f"{REFUSED}a file of table {plan.name} holds rows of several snapshots without their snapshot ids, so it can only be read whole. "
        "Read the table at the newest snapshot, or its changes in a longer range of snapshots"
    )
    missing = F.raise_error(F.lit(text)).cast("bigint")
    embedded = F.col(SNAPSHOT_ID_COLUMN) if SNAPSHOT_ID_COLUMN in frame.columns else F.lit(None).cast("bigint")
    known = F.coalesce(embedded, missing)
    not_later = F.when(F.col(_UNTIL).isNull(), F.lit(True)).otherwise(known <= F.col(_UNTIL))
    return not_later & F.when(F.col(_FROM).isNull(), F.lit(True)).otherwise(known >= F.col(_FROM))


def _added(frame: DataFrame, lineage: bool, virtual: Sequence[str]) -> list[str]:
    """Return SQL for the lineage and virtual columns of rows in files; embedded ids have priority."""
    names = frame.columns if lineage or virtual else ()

    def embedded(name: str, other: str) -> str:
        return f"coalesce({name}, {other})" if name in names else other

    row_id = embedded(ROW_ID_COLUMN, f"{_ROW_ID_START} + {_POSITION}")
    added: list[str] = []
    if lineage:
        added = [f"{_FILE_ID} AS {LINEAGE_FILE}", f"{_POSITION} AS {LINEAGE_POSITION}", f"{row_id} AS {LINEAGE_ROW_ID}"]
    for name in virtual:
        match name:
            case "rowid":
                value = row_id
            case "snapshot_id":
                value = embedded(SNAPSHOT_ID_COLUMN, _BEGIN)
            case "filename":
                value = _FILENAME
            case _:
                value = _POSITION
        added.append(f"{value} AS {name}")
    return added


def _read_inlined(spark: SparkSession, plan: ScanPlan, index: int, lineage: bool, virtual: Sequence[str]) -> DataFrame:
    frame, columns = inlined.read_inlined(spark, plan, plan.inlined[index])
    row_id = F.col(inlined.ROW_ID)
    if lineage:
        file_id = F.lit(INLINED_BASE - index).cast("bigint")
        columns += [file_id.alias(LINEAGE_FILE), row_id.alias(LINEAGE_POSITION), row_id.alias(LINEAGE_ROW_ID)]
    values = {
        "rowid": row_id,
        "snapshot_id": F.col(inlined.BEGIN_SNAPSHOT),
        "filename": F.lit(None).cast("string"),
        "file_row_number": F.lit(None).cast("bigint"),
    }
    return frame.select(*columns, *[values[name].alias(name) for name in virtual])


def _empty(spark: SparkSession, plan: ScanPlan, lineage: bool, virtual: Sequence[str]) -> DataFrame:
    """Return an empty frame, which Spark's optimizer reduces to an empty relation, so that no job runs."""
    types: list[tuple[str, DataType]] = [(column.name, spark_type(column)) for column in plan.columns]
    if lineage:
        types += [(name, LongType()) for name in (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)]
    columns = [F.lit(None).cast(type_).alias(name) for name, type_ in types]
    columns += [F.lit(None).cast("string" if name == "filename" else "bigint").alias(name) for name in virtual]
    return spark.sql("SELECT 1").where(F.lit(False)).select(*columns)
