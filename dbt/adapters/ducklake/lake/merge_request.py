"""The request for a MERGE, and the rule that each row of the table matches at most one row of the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import DataError
from ..format.files import ColumnFilter, ScanPlan
from ..format.objects import Column, Table
from ..spark.rows.match import MatchOutcome, When

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class MergeRequest:
    """A MERGE with bound names. Expressions are SQL over `target_alias` and `source_alias`."""

    source: DataFrame
    target_alias: str
    source_alias: str
    condition: str
    keys: Sequence[tuple[Column, str]]
    """(target column, SQL over the source) pairs that the condition compares for equality."""
    only_compares: bool = False
    """Whether the condition only compares columns and literals, and no expression names a column that is called like one of the aliases."""
    only_keys: bool = False
    """Whether the condition compares nothing but the keys."""
    matched: Sequence[When] = ()
    not_matched: Sequence[When] = ()
    not_matched_by_source: Sequence[When] = ()
    within: Sequence[ColumnFilter] = ()
    """Filters that every matching row of the table passes."""
    virtual: tuple[str, ...] = ()
    """The virtual columns of the target that the expressions name."""
    asks_for_files: bool = False
    """Whether an expression may ask for the file of a row."""
    planned: Callable[[ScanPlan], None] = lambda _plan: None
    """Called with the scan plan of the table."""

    @property
    def may_match_in_process(self) -> bool:
        """Whether this process may find the matches, if it can read the rows of both sides; otherwise only Spark can."""
        return bool(self.keys) and self.only_compares and not self.virtual and not self.asks_for_files


def refuse_repeated(table: Table, request: MergeRequest, found: MatchOutcome) -> None:
    """Refuse a target row that matches several source rows, unless it can only be deleted, as Spark does."""
    only_delete = len(request.matched) == 1 and request.matched[0].action == "delete" and request.matched[0].condition is None
    if request.matched and not only_delete and found.repeated:
        raise DataError(
            f"MERGE into {table.schema_name}.{table.name}: a row of the table matches more than one row of the source, so which values "
            "it should get is undefined. Make the source unique by the keys of the ON condition (for instance with "
            "`row_number() over (partition by <key> order by <recency> desc) = 1`)"
        )
