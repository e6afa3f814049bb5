"""Compute a DataFrame once: cache its rows in Spark while they are needed, then release them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .plans import as_single_node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def cached(frame: DataFrame) -> Iterator[DataFrame]:
    """Yield a DataFrame with the same rows. Its first action computes them; Spark caches them (memory, then disk) until the block ends."""
    persisted = frame.persist()
    try:
        yield as_single_node(persisted)
    finally:
        persisted.unpersist()
