"""Small changes: rows that are fetched to this process and written by PyArrow, because a Spark job per file costs more than the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from ..errors import CancelledError, DataError
from ..format.constraints import checks_of
from ..format.files import ScanPlan
from ..format.objects import Column, PartitionField, Table
from ..format.sort_text import bare_column
from ..spark.arrow.write import write_arrow
from ..spark.errors import translate
from ..spark.rows.deleted import drop_deleted
from ..spark.rows.positions import Positions, by_file, collect_positions, fetch_positions
from ..spark.rows.small import can_fetch, fetch_small
from .context import Context
from .order import stored_order

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

MAX_VALUES = 1_000_000
"""The maximum number of values (rows times columns) that one statement fetches."""
MAX_BYTES = 64 * 2**20
"""The maximum size of the rows that one statement fetches, as they are in files."""
MAX_ROWS_OF_UNKNOWN_SIZE = 50_000
"""The maximum number of rows that are fetched from a query of unknown size: each partition of a larger one sends this number in vain."""
MAX_LIMITED_BYTES = 128 * 2**20
"""Spark reads files of up to this size in so few partitions that each may send the maximum number of rows to this process."""
MAX_DELETED = 200_000
"""Up to this number of deleted rows, a statement fetches those that match too and drops them here: that is faster than a join in Spark."""


def most_rows(context: Context, table: Table) -> int:
    """Return how many rows of the table one statement may fetch and write here; 0 if only Spark can write them as they must be."""
    if checks_of(table.tags) or not can_fetch(table.columns):
        return 0
    if table.sorting and any(bare_column(key.expression) is None for key in stored_order(table, context.transaction.write_options(table))):
        return 0
    return MAX_VALUES // len(table.columns)


def fetch(
    rows: DataFrame,
    columns: Sequence[Column],
    plan: ScanPlan | None,
    most: int,
    *,
    extra: Collection[str],
    at_most: int | None = None,
    allowance: int = 0,
) -> pa.Table | None:
    """Fetch rows in the shape of the table's files.

    Args:
        rows: the table's columns under their names, and `extra`.
        columns: the table's columns to fetch.
        plan: the scan that the rows come from, whose files tell the size of a row.
        most: the maximum number of rows.
        extra: names of further columns.
        at_most: the maximum number of rows that `rows` can have, if it is known.
        allowance: the number of rows to fetch in addition to the maximum.

    Returns:
        The rows; None if they are too many, or if Spark failed. The general way of the statement then decides.

    Raises:
        CancelledError: the statement was cancelled.
        DataError: a value does not fit its column.
    """
    size = sum(file.size_bytes for file in plan.files) if plan is not None else 0
    few_partitions = 0 < size <= MAX_LIMITED_BYTES
    if plan is not None and size:
        most = min(most, MAX_BYTES * sum(file.record_count for file in plan.files) // size)
    if at_most is None or at_most > most:
        most = min(most, MAX_ROWS_OF_UNKNOWN_SIZE)
    try:
        return fetch_small(rows, columns, most + allowance, extra=extra, at_most=at_most, few_partitions=few_partitions)
    except DataError:
        raise
    except Exception as error:
        if isinstance(translate(error), CancelledError):
            raise
        return None


def fetch_of_scan(
    rows: Callable[[ScanPlan], DataFrame],
    columns: Sequence[Column],
    plan: ScanPlan,
    most: int,
    *,
    extra: Collection[str],
    at_most: int,
) -> pa.Table | None:
    """Fetch rows of a scan with lineage, as `fetch` does.

    The scan also reads the deleted rows, unless they are many; those that match are dropped here. An expression may fail for a deleted row
    only, so an error does not end the statement.

    Args:
        rows: returns the rows for a scan plan; see `fetch`.
        columns: see `fetch`.
        plan: the plan of the scan.
        most: see `fetch`.
        extra: see `fetch`; contains LINEAGE_FILE and LINEAGE_POSITION.
        at_most: see `fetch`.
    """
    if not _drops_deleted(plan):
        return fetch(rows(plan), columns, plan, most, extra=extra, at_most=at_most)
    try:
        found = fetch(rows(plan.including_deleted()), columns, plan, most, extra=extra, at_most=at_most, allowance=plan.deleted_count)
    except DataError:
        return None
    return None if found is None else drop_deleted(found, plan.files)


def positions_of_scan(rows: Callable[[ScanPlan], DataFrame], plan: ScanPlan) -> Positions:
    """Return the positions of rows of a scan with lineage, which may be many. The scan reads deleted rows as that of `fetch_of_scan` does.

    Args:
        rows: returns the rows for a scan plan.
        plan: the plan of the scan.

    Raises:
        CancelledError: the statement was cancelled.
    """
    if _drops_deleted(plan):
        try:
            found = fetch_positions(rows(plan.including_deleted()))
        except Exception as error:  # an expression may fail for a deleted row only
            if isinstance(translate(error), CancelledError):
                raise
        else:
            return by_file(drop_deleted(found, plan.files))
    return collect_positions(rows(plan))


def _drops_deleted(plan: ScanPlan) -> bool:
    return 0 < plan.deleted_count <= MAX_DELETED


def _partition_fields(table: Table) -> tuple[PartitionField, ...]:
    return table.partitioning.fields if table.partitioning else ()


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
        partition_fields=_partition_fields(table),
        order=stored_order(table, options),
    )
    context.transaction.rows.add_files(table, files)
    return int(data.num_rows)
