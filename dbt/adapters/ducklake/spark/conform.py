"""The expressions that make rows fit a table: exact types, field ids, and what must be refused before it is written.

Trap T2: ids survive in the file only as metadata of an alias over each column, never through `DataFrame.to`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import DataError, StatementError
from ..spec.objects import Column
from .rules import null_text
from .types import FIELD_ID, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_UUID = "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
_MARK = re.compile(r"\[DUCKLAKE_DATA\](.*?)\[/DUCKLAKE_DATA\]", re.DOTALL)


def conform(value: SparkColumn, column: Column) -> SparkColumn:
    """`value` as the column's type and under its name, with the ids of all fields; a value that does not fit is an
    error at run time.

    Raises:
        StatementError: Spark cannot write the column's type.
    """
    _refuse_unwritable(column, column.name)
    written = value.cast(spark_type(column, ids=True))
    if _is_checked(column):
        written = _checked(written, column, column.name).cast(spark_type(column, ids=True))
    if column.children and not column.nullable:
        written = F.when(written.isNull(), _failure(F.lit(null_text(column)))).otherwise(written)
    return written.alias(column.name, metadata={FIELD_ID: column.column_id})


def data_error(error: BaseException) -> DataError | None:
    """The error that an expression of `conform` raised inside Spark, if that is what `error` is."""
    match = _MARK.search(str(error))
    return DataError(match[1]) if match else None


def _refuse_unwritable(column: Column, where: str) -> None:
    if column.type == "geometry":
        raise StatementError(f"column {where} is a geometry, which only DuckDB can write: leave the table to DuckDB")
    for child in column.children:
        _refuse_unwritable(child, f"{where}.{child.name}")


def _is_checked(column: Column) -> bool:
    return any(node.type in {"uuid", "json", "uint128"} for node in column.walk())


def _checked(value: SparkColumn, column: Column, where: str) -> SparkColumn:
    """`value` with its uuids in lower case; text that is no uuid or no JSON is an error, for no reader could cast
    it.
    """
    if not _is_checked(column):
        return value
    match column.type, column.children:
        case "uuid", _:
            failure = _failure(F.concat(F.lit(f"column {where}: '"), value, F.lit("' is not a uuid")))
            return F.when(value.isNull() | value.rlike(_UUID), F.lower(value)).otherwise(failure)
        case "json", _:
            failure = _failure(F.concat(F.lit(f"column {where}: "), value, F.lit(" is not JSON")))
            return F.when(value.isNull() | F.get_json_object(value, "$").isNotNull(), value).otherwise(failure)
        case "uint128", _:
            failure = _failure(F.lit(f"column {where}: a negative number does not fit the type uint128"))
            return F.when(value.isNull() | (value >= 0), value).otherwise(failure.cast(T.DecimalType(38, 0)))
        case "list", (element,):
            return F.transform(value, lambda item: _checked(item, element, f"{where}.element"))
        case "map", (key, inner):
            keys = F.transform_keys(value, lambda k, v: _checked(k, key, f"{where}.key"))
            return F.transform_values(keys, lambda k, v: _checked(v, inner, f"{where}.value"))
    fields = [_checked(value.getField(child.name), child, f"{where}.{child.name}").alias(child.name) for child in column.children]
    return F.when(value.isNull(), None).otherwise(F.struct(*fields))


def _failure(text: SparkColumn) -> SparkColumn:
    return F.raise_error(F.concat(F.lit("[DUCKLAKE_DATA]"), text, F.lit("[/DUCKLAKE_DATA]")))
