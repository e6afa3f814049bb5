"""MERGE: plan, read, match, write, stage. The source is read once, and of the target only rows that can match.

A merge of a small source writes its files in this process (`small_merge`).

The range of the source's keys limits the scan of the target: files whose statistics lie outside are pruned. Changed rows become one delete
file for each data file and new files for their new versions, under the same row ids; all of it is staged together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..format.files import LINEAGE_FILE, LINEAGE_POSITION
from ..format.objects import Table
from ..spark.rows.cached import cached
from ..spark.rows.match import ACTION, BROADCAST_VALUES, SOURCE_ROW, Match, Outcome, When, numbered, outcome
from ..spark.rows.positions import Positions, count, union
from ..spark.values.key_ranges import filter_to_ranges, measure_key_ranges
from .context import Context, RowCounts
from .insert import insert
from .merge_request import MergeRequest, refuse_repeated
from .row_changes import end_rows
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
        most = 0 if request.not_matched_by_source else most_rows(context, table)
        small = fetch_source(source, table, request, most) if most else None
        size, ranges = (
            measure_key_ranges(source, request.source_alias, request.keys) if small is None else (small.rows.num_rows, small.ranges)
        )
        if request.not_matched_by_source:
            ranges = []  # WHEN NOT MATCHED BY SOURCE needs every row of the table
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
                broadcast=size * len(source.columns) <= BROADCAST_VALUES,
            )

        if small is not None and size:
            done = merge_small(context, table, request, target, lambda rows: match_in(rows).pairs(request.matched), small)
            if done is not None:
                return done
        match = match_in(target.rows())
        matching = match.pairs(request.matched)  # before the early return, so that Spark reports an invalid condition in any case
        if size == 0 and not request.not_matched_by_source:
            return RowCounts()
        to_delete: list[Positions] = []
        inserted = updated = deleted = 0
        with cached(matching) as pairs:
            if request.matched:
                found = outcome(pairs)
                refuse_repeated(table, request, found)
                updated, deleted = _stage_versions(context, table, pairs, request.matched, found, to_delete)
            if request.not_matched:
                inserted = insert(context, table, match.source_only(pairs, request.not_matched))
        if request.not_matched_by_source:
            with cached(match.target_only(request.not_matched_by_source)) as alone:
                more = _stage_versions(context, table, alone, request.not_matched_by_source, outcome(alone), to_delete)
            updated, deleted = updated + more[0], deleted + more[1]
        # In one call: a data file has one delete file, and both kinds of clauses may delete rows of the same data file.
        end_rows(context, table, plan, union(to_delete))
        return RowCounts(inserted, updated, deleted)


def _stage_versions(
    context: Context, table: Table, rows: DataFrame, clauses: Sequence[When], found: Outcome, to_delete: list[Positions]
) -> tuple[int, int]:
    """Stage the new versions of updated rows, and collect the positions of all rows to delete.

    Args:
        context: the transaction and Spark.
        table: the target.
        rows: cached rows in the shape of `Match.pairs`.
        clauses: the WHEN clauses.
        found: the positions of the rows that each clause applies to.
        to_delete: gets the positions of updated and deleted rows.

    Returns:
        The numbers of updated and of deleted rows.
    """
    updated = deleted = 0
    for index, positions in found.actions.items():
        number = count(positions)
        if clauses[index].action == "update":
            updated += number
        else:
            deleted += number
        to_delete.append(positions)
    if updated:
        updates = [i for i, clause in enumerate(clauses) if clause.action == "update"]
        changed = rows.where(rows[ACTION].isin(updates)).drop(ACTION, LINEAGE_FILE, LINEAGE_POSITION, SOURCE_ROW)
        insert(context, table, changed, row_ids=True)
    return updated, deleted
