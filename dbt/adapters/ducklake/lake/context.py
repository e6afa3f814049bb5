"""The context of an action on a lake: the catalog, the open transaction, and Spark when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..catalog.lake import LakeCatalog
from ..catalog.transaction.transaction import Transaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Context:
    """The arguments that all actions share. The first call of `spark()` starts Spark; actions that need only the catalog never call it."""

    catalog: LakeCatalog
    transaction: Transaction
    spark: Callable[[], SparkSession]


@dataclass(frozen=True)
class RowCounts:
    """How many rows a statement inserted, updated and deleted."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        """The number of changed rows."""
        return self.inserted + self.updated + self.deleted
