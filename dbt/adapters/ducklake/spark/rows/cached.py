"""Computing a DataFrame once: keep its rows with Spark while they are needed, then let them go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def held(frame: DataFrame) -> Iterator[DataFrame]:
    """The same rows, computed by the first action on them and kept (memory, then disk) until the block ends."""
    kept = frame.persist()
    try:
        yield as_leaf(kept)
    finally:
        kept.unpersist()


def as_leaf(kept: DataFrame) -> DataFrame:
    """What is kept as a plan of one node. Else whatever is made of it is analysed together with the whole query that it came from, which is
    most of the time of a small statement on a large query. Spark Connect has no such plan.
    """
    java: Any = getattr(kept, "_jdf", None)
    if java is None:
        return kept
    session: Any = kept.sparkSession
    cached = session._jsparkSession.sharedState().cacheManager().lookupCachedData(java)
    if cached.isEmpty():
        return kept
    names = java.queryExecution().analyzed().output()  # the rows may have been kept already, under other names
    plan = cached.get().cachedRepresentation().withOutput(names)
    return type(kept)(session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)
