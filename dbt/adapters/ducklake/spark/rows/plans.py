"""Plans that PySpark has no function for. They use Spark's JVM classes, which classic PySpark can reach, but not Spark Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..session.jvm import java_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SQL = "org.apache.spark.sql"
LITTLE_BYTES = 16 * 2**20
"""The maximum size of what a query reads, by Spark's statistics, if it may be computed twice instead of being cached."""
LITTLE_RESULT_BYTES = 128 * 2**20
"""The maximum size of a result, by Spark's statistics, whose partitions each send their rows without a common limit."""


def reads_little(frame: DataFrame) -> bool:
    """Whether the files and relations of a query are so small that computing it again costs less than caching it.

    With Spark Connect, where only the server has the plan, and for a query with a user-defined function or with a subquery in an
    expression, this is false.
    """
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        return False
    session: Any = frame.sparkSession
    patterns = java_class(session._jvm, f"{_SQL}.catalyst.trees.TreePattern")
    plan = java.queryExecution().analyzed()
    if any(plan.containsPattern(each()) for each in (patterns.PLAN_EXPRESSION, patterns.PYTHON_UDF, patterns.SCALA_UDF)):
        return False
    leaves = plan.collectLeaves()
    found = [leaves.apply(index) for index in range(leaves.size())]
    tables = [leaf for leaf in found if leaf.nodeName() != "CTERelationRef"]  # the relation that it names is in the plan too
    return sum(map(_size, tables)) <= LITTLE_BYTES


def returns_little(frame: DataFrame) -> bool:
    """Whether Spark estimates that a query returns little: of a join, the product of what it reads. With Spark Connect, this is false."""
    java: Any = getattr(frame, "_jdf", None)
    return java is not None and _size(java.queryExecution().analyzed()) <= LITTLE_RESULT_BYTES


def _size(plan: Any) -> int:
    return int(str(plan.stats().sizeInBytes()))


def limit_partitions(frame: DataFrame, number: int) -> DataFrame:
    """Return at most `number` rows of each partition, without the shuffle of `frame.limit`; with Spark Connect at most `number` in all."""
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        return frame.limit(number)
    session: Any = frame.sparkSession
    integer = java_class(session._jvm, f"{_SQL}.types.DataTypes").IntegerType
    literal = java_class(session._jvm, f"{_SQL}.catalyst.expressions.Literal")(number, integer)
    limit = java_class(session._jvm, f"{_SQL}.catalyst.plans.logical.LocalLimit")
    return _of_plan(session, limit(literal, java.queryExecution().analyzed()))


def as_single_node(persisted: DataFrame) -> DataFrame:
    """Return a persisted DataFrame as a plan of one node.

    Otherwise Spark analyzes the whole query again for every DataFrame that is derived from it. If the query is long and its rows are few,
    that takes most of the time. With Spark Connect, or if the DataFrame is not in Spark's cache, it is returned unchanged.
    """
    java: Any = getattr(persisted, "_jdf", None)
    if java is None:
        return persisted
    session: Any = persisted.sparkSession
    cached = session._jsparkSession.sharedState().cacheManager().lookupCachedData(java)
    if cached.isEmpty():
        return persisted
    names = java.queryExecution().analyzed().output()  # the same rows may be cached under other names
    plan = cached.get().cachedRepresentation().withOutput(names)
    return _of_plan(session, plan)


def _of_plan(session: Any, plan: Any) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    dataset = java_class(session._jvm, f"{_SQL}.classic.Dataset")
    return ClassicDataFrame(dataset.ofRows(session._jsparkSession, plan), session)
