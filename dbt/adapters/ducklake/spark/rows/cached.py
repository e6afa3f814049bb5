"""Compute a DataFrame once: cache its rows in Spark while they are needed, then release them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def cached(frame: DataFrame) -> Iterator[DataFrame]:
    """Yield a DataFrame with the same rows. Its first action computes them; Spark caches them (memory, then disk) until the block ends."""
    persisted = frame.persist()
    try:
        yield as_leaf(persisted)
    finally:
        persisted.unpersist()


def as_leaf(persisted: DataFrame) -> DataFrame:
    """Return a persisted DataFrame as a plan of one node.

    Otherwise Spark analyzes the whole query again for every DataFrame that uses it, which takes most of the time of a small statement on a
    large query. With Spark Connect the DataFrame is returned unchanged.
    """
    java: Any = getattr(persisted, "_jdf", None)
    if java is None:
        return persisted
    session: Any = persisted.sparkSession
    found = session._jsparkSession.sharedState().cacheManager().lookupCachedData(java)
    if found.isEmpty():
        return persisted
    names = java.queryExecution().analyzed().output()  # the same rows may be cached under other names
    plan = found.get().cachedRepresentation().withOutput(names)
    return type(persisted)(session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)
