"""INSERT: write rows as new data files of a table, or as inlined rows if they are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..format.constraints import checks_of
from ..format.objects import Table
from ..format.types import data_type_of, spark_name
from ..spark.rows.frames import local_frame
from ..spark.values.checks import checked
from ..spark.write.write import write_rows
from .context import Context
from .inlining import inline_query
from .order import spark_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def insert(context: Context, table: Table, rows: DataFrame, *, row_ids: bool = False) -> int:
    """Write `rows` and stage their files.

    Args:
        rows: the table's columns by position; types are cast, a value that does not fit is an error.
        row_ids: the rows are new versions of old ones and bring their ids in a column `LINEAGE_ROW_ID`.

    Returns:
        The number of rows written.

    Raises:
        DataError: a NULL in a column that is NOT NULL, or a row that does not pass a CHECK.
        ConfigurationError, LakeError: the lake can only be read, and nothing was written.
    """
    context.transaction.require_writable()
    checks = checks_of(table.tags)
    if checks:
        rows = checked(rows, table.columns, checks, f"{table.schema_name}.{table.name}", row_ids=row_ids)
    inlined = None if row_ids or checks else inline_query(context, table, rows)
    if inlined is not None:
        return inlined
    options = context.transaction.write_options(table)
    files = write_rows(
        rows,
        table.columns,
        table.path,
        options,
        row_ids=row_ids,
        partition_fields=table.partitioning.fields if table.partitioning else (),
        order=spark_order(table, options),
        row_bytes=context.transaction.row_bytes(table),
    )
    if files:
        context.transaction.rows.add_files(table, files)
    return sum(file.record_count for file in files)


def verify_checks(context: Context, table: Table) -> None:
    """Have Spark analyse the CHECK constraints of a table that gets no rows yet.

    Raises:
        StatementError: one is no condition over the table's columns.
    """
    checks = checks_of(table.tags)
    if checks:
        columns = [(column.name, spark_name(data_type_of(column))) for column in table.columns]
        _ = checked(local_frame(context.spark(), columns, ()), table.columns, checks, table.name).schema
