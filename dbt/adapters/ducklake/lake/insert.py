"""INSERT: write rows to new data files of a table, or as inlined rows if there are few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..format.constraints import checks_of
from ..format.objects import Column, Table
from ..format.types import data_type_of, spark_name
from ..spark.arrow.write import arrow_table
from ..spark.rows.frames import local_frame
from ..spark.values.checks import checked
from ..spark.write.few_rows import bound_of_rows, fitted_rows
from ..spark.write.write import write_rows
from .context import Context
from .inlining import inline_arrow, inlining_limit
from .order import spark_order
from .small import fetch_result, most_rows, write_small

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def insert(context: Context, table: Table, rows: DataFrame, *, row_ids: bool = False, columns: tuple[Column, ...] = ()) -> int:
    """Write `rows` and stage their files.

    Args:
        context: the transaction and Spark.
        table: the table to insert into.
        rows: the table's columns by position; values are cast to the column types.
        row_ids: the rows are new versions of existing rows, with their row ids in a column `LINEAGE_ROW_ID`.
        columns: the columns with which the files are written, if they are not the table's: JSON that is only copied is plain text.

    Returns:
        The number of rows written.

    Raises:
        DataError: a value does not fit its column, a NOT NULL column gets a NULL, or a row fails a CHECK.
        ConfigurationError: the lake is read-only; nothing was written.
        LakeError: the lake has an older format version; nothing was written.
    """
    context.transaction.require_writable()
    checks = checks_of(table.tags)
    if checks:
        rows = checked(rows, table.columns, checks, f"{table.schema_name}.{table.name}", row_ids=row_ids)
    few = None if row_ids or checks else _insert_few(context, table, rows)
    if few is not None:
        return few
    options = context.transaction.write_options(table)
    files = write_rows(
        rows,
        columns or table.columns,
        table.path,
        options,
        row_ids=row_ids,
        partition_fields=table.partition_fields,
        order=spark_order(table, options),
        row_bytes=context.transaction.row_bytes(table),
    )
    if files:
        context.transaction.rows.add_files(table, files)
    return sum(file.record_count for file in files)


def _insert_few(context: Context, table: Table, rows: DataFrame) -> int | None:
    """Stage the rows of a query that Spark knows to be small: inlined, if it is a local relation within the limit, or else in files.

    Returns:
        The number of rows; None if nothing was staged, because they may be too many, or because only Spark can write them.

    Raises:
        DataError: a value does not fit its column.
    """
    limit, max_rows = inlining_limit(context, table), most_rows(context, table)
    bound = bound_of_rows(rows) if limit or max_rows else None
    if bound is None:
        return None
    if not bound.reads_memory:
        max_rows = most_rows(context, table, from_memory=False)
    inlines, writes = bound.is_exact and 0 < bound.rows <= limit, bound.is_few and bound.rows <= max_rows
    if inlines:
        data = fitted_rows(rows, table.columns)
        if inline_arrow(context, table, data):
            return bound.rows
    else:
        data = fetch_result(rows, table) if writes else None
    return write_small(context, table, data) if writes and data is not None else None


def insert_values(context: Context, table: Table, rows: Sequence[Sequence[Any]]) -> int | None:
    """Stage rows of Python values of the columns' types, without Spark.

    Returns:
        The number of rows; None if nothing was staged, because only Spark can check or write them.

    Raises:
        DataError: a NOT NULL column gets a NULL.
        ConfigurationError: the lake is read-only; nothing was written.
        LakeError: the lake has an older format version; nothing was written.
    """
    context.transaction.require_writable()
    if checks_of(table.tags):
        return None
    data = arrow_table(rows, table.columns)
    if inline_arrow(context, table, data):
        return len(rows)
    return write_small(context, table, data) if len(rows) <= most_rows(context, table) else None


def verify_checks(context: Context, table: Table) -> None:
    """Have Spark analyze the CHECK constraints of a table before it gets rows.

    Raises:
        StatementError: a constraint is not a condition over the table's columns.
    """
    checks = checks_of(table.tags)
    if checks:
        columns = [(column.name, spark_name(data_type_of(column))) for column in table.columns]
        _ = checked(local_frame(context.spark(), columns, ()), table.columns, checks, table.name).schema
