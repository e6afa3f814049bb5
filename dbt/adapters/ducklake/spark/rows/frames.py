"""Convert DataFrames of other libraries to Spark's: pandas, pandas-on-Spark, polars, Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from ...errors import StatementError
from ...format.identifiers import backquoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def to_dataframe(spark: SparkSession, rows: Any) -> DataFrame:
    """Return the same rows as a DataFrame of `spark`.

    Args:
        spark: the session of the result.
        rows: a PySpark, pandas, pandas-on-Spark or polars DataFrame (also a lazy one), or an Arrow table, record batch or reader.

    Raises:
        StatementError: `rows` has another type.
    """
    home = type(rows).__module__.split(".")
    if home[:2] == ["pyspark", "sql"]:
        return _of_session(spark, cast("DataFrame", rows))
    if home[:2] == ["pyspark", "pandas"]:
        return _of_session(spark, cast("DataFrame", rows.to_spark()))
    if home[0] == "pandas" and hasattr(rows, "to_numpy"):
        return _from_pandas(spark, rows)
    if home[0] == "polars":
        lazy = hasattr(rows, "collect") and not hasattr(rows, "to_arrow")
        return _from_arrow(spark, (rows.collect() if lazy else rows).to_arrow())
    if home[0] == "pyarrow":
        return _from_arrow(spark, _arrow_table(rows))
    raise StatementError(
        f"a {type(rows).__module__}.{type(rows).__qualname__} cannot become a table: return a PySpark, pandas, polars or Arrow table"
    )


def local_frame(spark: SparkSession, columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Return rows of Python values as a DataFrame; `columns` are (name, Spark type) pairs."""
    schema = ", ".join(f"{backquoted(name)} {kind}" for name, kind in columns)
    return spark.createDataFrame(list(rows), schema)


def _of_session(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Move a DataFrame of another session of the same Spark, such as that of pandas-on-Spark, to the session `spark`."""
    if frame.sparkSession is spark:
        return frame
    name = f"dbt_ducklake_{uuid4().hex}"
    frame.createGlobalTempView(name)
    try:
        return spark.table(f"global_temp.{name}")
    finally:
        spark.catalog.dropGlobalTempView(name)


def _from_pandas(spark: SparkSession, frame: Any) -> DataFrame:
    import pyarrow as pa

    frame = frame.rename(columns=str)
    return _from_arrow(spark, pa.Table.from_pandas(frame, preserve_index=False))


def _arrow_table(rows: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.RecordBatchReader):
        return rows.read_all()
    return rows


def _from_arrow(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Convert with an explicit schema, because Spark would read a timestamp without a time zone as one with a time zone."""
    from pyspark.sql.pandas.types import from_arrow_schema

    table = without_empty_chunks(with_spark_types(table))
    return spark.createDataFrame(table, schema=from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def without_empty_chunks(table: pa.Table) -> pa.Table:
    """Return the table without empty chunks, because Spark ignores the rows after one."""
    import pyarrow as pa

    if not table.num_columns:
        return table
    return pa.Table.from_batches([batch for batch in table.to_batches() if batch.num_rows], table.schema)


def with_spark_types(table: pa.Table) -> pa.Table:
    """Return the table with the nearest types that Spark supports. Nanoseconds are cut off; any other loss is an error of Arrow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pa.schema([field.with_type(_spark_type(field.type)) for field in table.schema])
    columns = [
        column.cast(options=pc.CastOptions(field.type, allow_time_truncate=_has_nanoseconds(column.type)))
        for column, field in zip(table.columns, plain, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=plain)


def _has_nanoseconds(kind: pa.DataType) -> bool:
    """Whether values of the type lose digits as microseconds, which are cut off as everywhere in Spark."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _has_nanoseconds(kind.value_type)
    if pa.types.is_nested(kind):
        return any(_has_nanoseconds(kind.field(index).type) for index in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def _spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the nearest Arrow type that Spark supports: no unsigned integers, views, dictionaries, large or fixed sizes, nanoseconds."""
    import pyarrow as pa

    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.string_view(): pa.string(),
        pa.large_string(): pa.string(),
        pa.binary_view(): pa.binary(),
        pa.large_binary(): pa.binary(),
        pa.date64(): pa.date32(),
        pa.null(): pa.string(),
    }
    if kind in wider:
        return wider[kind]
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_spark_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_spark_type(kind.key_type), _spark_type(kind.item_type))
    return kind
