"""Literals that PySpark has no function for. They are built from Spark's own classes, which Spark Connect gives no access to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def array_of_longs(spark: SparkSession, values: bytes) -> Column:
    """Return an array of BIGINT as one literal, which costs a few milliseconds for a million elements.

    Args:
        spark: a session in classic mode.
        values: the elements as 64-bit little-endian integers.
    """
    from pyspark.sql.classic.column import Column as ClassicColumn

    session: Any = spark
    jvm = session._jvm
    elements = session.sparkContext._gateway.new_array(jvm.long, len(values) // 8)
    jvm.java.nio.ByteBuffer.wrap(values).order(jvm.java.nio.ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(elements)
    types, expressions = jvm.org.apache.spark.sql.types.DataTypes, jvm.org.apache.spark.sql.catalyst.expressions
    data = expressions.UnsafeArrayData.fromPrimitiveArray(elements)
    literal = expressions.Literal(data, types.createArrayType(types.LongType, False))
    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(literal))
