"""Inlining: store a few rows in the catalog database itself, up to the option `data_inlining_row_limit`.

Specification: the page "Data Inlining". The limit applies to the rows of one statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import DataError
from ..format.files import WrittenFile
from ..format.objects import Table
from ..format.row_statistics import stats_of_rows
from ..spark.arrow.rows import python_rows
from ..spark.values.stats_checks import check_stats, null_message
from .context import Context

if TYPE_CHECKING:
    import pyarrow as pa


def inline_arrow(context: Context, table: Table, data: pa.Table) -> bool:
    """Stage the rows of an Arrow table as inlined rows.

    Returns:
        False if nothing was staged, because there are too many rows or the catalog database cannot store the values so that DuckDB
        can read them.

    Raises:
        DataError: a value does not fit its column.
    """
    if not 0 < data.num_rows <= inlining_limit(context, table):
        return False
    rows = python_rows(data, table.columns)
    if not context.catalog.can_inline(table.columns, rows):
        return False
    for column, values in zip(table.columns, zip(*rows, strict=True), strict=True):
        if not column.nullable and None in values:
            raise DataError(null_message(column))
    stats = stats_of_rows(table.columns, rows)
    # No file exists: this one only contains the statistics, and its path is the name in errors.
    check_stats([WrittenFile("the inlined rows", len(rows), 0, 0, stats)], table.columns)
    context.transaction.rows.add_inlined(table, rows, stats)
    return True


def inlining_limit(context: Context, table: Table) -> int:
    """Return how many rows may be inlined; 0 if the catalog database cannot store the table's columns."""
    if not context.catalog.can_inline(table.columns):
        return 0
    return context.transaction.inlining_row_limit(table, context.catalog.inlining_row_limit)
