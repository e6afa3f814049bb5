"""CHECK constraints: writing a row that violates a constraint is an error. NULL passes, as in standard SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from ...format.constraints import Constraint
from ...format.files import LINEAGE_ROW_ID
from ...format.identifiers import backquoted
from ...format.objects import Column
from .assignment import failure
from .conform import as_stored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def checked(rows: DataFrame, columns: Sequence[Column], checks: Sequence[Constraint], table: str, *, row_ids: bool = False) -> DataFrame:
    """Return the same rows; computing a row that violates a constraint raises an error that `conform.data_error` recognizes.

    Args:
        rows: the table's columns by position, of types that can be cast; with `row_ids` also LINEAGE_ROW_ID, by name.
        columns: the table's columns.
        checks: conditions over the names of `columns`, applied to the values as they will be stored.
        table: the table's name, for the error message.
        row_ids: whether `rows` has the column LINEAGE_ROW_ID.
    """
    others = [name for name in rows.columns if row_ids and name == LINEAGE_ROW_ID]
    given = [name for name in rows.columns if name not in others]
    if len(given) != len(columns):
        return rows  # `write_rows` raises the error
    plain = rows.toDF(*[name if name in others else f"_{index}" for index, name in enumerate(rows.columns)])
    sources = [field for field in plain.schema.fields if field.name not in others]
    stored = [as_stored(F.col(source.name), source.dataType, column) for source, column in zip(sources, columns, strict=True)]
    fitted = plain.select(*stored, *others)
    # A projection, not a filter: Spark may evaluate a filter before those of the query, on rows that are not in the result.
    value = F.col(backquoted(columns[0].name))
    for check in checks:
        text = F.lit(f"{table}: a row does not pass the constraint {check.name}, {check}; nothing was written")
        value = F.when(F.expr(f"NOT ({check.expression})"), failure(text)).otherwise(value)
    return fitted.select(value.alias(columns[0].name), *[F.col(backquoted(column.name)) for column in columns[1:]], *others)
