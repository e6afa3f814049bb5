"""The expressions that convert rows for writing to a table: exact types, field ids, and errors for invalid values.

Spark writes field ids to a file only if they are metadata of an alias of each column; `DataFrame.to` loses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...errors import DataError
from ...format.leaf_types import LeafType, leaf_type
from ...format.objects import Column
from ...format.text_patterns import TIMESTAMP_NS
from ...format.timestamps import INFINITY_MICROS, MIN_NANOS
from .assignment import ERROR_END, ERROR_START, assigned, failure
from .conversions import Conversion, Elements, Entries, Fields, convert, rounded
from .stats_checks import null_message
from .types import FIELD_ID, file_type, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

    Check = Callable[[SparkColumn, LeafType, str], SparkColumn]

_SECOND = "dbt-ducklake: end of value"
_DATA_ERROR = re.compile(f"{re.escape(ERROR_START)}(?!,)(.*?){re.escape(ERROR_END)}", re.DOTALL)
"""A start before a comma is no data error: an error of Spark's analysis shows the plan, in which the start is an argument."""


def conform(value: SparkColumn, source: T.DataType, column: Column) -> SparkColumn:
    """Convert `value`, of type `source`, to the column's type and name, with all field ids; an invalid value is an error at run time."""
    written = value if is_unchanged(source, column) else assigned(value, source, spark_type(column), column.name)
    if column.children:
        written = written.cast(spark_type(column, ids=True))
    if _is_checked(column):
        written = _checked(written, column, column.name).cast(file_type(column))
    if (column.children or column.type == "variant") and not column.nullable:  # their footer statistics do not count NULLs
        written = F.when(written.isNull(), failure(F.lit(null_message(column)))).otherwise(written)
    return written.alias(column.name, metadata={FIELD_ID: column.column_id})


def as_stored(value: SparkColumn, source: T.DataType, column: Column) -> SparkColumn:
    """Convert `value` to what a reader finds after `conform` has written it, of the column's Spark type."""
    written = conform(value, source, column)
    return convert(written, _read_back(column), file_type(column), spark_type(column)).alias(column.name)


def stored_text(spark: SparkSession, value: str, column: Column) -> str | None:
    """Return the text of a constant SQL expression as a column stores it; None if it is NULL.

    Raises:
        DataError: the value does not fit the column.
    """
    given = spark.sql(f"SELECT {value} AS value")
    stored = as_stored(F.col("value"), given.schema.fields[0].dataType, column)
    with data_errors():
        text: str | None = given.select(stored.cast("string")).collect()[0][0]
    return text


def is_changed_when_stored(column: Column) -> bool:
    """Whether a value of the column's Spark type may differ from the stored one: text in several forms, or a rounded timestamp."""
    leaf = leaf_type(column.type)
    return leaf.is_coarse or leaf.has_one_text


def is_unchanged(source: T.DataType, column: Column) -> bool:
    """Whether `conform` leaves values of the type `source` as they are, apart from their name and field ids."""
    return not column.children and source == spark_type(column) and not _is_checked(column)


@contextmanager
def data_errors() -> Iterator[None]:
    """Raise the DataError of an expression of `conform` in place of Spark's exception.

    Raises:
        DataError: a value does not fit its column.
    """
    try:
        yield
    except BaseException as error:
        invalid = data_error(error)
        if invalid is not None:
            raise invalid from error
        raise


def data_error(error: BaseException | str) -> DataError | None:
    """Return the error that an expression of `conform` raised in Spark; None if `error`, an exception or its text, is another error."""
    match = _DATA_ERROR.search(str(error))
    return DataError(match[1]) if match else None


def _read_back(column: Column) -> Conversion:
    """Return the conversion of a value in a file to Spark's form: a timestamp_ns is text again."""
    match column.type, column.children:
        case "list", (element,):
            return Elements(_read_back(element))
        case "map", (key, value):
            return Entries(_read_back(key), _read_back(value))
        case "struct", children:
            return Fields(tuple(_read_back(child) for child in children))
        case "timestamp_ns", _:
            return "nanos_to_text"
    return None


def _is_checked(column: Column) -> bool:
    return any(_check_of(leaf_type(node.type)) is not None for node in column.walk())


