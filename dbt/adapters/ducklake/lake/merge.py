"""MERGE: plan, read, match, write, stage. The source is read once, and of the target only rows that can match.

A merge of a small source writes its files in this process (`small_merge`).

The range of the source's keys limits the scan of the target: files whose statistics lie outside are pruned. Changed rows become one delete
file for each data file and new files for their new versions, under the same row ids; all of it is staged together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..format.files import LINEAGE_FILE, LINEAGE_POSITION, ScanPlan
from ..format.objects import Table
from ..spark.rows.cached import cached
from ..spark.rows.match import (
    ACTION,
    BROADCAST_BYTES,
    BROADCAST_VALUES,
    SOURCE_ROW,
    Match,
    MatchOutcome,
    When,
    numbered,
    outcome,
    updated_columns,
)
from ..spark.rows.plans import reads_little, returns_little
from ..spark.rows.positions import Positions, count, union
from ..spark.values.key_ranges import KeyRange, Measured, filter_to_ranges, measure
from .context import Context, RowCounts
from .insert import insert
from .merge_request import MergeRequest, refuse_repeated
from .row_changes import stage_deletes
from .small import most_rows
from .small_merge import SmallSource, SourceReader, merge_small
from .target import TargetScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def merge(context: Context, table: Table, request: MergeRequest) -> RowCounts:
    """Stage the effect of a MERGE.

    Raises:
        DataError: a row of the table is matched by more than one row of the source.
    """
    source = numbered(request.source)
    max_rows = 0 if request.not_matched_by_source else most_rows(context, table)
    reader = SourceReader.of(source, table, request, max_rows) if max_rows else None
    small = None
    if reader is not None and reader.row is not None and reads_little(source):
        small = reader.fetch(source, few_partitions=returns_little(source))
        counts = None if small is None else _merge_in_process(context, table, request, source, small)
        if counts is not None:
            return counts
        reader = None if small is None else replace(reader, row=None)
    with cached(source) as rows:
        small, size = _fetched(rows, request, reader, is_small=small is not None)
        target = _target(context, table, request, size)
        request.planned(target.plan)
        matching = _Matching(table, request, rows, size)
        if small is not None and size.rows:
            counts = merge_small(context, table, request, target, matching.pairs, small)
            if counts is not None:
                return counts
        return _merge_in_spark(context, table, request, target.plan, matching.match(target.rows()), size.rows)


def _fetched(rows: DataFrame, request: MergeRequest, reader: SourceReader | None, *, is_small: bool) -> tuple[SmallSource | None, Measured]:
    """Return the rows of a cached source, if they are few and small, and its size.

    Args:
        rows: the cached, numbered source.
        request: the merge.
        reader: fetches the source; None if it must not be fetched.
        is_small: the source was fetched before it was cached. Otherwise it is measured before its rows are fetched.
    """
    size = None if is_small else measure(rows, request.source_alias, request.keys)
    small = None
    if reader is not None and (size is None or reader.may_fetch(size)):
        small = reader.fetch(rows, at_most=None if size is None else size.rows)
    if small is not None:
        return small, small.size
    return None, size or measure(rows, request.source_alias, request.keys)


def _merge_in_process(context: Context, table: Table, request: MergeRequest, source: DataFrame, fetched: SmallSource) -> RowCounts | None:
    """Stage the effect of a MERGE whose matches this process can find, so that Spark computes the source once without caching it.

    Args:
        context: the transaction and Spark.
        table: the target.
        request: the merge, without WHEN NOT MATCHED BY SOURCE.
        source: the numbered source. Spark may return other rows, or other numbers, if it computes it again.
        fetched: its rows.

    Returns:
        The numbers of changed rows; None if nothing was staged, because Spark must find the matches.
    """
    target = _target(context, table, request, fetched.size)
    if fetched.size.rows:
        counts = merge_small(context, table, request, target, None, fetched)
    else:
        _Matching(table, request, source, fetched.size).pairs(target.rows())  # Spark reports an invalid condition in any case
        counts = RowCounts()
    if counts is not None:
        request.planned(target.plan)
    return counts


def _target(context: Context, table: Table, request: MergeRequest, source: Measured) -> TargetScan:
    """Plan the scan of the rows that can match, and add them to the read set of the transaction."""
    filters = [] if request.not_matched_by_source else [*request.within, *(key.column_filter() for key in _ranges(request, source))]
    context.transaction.rows.depends_on_rows(table, filters)
    plan = context.transaction.scan_plan(table, within=filters)
    return TargetScan(context, plan, request.virtual, request.asks_for_files)


def _ranges(request: MergeRequest, source: Measured) -> list[KeyRange]:
    """Return the key ranges that limit the scan of the target; none for WHEN NOT MATCHED BY SOURCE, which needs all rows."""
    return [] if request.not_matched_by_source else source.ranges


@dataclass(frozen=True)
class _Matching:
    """Matches rows of the target with the source in Spark."""

    table: Table
    request: MergeRequest
    source: DataFrame
    size: Measured

    def match(self, rows: DataFrame) -> Match:
        """Match rows of the target with the source."""
        return Match(
            filter_to_ranges(rows, _ranges(self.request, self.size)),
            self.source,
            self.request.target_alias,
            self.request.source_alias,
            self.request.condition,
            self.table.columns,
            broadcast=self.size.rows * len(self.source.columns) <= BROADCAST_VALUES and self.size.text_bytes <= BROADCAST_BYTES,
        )

    def pairs(self, rows: DataFrame) -> DataFrame:
        """Return the matched pairs of rows of the target and the source, with the new values."""
        return self.match(rows).pairs(self.request.matched)


def _merge_in_spark(context: Context, table: Table, request: MergeRequest, plan: ScanPlan, match: Match, source_rows: int) -> RowCounts:
    """Stage the effect of a MERGE with Spark jobs that match the rows and write the files.

    Args:
        context: the transaction and Spark.
        table: the target.
        request: the merge.
        plan: the scan plan of the target.
        match: the source and the rows of the target that can match.
        source_rows: the number of rows of the source.
    """
    matching = match.pairs(request.matched)
    if not source_rows and not request.not_matched_by_source:
        if request.not_matched:
            match.source_only(matching, request.not_matched)  # Spark reports an invalid clause in any case
        return RowCounts()
    inserted = 0
    changes: list[_Changes] = []
    with cached(matching) as pairs:
        if request.matched:
            found = outcome(pairs, max(plan.max_rows, source_rows))
            refuse_repeated(table, request, found)
            changes.append(_stage_versions(context, table, pairs, request.matched, found))
        if request.not_matched:
            inserted = insert(context, table, match.source_only(pairs, request.not_matched))
    if request.not_matched_by_source:
        with cached(match.target_only(request.not_matched_by_source)) as unmatched:
            changes.append(_stage_versions(context, table, unmatched, request.not_matched_by_source, outcome(unmatched, plan.max_rows)))
    updated = [positions for each in changes for positions in each.updated]
    deleted = [positions for each in changes for positions in each.deleted]
    # In one call: a data file has one delete file, and both kinds of clauses may delete rows of the same data file.
    stage_deletes(context, table, plan, union([*updated, *deleted]))
    return RowCounts(inserted, sum(map(count, updated)), sum(map(count, deleted)))


@dataclass(frozen=True)
class _Changes:
    """The positions of the rows that clauses update and delete, by clause."""

    updated: list[Positions]
    deleted: list[Positions]


def _stage_versions(context: Context, table: Table, rows: DataFrame, clauses: Sequence[When], found: MatchOutcome) -> _Changes:
    """Stage the new versions of updated rows, and return the positions of the rows to end: the updated and the deleted ones.

    Args:
        context: the transaction and Spark.
        table: the target.
        rows: cached rows in the shape of `Match.pairs`.
        clauses: the WHEN clauses.
        found: the positions of the rows that each clause applies to.
    """
    updates = [index for index, clause in enumerate(clauses) if clause.action == "update"]
    updated = [positions for index, positions in found.actions.items() if index in updates]
    deleted = [positions for index, positions in found.actions.items() if index not in updates]
    if any(map(count, updated)):
        changed = rows.where(rows[ACTION].isin(updates)).drop(ACTION, LINEAGE_FILE, LINEAGE_POSITION, SOURCE_ROW)
        insert(context, table, changed, row_ids=True, columns=updated_columns(table.columns, clauses))
    return _Changes(updated, deleted)
