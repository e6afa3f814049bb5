"""Find the rows of a table that are in the same partitions as other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ...errors import StatementError
from ...format.identifiers import backquoted
from ...format.objects import PartitionField, Table

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_PARTS = {"year": F.year, "month": F.month, "day": F.dayofmonth, "hour": F.hour}


def rows_of_same_partitions(old: DataFrame, new: DataFrame, table: Table) -> DataFrame:
    """Return the rows of `old` whose partition values equal those of a row of `new`; NULL equals NULL."""
    fields = table.partitioning.fields if table.partitioning else ()
    names = {column.column_id: column.name for column in table.columns}
    wanted = new.toDF(*[column.name for column in table.columns])
    wanted = wanted.select(*[_key(names[f.column_id], f).alias(f"_ducklake_new_{i}") for i, f in enumerate(fields)]).distinct()
    condition = F.lit(True)
    for i, field in enumerate(fields):
        condition = condition & _key(names[field.column_id], field).eqNullSafe(F.col(f"_ducklake_new_{i}"))
    return old.join(F.broadcast(wanted), condition, "left_semi")


def _key(column: str, field: PartitionField) -> SparkColumn:
    value = F.col(backquoted(column))
    if field.transform == "identity":
        return value
    part = _PARTS.get(field.transform)
    if part is None:
        raise StatementError(
            f"partitions by {field.transform}({column}) cannot be overwritten one by one; use MERGE, or INSERT INTO … REPLACE WHERE"
        )
    return part(value)
