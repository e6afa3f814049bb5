"""MERGE: plan, read, match, write, stage. The source is read once, and of the target only rows that can match.

A merge of a small source writes its files in this process (`small_merge`).

The range of the source's keys limits the scan of the target: files whose statistics lie outside are pruned. Changed rows become one delete
file for each data file and new files for their new versions, under the same row ids; all of it is staged together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from ..spark.rows.positions import Positions, count, union
from ..spark.values.key_ranges import filter_to_ranges, measure
from .context import Context, RowCounts
from .insert import insert
from .merge_request import MergeRequest, refuse_repeated
from .row_changes import stage_deletes
from .small import most_rows
from .small_merge import fetch_source, merge_small
from .target import TargetScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def merge(context: Context, table: Table, request: MergeRequest) -> RowCounts:
    """Stage the effect of a MERGE.

    Raises:
        DataError: a row of the table is matched by more than one row of the source.
    """
    with cached(numbered(request.source)) as source:
        max_rows = 0 if request.not_matched_by_source else most_rows(context, table)
        small = fetch_source(source, table, request, max_rows) if max_rows else None
        size = measure(source, request.source_alias, request.keys) if small is None else small.size
        ranges = [] if request.not_matched_by_source else size.ranges  # WHEN NOT MATCHED BY SOURCE needs every row of the table
        filters = [] if request.not_matched_by_source else [*request.within, *(key.column_filter() for key in ranges)]
        context.transaction.rows.depends_on_rows(table, filters)
        plan = context.transaction.scan_plan(table, within=filters)
        request.planned(plan)
        target = TargetScan(context, plan, request.virtual, request.asks_for_files)

        def match_in(rows: DataFrame) -> Match:
            return Match(
                filter_to_ranges(rows, ranges),
                source,
                request.target_alias,
                request.source_alias,
                request.condition,
                table.columns,
                broadcast=size.rows * len(source.columns) <= BROADCAST_VALUES and size.text_bytes <= BROADCAST_BYTES,
            )

        if small is not None and size.rows:
            counts = merge_small(context, table, request, target, lambda rows: match_in(rows).pairs(request.matched), small)
            if counts is not None:
                return counts
        return _merge_in_spark(context, table, request, plan, match_in(target.rows()), size.rows)


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
    matching = match.pairs(request.matched)  # before the early return, so that Spark reports an invalid condition in any case
    if not source_rows and not request.not_matched_by_source:
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
