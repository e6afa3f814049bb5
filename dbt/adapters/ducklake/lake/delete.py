"""DELETE and TRUNCATE: stage deleting some or all rows."""

from __future__ import annotations

from collections.abc import Sequence

from ..catalog.staged import Flush
from ..format.files import ColumnFilter
from ..format.objects import Table
from ..spark.arrow.flushed import remove, write_deletes
from .context import Context, RowCounts
from .row_changes import stage_deletes
from .small import Changed, changed_positions
from .target import TargetScan


def delete(context: Context, table: Table, target: TargetScan, to_delete: Changed, within: Sequence[ColumnFilter] = ()) -> RowCounts:
    """Stage deleting rows.

    Args:
        context: the transaction and Spark.
        table: the table to delete from.
        target: the scan that finds the rows.
        to_delete: takes the rows of a scan and returns those to delete.
        within: filters that every deleted row passes.
    """
    context.transaction.rows.depends_on_rows(table, within)
    return RowCounts(deleted=stage_deletes(context, table, target.plan, changed_positions(target, to_delete)))


def truncate(context: Context, table: Table) -> None:
    """Stage deleting all rows of a table, and add the table to the read set."""
    context.transaction.rows.depends_on_rows(table)
    end_all_rows(context, table)


def end_all_rows(context: Context, table: Table) -> None:
    """Stage ending all data files and inlined rows of a table.

    Inlined deletes of the files become delete files, as in a flush: when a file ends, DuckDB's change feed reads delete files only
    and would report those rows as deleted again.
    """
    transaction = context.transaction
    transaction.require_writable()
    found = transaction.rows_to_end(table)
    written = write_deletes(found.inlined_deletes, table.path, encrypted=context.catalog.encrypted)
    entries = sum(each.entries for each in found.inlined_deletes)
    deletes = Flush((), written, {}, entries, transaction.snapshot.snapshot_id) if written else None
    try:
        transaction.rows.truncate(table, deletes, has_rows=found.exist)
    except BaseException:
        remove((), written)
        raise
