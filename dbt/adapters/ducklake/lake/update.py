"""UPDATE: delete the old versions of rows and write the new versions under the same row ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..format.files import LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID, ColumnFilter
from ..format.objects import Table
from ..format.types import with_unassigned_json_as_text
from ..spark.rows.cached import cached
from ..spark.rows.positions import collect_positions, positions_by_file
from .context import Context, RowCounts
from .insert import insert
from .row_changes import stage_deletes
from .small import Changed, fetch, fetch_changed, most_rows, write_small
from .target import TargetScan

if TYPE_CHECKING:
    import pyarrow as pa

_LINEAGE = (LINEAGE_FILE, LINEAGE_POSITION, LINEAGE_ROW_ID)


def update(
    context: Context,
    table: Table,
    target: TargetScan,
    changed: Changed,
    assigned: Collection[str],
    within: Sequence[ColumnFilter] = (),
) -> RowCounts:
    """Stage new versions of rows.

    Args:
        context: the transaction and Spark.
        table: the table to update.
        target: the scan that finds the rows.
        changed: returns the changed rows of a scan: the table's columns with their new values, then the lineage columns.
        assigned: the names of the columns that get new values.
        within: filters that the old version of every changed row passes.
    """
    context.transaction.rows.depends_on_rows(table, within)
    columns = with_unassigned_json_as_text(table.columns, assigned)
    max_rows, at_most = most_rows(context, table), target.plan.max_rows
    if max_rows and (at_most <= max_rows or target.may_read_deleted):
        small = fetch_changed(target, changed, columns, max_rows, extra=_LINEAGE, at_most=at_most)
        if small is not None:
            return _write_fetched(context, table, target, small)
        max_rows = 0
    with cached(changed(target.rows())) as rows:  # if they are too many to be fetched, they are not computed again
        small = fetch(rows, columns, target.plan, max_rows, extra=_LINEAGE, at_most=at_most) if max_rows else None
        if small is not None:
            return _write_fetched(context, table, target, small)
        positions = collect_positions(rows, at_most)
        if not positions:
            return RowCounts()
        insert(context, table, rows.drop(LINEAGE_FILE, LINEAGE_POSITION), row_ids=True, columns=columns)
        return RowCounts(updated=stage_deletes(context, table, target.plan, positions))


def _write_fetched(context: Context, table: Table, target: TargetScan, rows: pa.Table) -> RowCounts:
    """Stage the new versions of fetched rows, which have LINEAGE columns."""
    positions = positions_by_file(rows)
    write_small(context, table, rows.drop_columns([LINEAGE_FILE, LINEAGE_POSITION]), row_ids=True)
    return RowCounts(updated=stage_deletes(context, table, target.plan, positions))
