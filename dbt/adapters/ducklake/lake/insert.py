"""INSERT: write rows as new data files of a table, or as inlined rows if they are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..spark.write import write_rows
from ..spec.objects import Table
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
        DataError: a NULL in a column that is NOT NULL; ConfigurationError, LakeError: the lake can only be read, and nothing was written.
    """
    context.catalog.require_writable()
    inlined = None if row_ids else inline_query(context, table, rows)
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
        order=spark_order(context, table, options),
        row_bytes=context.transaction.row_bytes(table),
    )
    if files:
        context.transaction.add_files(table, files)
    return sum(file.record_count for file in files)
