"""Find the rows of a table that are in the same partitions as other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ...format.identifiers import backquoted
from ...format.objects import Table
from ...format.partitioning import key_columns
from ..values.conform import conform
from .partitions import key_name, with_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_of_same_partitions(old: DataFrame, new: DataFrame, table: Table) -> DataFrame:
    """Return the rows of `old` whose partition values equal those of a row of `new`; NULL equals NULL.

    Args:
        old: rows of the table, maybe with further columns.
        new: rows with the columns of the table, of types that can be cast.
        table: the partitioned table.
    """
    count = len(table.partitioning.fields) if table.partitioning else 0
    wanted = _with_keys(new, table).select(*[F.col(key_name(index)).alias(f"_ducklake_new_{index}") for index in range(count)]).distinct()
    condition = F.lit(True)
    for index in range(count):
        condition = condition & F.col(key_name(index)).eqNullSafe(F.col(f"_ducklake_new_{index}"))
    found = _with_keys(old, table).join(F.broadcast(wanted), condition, "left_semi")
    return found.drop(*[key_name(index) for index in range(count)])


def _with_keys(rows: DataFrame, table: Table) -> DataFrame:
    """Return the rows with a column for each partition key, which is computed as for a file."""
    fields = table.partitioning.fields if table.partitioning else ()
    types = {field.name: field.dataType for field in rows.schema.fields}
    columns = {column.column_id: column for column in key_columns(table.columns, fields)}
    sources = [replace(column, name=f"_ducklake_key_of_{column.column_id}") for column in columns.values()]
    values = [conform(F.col(backquoted(columns[each.column_id].name)), types[columns[each.column_id].name], each) for each in sources]
    return with_keys(rows.select("*", *values), sources, fields).drop(*[each.name for each in sources])
