"""Literals that PySpark has no function for, built with Spark's Java classes; Spark Connect gives no access to these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..session.jvm import java_class

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_SQL = "org.apache.spark.sql"


def array_of_longs(spark: SparkSession, values: bytes) -> Column:
    """Return an array of BIGINT as one literal. It takes a few milliseconds for a million elements.

    Args:
        spark: a session without Spark Connect.
        values: the elements as 64-bit little-endian integers.
    """
    from pyspark.sql.classic.column import Column as ClassicColumn

    session: Any = spark
    jvm = session._jvm
    elements = session.sparkContext._gateway.new_array(jvm.long, len(values) // 8)
    little_endian = java_class(jvm, "java.nio.ByteOrder").LITTLE_ENDIAN
    java_class(jvm, "java.nio.ByteBuffer").wrap(values).order(little_endian).asLongBuffer().get(elements)
    types = java_class(jvm, f"{_SQL}.types.DataTypes")
    data = java_class(jvm, f"{_SQL}.catalyst.expressions.UnsafeArrayData").fromPrimitiveArray(elements)
    literal = java_class(jvm, f"{_SQL}.catalyst.expressions.Literal")(data, types.createArrayType(types.LongType, False))
    return ClassicColumn(java_class(jvm, f"{_SQL}.classic.ExpressionUtils").column(literal))
