"""INSERT OVERWRITE: delete some rows and insert others, in one snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import StatementError
from ..format.files import ScanPlan
from ..format.identifiers import backquoted
from ..format.objects import PartitionField, Table
from ..spark.rows.cached import cached
from ..spark.values.key_ranges import measure
from ..spark.write.partition_match import rows_of_same_partitions
from .context import Context, RowCounts
from .delete import delete, truncate
from .insert import insert
from .target import TargetScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def overwrite(context: Context, table: Table, rows: DataFrame) -> RowCounts:
    """Stage replacing all rows of the table with `rows`."""
    truncate(context, table)
    return RowCounts(inserted=insert(context, table, rows))


def overwrite_partitions(
    context: Context, table: Table, rows: DataFrame, fields: tuple[PartitionField, ...], planned: Callable[[ScanPlan], None]
) -> RowCounts:
    """Stage replacing the partitions that `rows` has rows of.

    Args:
        context: the transaction and Spark.
        table: the partitioned table.
        rows: the new rows, with the columns of the table in order.
        fields: partition fields of the table. Rows with other values in further fields are replaced too.
        planned: called with the scan plan of the table.

    Raises:
        StatementError: the table is not partitioned.
    """
    if table.partitioning is None:
        raise StatementError(
            f"{table.schema_name}.{table.name} is not partitioned, so its partitions cannot be overwritten; "
            "ALTER TABLE … SET PARTITIONED BY (…) first, or INSERT OVERWRITE without PARTITION to replace every row"
        )
    names = {column.column_id: column for column in table.columns}
    keys = [names[key.column_id] for key in fields if key.transform == "identity"]
    with cached(rows.toDF(*[column.name for column in table.columns])) as new:
        ranges = measure(new, "new", [(key, backquoted(key.name)) for key in keys]).ranges
        within = [replace(key.column_filter(), nulls=True) for key in ranges]
        target = TargetScan(context, context.transaction.scan_plan(table, within=within))
        planned(target.plan)
        ended = delete(context, table, target, lambda found: rows_of_same_partitions(found, new, table.columns, fields), within)
        return RowCounts(inserted=insert(context, table, new), deleted=ended.deleted)
