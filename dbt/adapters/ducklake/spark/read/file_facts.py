"""Add what the catalog knows about each data file as columns to its rows.

For one file the columns are literals, for several files they come from a broadcast join on the path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ..files import locations
from ..values.conversions import REFUSED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATH = "__ducklake_path"
"""The column with `_metadata.file_path`."""
_KEY = "__ducklake_facts_path"

Fact = int | str | None


def with_facts(spark: SparkSession, frame: DataFrame, paths: Sequence[str], facts: Mapping[str, Sequence[Fact]]) -> DataFrame:
    """Return `frame`, which has the column PATH, with a column for each fact.

    Using a fact of a file that is not in `paths` raises an error in Spark: otherwise an anti join would silently ignore deletes.

    Args:
        spark: the session of `frame`.
        frame: the rows of the files.
        paths: the files, by their paths in the lake.
        facts: column name → value for each file, all integers or all strings.
    """
    if len(paths) == 1:
        literals = {name: F.lit(values[0]).cast(_type(values)) for name, values in facts.items()}
        return frame.withColumns(literals)
    schema = StructType([StructField(_KEY, StringType()), *[StructField(name, _type(v)) for name, v in facts.items()]])
    rows = pa.table(
        {
            _KEY: pa.array([locations.metadata_path(path) for path in paths], pa.string()),
            **{
                name: pa.array(values, pa.string() if isinstance(_type(values), StringType) else pa.int64())
                for name, values in facts.items()
            },
        }
    )
    known = F.broadcast(spark.createDataFrame(rows, schema))
    joined = frame.join(known, F.col(PATH) == F.col(_KEY), "left_outer")
    text = F.concat(F.lit(REFUSED + "Spark read a file whose path is not in the scan plan: "), F.col(PATH))
    return joined.withColumns(
        {
            name: F.when(F.col(_KEY).isNull(), F.raise_error(text).cast(_type(values))).otherwise(F.col(name))
            for name, values in facts.items()
        }
    )


def _type(values: Sequence[Fact]) -> LongType | StringType:
    return StringType() if any(isinstance(value, str) for value in values) else LongType()
