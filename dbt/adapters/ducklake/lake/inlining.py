"""Small sets of rows: kept in the catalog database itself, within the option `data_inlining_row_limit`.

Specification: the page "Data Inlining". The rows of one statement count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import DataError
from ..format.files import WrittenFile
from ..format.objects import Table
from ..format.row_statistics import stats_of_rows
from ..spark.arrow.rows import python_rows
from ..spark.values.rules import check_rules, null_text
from ..spark.write.local_rows import fitted_rows, local_row_count
from .context import Context

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def inline_query(context: Context, table: Table, rows: DataFrame) -> int | None:
    """Stage the rows of a query of constants as inlined rows.

    Returns:
        Their number; None if the query is no such one, or they are too many: nothing was staged then.

    Raises:
        DataError: a value does not fit its column.
    """
    limit = _limit(context, table)
    count = local_row_count(rows) if limit else None
    if not count or count > limit:
        return None
    return count if inline_arrow(context, table, fitted_rows(rows, table.columns)) else None


def inline_arrow(context: Context, table: Table, data: pa.Table) -> bool:
    """Stage the rows of a table in the driver as inlined rows; whether that was done.

    It is not if they are too many, or of a kind that the catalog database cannot hold so that DuckDB reads them.

    Raises:
        DataError: a value does not fit its column.
    """
    if not 0 < data.num_rows <= _limit(context, table):
        return False
    rows = python_rows(data, table.columns)
    if not context.catalog.can_inline(table.columns, rows):
        return False
    for column, values in zip(table.columns, zip(*rows, strict=True), strict=True):
        if not column.nullable and None in values:
            raise DataError(null_text(column))
    stats = stats_of_rows(table.columns, rows)
    check_rules([WrittenFile("the inlined rows", len(rows), 0, 0, stats)], table.columns)
    context.transaction.rows.add_inlined(table, rows, stats)
    return True


def _limit(context: Context, table: Table) -> int:
    """How many rows at most; 0 if the catalog database cannot hold the table's columns."""
    if not context.catalog.can_inline(table.columns):
        return 0
    return context.transaction.inlining_row_limit(table, context.catalog.inlining_row_limit)
