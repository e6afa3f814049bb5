"""The scan of the rows that an UPDATE, DELETE or MERGE may change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..format.files import ScanPlan
from ..spark.read.local import local_rows, rows_with_keys
from ..spark.read.local_file import Keys
from ..spark.read.scan import scan
from ..spark.values.local import LocalRows
from .context import Context

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_DELETED = 200_000
"""Up to this number of deleted rows, a statement fetches the matching ones too and drops them: that is faster than a join in Spark."""


@dataclass(frozen=True)
class TargetScan:
    """Scans with lineage of the rows that a statement may change."""

    context: Context
    plan: ScanPlan
    virtual: tuple[str, ...] = ()
    """The virtual columns that the statement names."""
    asks_for_files: bool = False
    """Whether the statement may ask for the file of a row, which only a scan knows."""

    def rows(self) -> DataFrame:
        """Return the rows."""
        return scan(self.context.spark(), self.plan, lineage=True, virtual=self.virtual)

    @property
    def may_read_deleted(self) -> bool:
        """Whether a statement may read the deleted rows too: there are some, and not too many."""
        return 0 < self.plan.deleted_count <= MAX_DELETED

    def rows_with_deleted(self) -> DataFrame | None:
        """Return the rows and the deleted rows of the same files; None unless `may_read_deleted`."""
        if not self.may_read_deleted:
            return None
        return scan(self.context.spark(), self.plan.including_deleted(), lineage=True, virtual=self.virtual)

    @cached_property
    def local(self) -> LocalRows | None:
        """The rows, read by this process; None if Spark must read them, or if they are too many."""
        return None if self.virtual or self.asks_for_files else local_rows(self.plan, lineage=True)

    def with_keys(self, keys: Keys, names: Collection[str] | None = None) -> LocalRows | None:
        """Return the rows whose keys are among some values, read by this process; see `rows_with_keys`.

        Args:
            keys: the values of each key.
            names: the names of the columns to read in addition to the keys; None for all.
        """
        if self.virtual or self.asks_for_files:
            return None
        columns = tuple(each for each in self.plan.columns if names is None or each.name in names or each.name in keys)
        return rows_with_keys(replace(self.plan, columns=columns), keys)

    def local_rows(self) -> DataFrame | None:
        """Return the rows of `local` as a relation that Spark reads from memory; None if `local` is None."""
        return None if self.local is None else self.local.frame(self.context.spark())
