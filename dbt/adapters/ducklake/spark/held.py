"""Computing a DataFrame once: keep its rows with Spark while they are needed, then let them go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def held(frame: DataFrame) -> Iterator[DataFrame]:
    """The same rows, computed by the first action on them and kept (memory, then disk) until the block ends."""
    kept = frame.persist()
    try:
        yield kept
    finally:
        kept.unpersist()
