"""MERGE: plan, read, match, write, stage — the source once, the target's rows only where they can match.

The keys of the source bound what is read of the target: files whose statistics lie outside are left out of the plan. Changed rows become
one delete file per data file touched and new files for their new versions, under their old row ids; all of it is staged together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import DataError
from ..format.files import LINEAGE_FILE, LINEAGE_POSITION, ColumnFilter, ScanPlan
from ..format.objects import Column, Table
from ..spark.read.scan import scan
from ..spark.rows.cached import held
from ..spark.rows.match import ACTION, BROADCAST_VALUES, SOURCE_ROW, Match, Outcome, When, numbered, outcome
from ..spark.rows.positions import Positions, count, united
from ..spark.values.extremes import measure, within
from .context import Context, RowCounts
from .insert import insert
from .row_changes import end_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class MergeRequest:
    """A MERGE whose names are bound. Texts are SQL over `target_alias` and `source_alias`."""

    source: DataFrame
    target_alias: str
    source_alias: str
    condition: str
    keys: Sequence[tuple[Column, str]]
    """(target column, SQL over the source) pairs that the condition requires to be equal."""
    matched: Sequence[When] = ()
    not_matched: Sequence[When] = ()
    not_matched_by_source: Sequence[When] = ()
    within: Sequence[ColumnFilter] = ()
    """What rows of the table must pass to match anything."""
    virtual: tuple[str, ...] = ()
    """The virtual columns of the target that the texts name."""
    planned: Callable[[ScanPlan], None] = lambda plan: None
    """Told how the table is read."""


def merge(context: Context, table: Table, request: MergeRequest) -> RowCounts:
    """Stage the effect of a MERGE.

    Raises:
        DataError: a row of the table is matched by more than one row of the source.
    """
    with held(numbered(request.source)) as source:
        size, ranges = measure(source, request.source_alias, request.keys)
        if request.not_matched_by_source:
            ranges = []  # every row of the table has to be looked at
        filters = [] if request.not_matched_by_source else [*request.within, *(key.column_filter() for key in ranges)]
        context.transaction.rows.depends_on_rows(table, filters)
        plan = context.transaction.scan_plan(table, within=filters)
        request.planned(plan)
        target = within(scan(context.spark(), plan, lineage=True, virtual=request.virtual), ranges)
        match = Match(
            target,
            source,
            request.target_alias,
            request.source_alias,
            request.condition,
            table.columns,
            broadcast=size * len(source.columns) <= BROADCAST_VALUES,
        )
        analysed = match.pairs(request.matched)  # Spark refuses a condition that cannot be, though there be nothing to do
        if size == 0 and not request.not_matched_by_source:
            return RowCounts()
        to_delete: list[Positions] = []
        inserted = updated = deleted = 0
        with held(analysed) as pairs:
            if request.matched:  # else nobody needs to know where the pairs are
                found = outcome(pairs)
                _refuse_repeated(table, request, found)
                updated, deleted = _stage_versions(context, table, pairs, request.matched, found, to_delete)
            if request.not_matched:
                inserted = insert(context, table, match.source_only(pairs, request.not_matched))
        if request.not_matched_by_source:
            with held(match.target_only(request.not_matched_by_source)) as alone:
                more = _stage_versions(context, table, alone, request.not_matched_by_source, outcome(alone), to_delete)
            updated, deleted = updated + more[0], deleted + more[1]
        # All at once: a data file has one delete file, and both kinds of clauses may touch the same data file.
        end_rows(context, table, plan, united(to_delete))
        return RowCounts(inserted, updated, deleted)


def _refuse_repeated(table: Table, request: MergeRequest, found: Outcome) -> None:
    """Spark's rule: one row of the target, one row of the source, unless all that can happen to it is to be deleted."""
    only_delete = len(request.matched) == 1 and request.matched[0].action == "delete" and request.matched[0].condition is None
    if request.matched and not only_delete and found.repeated:
        raise DataError(
            f"MERGE into {table.schema_name}.{table.name}: a row of the table matches more than one row of the source, so which values "
            "it should get is undefined. Make the source unique by the keys of the ON condition (for instance with "
            "`qualify row_number() over (partition by <key> order by <recency> desc) = 1`)"
        )


def _stage_versions(
    context: Context, table: Table, rows: DataFrame, clauses: Sequence[When], found: Outcome, to_delete: list[Positions]
) -> tuple[int, int]:
    """Stage the new versions of updated rows, and add to `to_delete` the positions of all rows that end.

    Args:
        rows: held, and in the shape of `Match.pairs`.

    Returns:
        How many rows are updated and how many deleted.
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
