"""Small changes: rows that are fetched to this process and written by PyArrow, because a Spark job per file costs more than the rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ..errors import CancelledError
from ..format.constraints import checks_of
from ..format.files import ScanPlan
from ..format.leaf_types import leaf_type
from ..format.objects import Column, Table
from ..format.sort_text import bare_column
from ..spark.arrow.write import write_arrow
from ..spark.errors import is_too_large, translate
from ..spark.rows.deleted import drop_deleted
from ..spark.rows.positions import Positions, are_many, collect_positions, fetch_positions, positions_by_file
from ..spark.rows.small import can_fetch, fetch_small
from ..spark.write.few_rows import fitted_rows
from .context import Context
from .order import stored_order
from .target import TargetScan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

MAX_VALUES = 1_000_000
"""The maximum number of values (rows times columns) that one statement fetches."""
MAX_BYTES = 64 * 2**20
"""The maximum size of the rows that one statement fetches, as stored in files, or of their strings and binary values."""
ASSUMED_TEXT_BYTES = 16 * 2**10
"""The size that is assumed for a string or binary value of unknown size."""
MAX_ROWS_OF_UNKNOWN_SIZE = 50_000
"""The maximum number of rows that are fetched from a query of unknown size: if it returns more,
each partition sends up to this number in vain."""
MAX_LIMITED_BYTES = 128 * 2**20
"""Spark reads files of up to this size in so few partitions that each may send the maximum number of rows to this process."""
Result = TypeVar("Result")
Changed: TypeAlias = "Callable[[DataFrame], DataFrame]"
"""Returns the rows of a scan with lineage that a statement changes, with their new values."""


def most_rows(context: Context, table: Table, *, from_memory: bool = True) -> int:
    """Return how many rows of a table one statement may fetch and write in this process.

    Args:
        context: the transaction.
        table: the table that gets the rows.
        from_memory: Spark has the rows, or those that they are computed from, in memory. Otherwise a string may be of any size.

    Returns:
        The number of rows; 0 if only Spark can write them as they must be.
    """
    if checks_of(table.tags) or not can_fetch(table.columns):
        return 0
    if table.sorting and any(bare_column(key.expression) is None for key in stored_order(table, context.transaction.write_options(table))):
        return 0
    texts = 0 if from_memory else sum(leaf_type(column.type).spark in ("string", "binary") for column in table.columns)
    return min(MAX_VALUES // len(table.columns), MAX_BYTES // (ASSUMED_TEXT_BYTES * texts) if texts else MAX_VALUES)


def fetch(
    rows: DataFrame,
    columns: Sequence[Column],
    plan: ScanPlan | None,
    max_rows: int,
    *,
    extra: Collection[str],
    at_most: int | None = None,
    allowance: int = 0,
    few_partitions: bool = False,
) -> pa.Table | None:
    """Fetch rows in the shape of the table's files.

    Args:
        rows: the table's columns under their names, and `extra`.
        columns: the table's columns to fetch.
        plan: the scan that the rows come from, whose files tell the size of a row.
        max_rows: the maximum number of rows.
        extra: names of further columns.
        at_most: the maximum number of rows that `rows` can have, if it is known.
        allowance: the number of rows to fetch in addition to the maximum.
        few_partitions: whether each partition of `rows` may send the maximum number of rows. It may if the scan is small.

    Returns:
        The rows; None if they are too many or too large. The caller then falls back to the general path.

    Raises:
        DataError: a value does not fit its column.
    """
    size = sum(file.size_bytes for file in plan.files) if plan is not None else 0
    few_partitions = few_partitions or 0 < size <= MAX_LIMITED_BYTES
    if plan is not None and size:
        max_rows = min(max_rows, MAX_BYTES * sum(file.record_count for file in plan.files) // size)
    if at_most is None or at_most > max_rows:
        max_rows = min(max_rows, MAX_ROWS_OF_UNKNOWN_SIZE)
    return _unless_too_large(
        lambda: fetch_small(rows, columns, max_rows + allowance, extra=extra, at_most=at_most, few_partitions=few_partitions)
    )


def fetch_result(rows: DataFrame, table: Table) -> pa.Table | None:
    """Fetch the result of a query in the shape of the table's files.

    Args:
        rows: the table's columns by position.
        table: the table that gets the rows.

    Returns:
        The rows; None if they are too large. The caller then falls back to the general path.

    Raises:
        DataError: a value does not fit its column.
    """
    return _unless_too_large(lambda: fitted_rows(rows, table.columns))


def _unless_too_large(fetched: Callable[[], pa.Table | None]) -> pa.Table | None:
    """Return what `fetched` returns; None if it is too large for this process. Other errors would occur again in the general path."""
    try:
        return fetched()
    except Exception as error:
        if not is_too_large(error):
            raise
        return None


def unless_it_fails(attempt: Callable[[], Result | None]) -> Result | None:
    """Return what `attempt` returns; None if it fails, because it may compute values that the statement does not need.

    Raises:
        CancelledError: the statement was cancelled.
    """
    try:
        return attempt()
    except Exception as error:
        if isinstance(translate(error), CancelledError):
            raise
        return None


def fetch_changed(
    target: TargetScan,
    changed: Changed,
    columns: Sequence[Column],
    max_rows: int,
    *,
    extra: Collection[str],
    at_most: int,
) -> pa.Table | None:
    """Fetch the rows that a statement changes, as `fetch` does.

    Rows of a small table come from a local relation. Otherwise the scan also reads the deleted rows, unless there are many. Deleted rows
    that match are dropped here. An expression may fail only for a deleted row, so an error does not fail the statement then.

    Args:
        target: the scan.
        changed: returns the changed rows of a scan.
        columns: see `fetch`.
        max_rows: see `fetch`.
        extra: see `fetch`; contains LINEAGE_FILE and LINEAGE_POSITION.
        at_most: see `fetch`.
    """
    plan = target.plan
    local = target.local_rows()
    with_deleted = target.rows_with_deleted() if local is None else None
    if with_deleted is None:
        return fetch(changed(target.rows() if local is None else local), columns, plan, max_rows, extra=extra, at_most=at_most)
    found = unless_it_fails(
        lambda: fetch(changed(with_deleted), columns, plan, max_rows, extra=extra, at_most=at_most, allowance=plan.deleted_count)
    )
    return None if found is None else drop_deleted(found, plan.files)


def changed_positions(target: TargetScan, changed: Changed) -> Positions:
    """Return the positions of the rows that a statement changes, which may be many. See `fetch_changed` for the scan.

    Args:
        target: the scan.
        changed: returns the changed rows of a scan.

    Raises:
        CancelledError: the statement was cancelled.
    """
    local = target.local_rows()
    if local is not None:
        return collect_positions(changed(local), target.plan.max_rows)
    with_deleted = None if are_many(target.plan.max_rows) else target.rows_with_deleted()
    found = None if with_deleted is None else unless_it_fails(lambda: fetch_positions(changed(with_deleted)))
    if found is not None:
        return positions_by_file(drop_deleted(found, target.plan.files))
    return collect_positions(changed(target.rows()), target.plan.max_rows)


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
        partition_fields=table.partition_fields,
        order=stored_order(table, options),
    )
    context.transaction.rows.add_files(table, files)
    return int(data.num_rows)
