"""MERGE of a small source: one Spark job fetches it, this process or a second job finds its matches, and this process writes the files.

A pair is a row of the target and a row of the source that match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID
from ..format.objects import Column, Table
from ..spark.rows.local_match import MAX_PAIRS, SOURCE_COLUMNS, LocalSource, copied_pairs, kept_columns, local_pairs, source_columns
from ..spark.rows.match import ACTION, SOURCE_ROW, candidates, outcome_of, rows_of_clauses, rows_to_insert, updated_columns
from ..spark.rows.positions import count, union
from ..spark.values.key_ranges import Measured, key_columns, key_names, ranges_of, usable_keys, value_names
from .context import Context, RowCounts
from .merge_request import MergeRequest, refuse_repeated
from .row_changes import stage_deletes
from .small import MAX_BYTES, Changed, fetch, fetch_changed, unless_it_fails, write_small
from .target import TargetScan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_PAIR_COLUMNS = (ACTION, LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, SOURCE_ROW)


@dataclass(frozen=True)
class SmallSource:
    """The fetched rows of a source: SOURCE_ROW, the ACTION that applies if the row has no match, the keys, and the values to insert."""

    rows: pa.Table
    size: Measured
    max_rows: int
    """The maximum number of rows that this merge fetches."""
    local: LocalSource | None
    """The same rows, to match them with a target that this process has read; None if only Spark can match them."""


@dataclass(frozen=True)
class SourceReader:
    """Fetches the source of a merge, with the values of its INSERT clauses."""

    table: Table
    request: MergeRequest
    max_rows: int
    """The maximum number of rows that the merge fetches."""
    keys: list[tuple[Column, str]]
    """The usable keys of the request."""
    row: tuple[str, StructType] | None
    """SQL of a row as a struct, and its type; None if this process cannot match the rows."""

    @classmethod
    def of(cls, source: DataFrame, table: Table, request: MergeRequest, max_rows: int) -> SourceReader:
        """Return the reader of a numbered source."""
        keys = usable_keys(source.alias(request.source_alias), request.keys)
        row = source_columns(source, request.source_alias) if keys and request.may_match_in_process else None
        return cls(table, request, max_rows, keys, row)

    def may_fetch(self, size: Measured) -> bool:
        """Whether a source of this size is small enough."""
        copies = 1 if self.row is None else 2  # each value, and the value to insert
        return 0 < size.rows <= self.max_rows and copies * size.text_bytes <= MAX_BYTES

    def fetch(self, source: DataFrame, *, at_most: int | None = None, few_partitions: bool = False) -> SmallSource | None:
        """Fetch the rows.

        Args:
            source: the numbered source.
            at_most: the maximum number of rows that it can have, if it is known.
            few_partitions: whether each partition of the source may send the maximum number of rows.

        Returns:
            The rows; None if there are too many, if a key is not valid UTF-8, or if a value cannot be inserted: only the general merge
            knows whether its row is inserted at all.

        Raises:
            CancelledError: the statement was cancelled.
            AnalysisException: an INSERT clause is invalid.
        """
        extra = [*key_columns(self.keys), *(() if self.row is None else (self.row[0],))]
        rows = candidates(source, self.request.source_alias, self.table.columns, self.request.not_matched, extra)
        return unless_it_fails(lambda: self._fetched(rows, at_most, few_partitions))

    def _fetched(self, rows: DataFrame, at_most: int | None, few_partitions: bool) -> SmallSource | None:
        columns = self.table.columns if self.request.not_matched else ()
        names = [SOURCE_ROW, ACTION, *key_names(self.keys), *(() if self.row is None else (SOURCE_COLUMNS,))]
        found = fetch(rows, columns, None, self.max_rows, extra=names, at_most=at_most, few_partitions=few_partitions)
        if found is None:
            return None
        keys = [(column.name, name) for (column, _), name in zip(self.keys, value_names(self.keys), strict=True)]
        local = None if self.row is None else LocalSource(found, self.row[1], keys)
        return SmallSource(found, Measured(found.num_rows, found.nbytes, ranges_of(found, self.keys)), self.max_rows, local)


def merge_small(
    context: Context, table: Table, request: MergeRequest, target: TargetScan, matching: Changed | None, source: SmallSource
) -> RowCounts | None:
    """Stage the effect of a merge whose source has been fetched.

    Args:
        context: the transaction and Spark.
        table: the target.
        request: the merge, without WHEN NOT MATCHED BY SOURCE.
        target: the scan of the target.
        matching: returns the pairs of a scan of the target, as `Match.pairs`; None if only this process may find them.
        source: the fetched source.

    Returns:
        The numbers of changed rows; None if nothing was staged, because more rows match than may be fetched, or because only Spark can
        find them and `matching` is None.

    Raises:
        DataError: a row of the table is matched by more than one row of the source.
    """
    update_clauses = [index for index, clause in enumerate(request.matched) if clause.action == "update"]
    columns = updated_columns(table.columns, request.matched)
    pairs = _local_pairs(context, table, request, target, source, columns)
    if pairs is None and matching is not None:
        max_pairs = target.plan.max_rows * source.rows.num_rows
        pairs = fetch_changed(target, matching, columns, source.max_rows, extra=_PAIR_COLUMNS, at_most=max_pairs)
    if pairs is None:
        return None
    outcome = outcome_of(pairs)
    refuse_repeated(table, request, outcome)
    names = [column.name for column in table.columns]
    updated = inserted = 0
    if update_clauses:
        updated = write_small(context, table, rows_of_clauses(pairs, update_clauses).select([*names, LINEAGE_ROW_ID]), row_ids=True)
    if request.not_matched:
        inserted = write_small(context, table, rows_to_insert(source.rows, pairs).select(names))
    deleted = sum(count(positions) for index, positions in outcome.actions.items() if index not in update_clauses)
    stage_deletes(context, table, target.plan, union(outcome.actions.values()))
    return RowCounts(inserted, updated, deleted)


def _local_pairs(
    context: Context, table: Table, request: MergeRequest, target: TargetScan, source: SmallSource, columns: tuple[Column, ...]
) -> pa.Table | None:
    """Return the pairs, with the new values of `columns`, if this process can read both sides; None if Spark must find them."""
    if source.local is None:
        return None
    aliases = (request.target_alias, request.source_alias)
    matches_keys = request.only_keys and len(source.local.keys) == len(request.keys)
    kept = kept_columns(request.source_alias, request.matched, request.not_matched, table.columns) if matches_keys else None
    rows = target.local or target.with_keys(source.local.values_of_keys(), kept)
    if rows is None:
        return None
    if kept is not None:
        copied = copied_pairs(rows, source.local, request.matched, kept, table.columns)
        return None if copied is None or copied.num_rows > source.max_rows else copied
    pairs = local_pairs(context.spark(), rows, source.local, aliases, request.condition, request.matched, table.columns)
    if pairs is None:
        return None
    return unless_it_fails(lambda: fetch(pairs, columns, target.plan, source.max_rows, extra=_PAIR_COLUMNS, at_most=MAX_PAIRS))
