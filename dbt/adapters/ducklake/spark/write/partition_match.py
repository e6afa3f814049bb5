"""Find the rows of a table that are in the same partitions as other rows, such as those that will replace them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ...format.identifiers import backquoted
from ...format.objects import Column, PartitionField
from ...format.partitioning import key_columns
from ..values.conform import conform
from .partitions import key_name, with_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_of_same_partitions(old: DataFrame, new: DataFrame, columns: tuple[Column, ...], fields: tuple[PartitionField, ...]) -> DataFrame:
    """Return the rows of `old` whose partition values equal those of a row of `new`; NULL equals NULL.

    Args:
        old: rows of the table, perhaps with additional columns.
        new: rows with the columns of the table, of types that can be cast.
        columns: the columns of the table.
        fields: the partition fields to compare.
    """
    names = {key_name(index): f"_ducklake_new_{index}" for index in range(len(fields))}
    wanted = _with_keys(new, columns, fields).select(*[F.col(key).alias(name) for key, name in names.items()]).distinct()
    condition = F.lit(True)
    for key, name in names.items():
        condition = condition & F.col(key).eqNullSafe(F.col(name))
    return _with_keys(old, columns, fields).join(F.broadcast(wanted), condition, "left_semi").drop(*names)


def _with_keys(rows: DataFrame, columns: tuple[Column, ...], fields: tuple[PartitionField, ...]) -> DataFrame:
    """Return the rows with a column for each partition key, computed as when the rows are written to files."""
    types = {field.name: field.dataType for field in rows.schema.fields}
    distinct = list({column.column_id: column for column in key_columns(columns, fields)}.values())
    sources = [replace(column, name=f"_ducklake_key_of_{column.column_id}") for column in distinct]
    values = [conform(F.col(backquoted(column.name)), types[column.name], source) for column, source in zip(distinct, sources, strict=True)]
    return with_keys(rows.select("*", *values), sources, fields).drop(*[source.name for source in sources])