def _checked(value: SparkColumn, column: Column, where: str) -> SparkColumn:
    """Add what Spark's cast does not do: strings that readers cannot cast are errors, and timestamps are rounded to their unit."""
    if not _is_checked(column):
        return value
    match column.type, column.children:
        case "list", (element,):
            return F.transform(value, lambda item: _checked(item, element, f"{where}.element"))
        case "map", (key, inner):
            keys = F.transform_keys(value, lambda k, _: _checked(k, key, f"{where}.key"))
            return F.transform_values(keys, lambda _, v: _checked(v, inner, f"{where}.value"))
        case "struct", children:
            fields = [_checked(value.getField(c.name), c, f"{where}.{c.name}").alias(c.name) for c in children]
            return F.when(value.isNull(), None).otherwise(F.struct(*fields))
    leaf = leaf_type(column.type)
    check = _check_of(leaf)
    return value if check is None else check(value, leaf, where)


def _check_of(leaf: LeafType) -> Check | None:
    """Return what Spark's cast does not do for a type; None if the cast is enough."""
    if leaf.is_coarse:
        return _rounded
    return _CHECKS.get(leaf.name) or (None if leaf.pattern is None else _text)


def _text(value: SparkColumn, leaf: LeafType, where: str) -> SparkColumn:
    """Refuse strings that are not values of the type."""
    valid = _is_json(value) if leaf.pattern is None else value.rlike(leaf.pattern)
    refusal = failure(F.concat(F.lit(f"column {where}: '"), value, F.lit(f"' is not of the type {leaf.name}")))
    return F.when(value.isNull() | valid, F.lower(value) if leaf.name == "uuid" else value).otherwise(refusal)


def _not_negative(value: SparkColumn, leaf: LeafType, where: str) -> SparkColumn:
    refusal = failure(F.lit(f"column {where}: a negative number does not fit the type {leaf.name}"))
    return F.when(value.isNull() | (value >= 0), value).otherwise(refusal.cast(T.DecimalType(38, 0)))


def _is_json(value: SparkColumn) -> SparkColumn:
    """Whether a string is one value of strict JSON.

    `try_parse_json` refuses repeated keys, and `get_json_object` accepts single quotes. Both ignore what follows the first value, so the
    string becomes the first element of an array, and the second element must be ours.
    """
    array = F.concat(F.lit("["), value, F.lit(f',"{_SECOND}"]'))
    strict = F.variant_get(F.try_parse_json(array), "$[1]", "string") == _SECOND
    return strict | ((F.get_json_object(array, "$[1]") == _SECOND) & ~value.contains("'"))


def _rounded(value: SparkColumn, leaf: LeafType, _where: str) -> SparkColumn:
    """Round a timestamp to the type's unit as DuckDB does."""
    return rounded(value, leaf.unit_nanos // 1000)


def _nanos(value: SparkColumn, _leaf: LeafType, where: str) -> SparkColumn:
    """Convert a string such as `2020-01-02 03:04:05.123456789` to nanoseconds since 1970."""
    seconds = wall_micros(F.regexp_extract(value, TIMESTAMP_NS, 1).cast("timestamp_ntz"))
    fraction = F.rpad(F.regexp_extract(value, TIMESTAMP_NS, 5), 9, "0").cast("bigint")
    nanos = F.try_add(F.try_multiply(seconds, F.lit(1000)), fraction)
    refusal = failure(F.concat(F.lit(f"column {where}: '"), value, F.lit("' is not of the type timestamp_ns"))).cast("bigint")
    return (
        F.when(value == "infinity", F.lit(INFINITY_MICROS))
        .when(value == "-infinity", F.lit(-INFINITY_MICROS))
        .when(value.rlike(TIMESTAMP_NS) & (nanos >= F.lit(MIN_NANOS)) & (nanos < F.lit(INFINITY_MICROS)), nanos)
        .when(value.isNotNull(), refusal)
    )


def wall_micros(value: SparkColumn) -> SparkColumn:
    """Convert a timestamp without a time zone to microseconds since 1970-01-01 00:00:00."""
    return F.unix_micros(F.concat(value.cast("string"), F.lit("Z")).cast("timestamp"))


_CHECKS: Mapping[str, Check] = {"timestamp_ns": _nanos, "uint128": _not_negative, "json": _text}
"""The checks of single types. Other types with a pattern are checked by it, and timestamps are rounded to their unit."""
