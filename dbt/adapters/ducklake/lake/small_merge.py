"""MERGE of a small source: one Spark job for the source and one for its matches; this process writes the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import DataError
from ..format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, ScanPlan
from ..format.objects import Table
from ..spark.rows.match import ACTION, SOURCE_ROW, candidates, outcome_of, rows_of_clauses, rows_to_insert
from ..spark.rows.positions import count, union
from ..spark.values.extremes import KeyRange, key_columns, key_names, ranges_of, usable_keys
from .context import Context, RowCounts
from .merge_request import MergeRequest, refuse_repeated
from .row_changes import end_rows
from .small import fetch, fetch_of_scan, planned_rows, write_small

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_PAIR = (ACTION, LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, SOURCE_ROW)


@dataclass(frozen=True)
class SmallSource:
    """The fetched rows of a source: SOURCE_ROW, ACTION of a row without a match, and the values to insert."""

    rows: pa.Table
    ranges: list[KeyRange]
    most: int
    """The maximum number of rows that this merge fetches."""


def fetch_source(source: DataFrame, table: Table, request: MergeRequest, most: int) -> SmallSource | None:
    """Fetch the source of a merge, with the values of its INSERT clauses.

    Args:
        source: the numbered source.
        table: the target.
        request: the merge.
        most: the maximum number of rows.

    Returns:
        The rows; None if there are more, or if a value cannot be inserted. Only the general merge knows whether that row is inserted.
    """
    usable = usable_keys(source.alias(request.source_alias), request.keys)
    rows = candidates(source, request.source_alias, table.columns, request.not_matched, key_columns(usable))
    columns = table.columns if request.not_matched else ()
    try:
        found = fetch(rows, columns, None, most, extra=(SOURCE_ROW, ACTION, *key_names(usable)))
        return None if found is None else SmallSource(found, ranges_of(found, usable), most)
    except (DataError, UnicodeDecodeError):  # a value that may not be inserted at all, or a key that is not valid UTF-8
        return None


def merge_small(
    context: Context, table: Table, request: MergeRequest, plan: ScanPlan, matching: Callable[[ScanPlan], DataFrame], source: SmallSource
) -> RowCounts | None:
    """Stage the effect of a merge.

    Args:
        context: the transaction and Spark.
        table: the target.
        request: the merge, without WHEN NOT MATCHED BY SOURCE.
        plan: the scan of the target.
        matching: returns `Match.pairs` of the source and a scan of the target.
        source: the fetched source.

    Returns:
        The counts; None if nothing was staged, because more rows match than may be fetched.

    Raises:
        DataError: a row of the table is matched by more than one row of the source.
    """
    updates = [index for index, clause in enumerate(request.matched) if clause.action == "update"]
    columns = table.columns if updates else ()
    most = planned_rows(plan) * source.rows.num_rows
    pairs = fetch_of_scan(matching, columns, plan, source.most, extra=_PAIR, at_most=most)
    if pairs is None:
        return None
    found = outcome_of(pairs)
    refuse_repeated(table, request, found)
    names = [column.name for column in table.columns]
    updated = write_small(context, table, rows_of_clauses(pairs, updates).select([*names, LINEAGE_ROW_ID]), row_ids=True) if updates else 0
    inserted = write_small(context, table, rows_to_insert(source.rows, pairs).select(names)) if request.not_matched else 0
    deleted = sum(count(positions) for index, positions in found.actions.items() if index not in updates)
    end_rows(context, table, plan, union(found.actions.values()))
    return RowCounts(inserted, updated, deleted)
