"""Inlined rows as a local relation with the table's current columns.

The rows have the columns of the schema version that wrote them: columns match by id, missing columns get their initial default, and older
types are converted as in old files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ...errors import LakeError
from ...format.files import InlinedRows, ScanPlan
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ...format.types import NESTED, from_stored
from ..files.physical import FileField
from ..values.conversions import convert
from ..values.types import spark_type
from .inlined_values import arrow_type, to_arrow
from .reading import ColumnLookup, Reading, initial_value, read_column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

ROW_ID = "__ducklake_row_id"
BEGIN_SNAPSHOT = "__ducklake_begin_snapshot"


@dataclass(frozen=True)
class InlinedColumn:
    """A column of the table with its values in the inlined rows."""

    column: Column
    reading: Reading | None
    """How to convert the values; None if the rows do not have the column."""
    values: pa.Array | None


def inlined_columns(plan: ScanPlan, rows: InlinedRows) -> list[InlinedColumn]:
    """Return the table's columns with their values in inlined rows.

    Raises:
        LakeError: Spark cannot represent a value; the message names table and column.
    """
    layout = {column.column_id: column for column in rows.columns}
    index_of = {column.column_id: index for index, column in enumerate(rows.columns)}
    lookup = ColumnLookup(plan.name, frozenset(), tuple(_as_file_field(column) for column in rows.columns))
    inlined = []
    for column in plan.columns:
        old = layout.get(column.column_id)
        if old is None:
            inlined.append(InlinedColumn(column, None, None))
            continue
        reading = read_column(column, lookup)
        values = [row[index_of[column.column_id]] for row in rows.rows]
        inlined.append(InlinedColumn(column, reading, _array(plan.name, column, old, reading, values)))
    return inlined


def read_inlined(spark: SparkSession, plan: ScanPlan, rows: InlinedRows) -> tuple[DataFrame, list[SparkColumn]]:
    """Return a frame with ROW_ID and BEGIN_SNAPSHOT, and the expressions of the table's columns over it.

    Raises:
        LakeError: Spark cannot represent a value; the message names table and column.
    """
    fields = [StructField(ROW_ID, LongType()), StructField(BEGIN_SNAPSHOT, LongType())]
    arrays = [pa.array(rows.row_ids, pa.int64()), pa.array(rows.begin_snapshots, pa.int64())]
    expressions: list[SparkColumn] = []
    for each in inlined_columns(plan, rows):
        if each.reading is None or each.values is None:
            expressions.append(_default(each.column))
            continue
        name = f"__c{each.column.column_id}"
        requested = each.reading.field.dataType
        fields.append(StructField(name, requested))
        arrays.append(each.values)
        expressions.append(convert(F.col(name), each.reading.conversion, requested, each.reading.final).alias(each.column.name))
    table = pa.Table.from_arrays(arrays, names=[field.name for field in fields])
    return spark.createDataFrame(table, StructType(fields)), expressions


def _default(column: Column) -> SparkColumn:
    type_ = spark_type(column)
    return convert(F.lit(None), initial_value(column), type_, type_).alias(column.name)


def _array(table: str, column: Column, old: Column, reading: Reading, values: Sequence[object]) -> pa.Array:
    requested = reading.field.dataType
    try:
        converted = [to_arrow(value, column, old, requested) for value in values]
        return pa.array(converted, arrow_type(requested))
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        raise LakeError(
            f"column {column.name} of table {table} has an inlined value of type {old.type} that Spark cannot represent: {error}. "
            "Update this value in DuckDB to one that Spark can represent, or delete its row there"
        ) from error


def _as_file_field(column: Column) -> FileField:
    """Return a column of inlined rows as the field of a file."""
    kind = from_stored(column.type).name
    if kind not in NESTED and not kind.startswith("decimal"):
        kind = leaf_type(kind).inlined_kind
    return FileField(column.name, column.column_id, kind, tuple(_as_file_field(child) for child in column.children))
