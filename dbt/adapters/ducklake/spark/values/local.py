"""Rows in this process that Spark gets as a local relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as T

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LEAVES = (
    *(T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType, T.DecimalType),
    *(T.StringType, T.BinaryType, T.DateType, T.TimestampType, T.TimestampNTZType),
)


@dataclass(frozen=True)
class LocalRows:
    """Rows of a table: its columns, and with lineage LINEAGE_FILE, LINEAGE_POSITION and LINEAGE_ROW_ID after them."""

    rows: pa.Table
    schema: T.StructType

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a local relation, whose filters and projections Spark evaluates without a job."""
        return spark.createDataFrame(self.rows, self.schema)


def can_be_local(type_: T.DataType) -> bool:
    """Whether Spark and Arrow exchange values of a type without a change."""
    return type(type_) in _LEAVES and (not isinstance(type_, T.StringType) or type_ == T.StringType())  # without a collation
