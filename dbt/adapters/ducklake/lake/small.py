"""Small changes: rows that are fetched to this process and written by PyArrow, because a Spark job per file costs more than the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..format.constraints import checks_of
from ..format.files import ScanPlan
from ..format.objects import Table
from ..format.sort_text import bare_column
from ..spark.arrow.write import write_arrow
from ..spark.rows.small import can_fetch
from .context import Context
from .order import stored_order

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 1_000_000
"""The maximum number of values (rows times columns) that one statement fetches."""
MOST_BYTES = 64 * 2**20
"""The maximum size of the rows that one statement fetches, as they are in files."""


def most_rows(context: Context, table: Table) -> int:
    """Return how many rows of the table one statement may fetch and write here; 0 if only Spark can write them as they must be."""
    if checks_of(table.tags) or not can_fetch(table.columns):
        return 0
    if any(bare_column(key.expression) is None for key in stored_order(table, context.transaction.write_options(table))):
        return 0
    rows = MOST_VALUES // len(table.columns)
    row_bytes = context.transaction.row_bytes(table)
    return rows if not row_bytes else min(rows, int(MOST_BYTES / row_bytes))


def planned_rows(plan: ScanPlan) -> int:
    """Return the maximum number of rows in a scan."""
    return sum(file.record_count for file in plan.files) + sum(len(inlined.rows) for inlined in plan.inlined)


def write_small(context: Context, table: Table, data: pa.Table, *, row_ids: bool = False) -> int:
    """Write rows with PyArrow and stage their files.

    Args:
        context: the transaction.
        table: the table to insert into.
        data: the table's columns by position; with `row_ids` also LINEAGE_ROW_ID, by name.
        row_ids: the rows are new versions of existing rows.

    Returns:
        The number of rows.

    Raises:
        DataError: a NOT NULL column contains NULL.
    """
    if data.num_rows == 0:
        return 0
    context.transaction.require_writable()
    options = context.transaction.write_options(table)
    files = write_arrow(
        data,
        table.columns,
        table.path,
        options,
        row_ids=row_ids,
        partition_fields=table.partitioning.fields if table.partitioning else (),
        order=stored_order(table, options),
    )
    context.transaction.rows.add_files(table, files)
    return int(data.num_rows)
