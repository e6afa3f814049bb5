"""Store assignment: cast a value to the type of its column, by strict rules that do not depend on the ANSI setting.

A plain cast follows `spark.sql.ansi.enabled`: without ANSI, 3000000000 becomes the INT -1294967296, and a string that is not a date becomes
NULL. It also assigns the fields of a struct by position, so that those in another order would get each other's values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...errors import StatementError
from ...format.identifiers import fold
from .conversions import same_type

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

ERROR_START, ERROR_END = "[DUCKLAKE_DATA]", "[/DUCKLAKE_DATA]"
"""The markers around the text of `failure` in the message of Spark's exception."""
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_DIGITS = dict(zip(_INTEGERS, (3, 5, 10, 19), strict=True))
"""The maximum number of decimal digits of each."""
_FLOATS = (T.FloatType, T.DoubleType)
_STRING_LIKE = (T.StringType, T.BinaryType)
_DATES_AND_TIMESTAMPS = (T.DateType, T.TimestampType, T.TimestampNTZType)
_NAMED = (*_INTEGERS, *_FLOATS, *_DATES_AND_TIMESTAMPS, T.BooleanType, T.DecimalType)
_ALWAYS_STRICT = (T.NullType, T.VariantType)
"""Types whose casts do not depend on the ANSI setting: NULL stays NULL, and a variant that does not fit is an error."""


def assigned(value: SparkColumn, source: T.DataType, target: T.DataType, column: str) -> SparkColumn:
    """Cast a value to `target`; a value that does not fit raises an error when it is computed.

    Args:
        value: the value.
        source: the type of `value`.
        target: the type of the column.
        column: the name of the column, for the error message.

    Raises:
        StatementError: only some fields of a struct have the names of the column's fields, or their numbers differ.
    """
    if _plain_cast_suffices(source, target):
        return value.cast(_cast_type(target))
    match source, target:
        case T.ArrayType(), T.ArrayType():
            old, new = source.elementType, target.elementType
            return F.transform(value, lambda item: assigned(item, old, new, f"{column}.element"))
        case T.MapType(), T.MapType():
            return _assigned_map(value, source, target, column)
        case T.StructType(), T.StructType():
            ordered = _in_order(source, target) if len(source) == len(target) else None
            if ordered is None:
                raise StatementError(
                    f"column {column} has the fields {', '.join(target.names)}, and its new value has {', '.join(source.names)}: "
                    "name the fields of the value as those of the column, in any order, or use none of these names, to assign by position"
                )
            fields = [
                assigned(value.getField(old.name), old.dataType, new.dataType, f"{column}.{new.name}").alias(new.name)
                for old, new in zip(ordered, target.fields, strict=True)
            ]
            return F.when(value.isNotNull(), F.struct(*fields))
    text = F.concat(F.lit(f"column {column}: "), value.cast("string"), F.lit(f" does not fit the type {target.simpleString()}"))
    kind = _cast_type(target)
    return F.coalesce(value.try_cast(kind), F.when(value.isNotNull(), failure(text)).cast(kind))


def _cast_type(target: T.DataType) -> T.DataType | str:
    """Return the name of a type if it describes the type fully, or else the type. A name takes fewer calls to the JVM."""
    return target.simpleString() if isinstance(target, _NAMED) else target


def failure(text: SparkColumn) -> SparkColumn:
    """Return an expression that raises an error which `conform.data_error` recognizes."""
    return F.raise_error(F.concat(F.lit(ERROR_START), text, F.lit(ERROR_END)))


def _assigned_map(value: SparkColumn, source: T.MapType, target: T.MapType, column: str) -> SparkColumn:
    if not same_type(source.keyType, target.keyType):
        value = F.transform_keys(value, lambda key, _: assigned(key, source.keyType, target.keyType, f"{column}.key"))
    if not _plain_cast_suffices(source.valueType, target.valueType):
        value = F.transform_values(value, lambda _, item: assigned(item, source.valueType, target.valueType, f"{column}.value"))
    return value.cast(target)


def _in_order(source: T.StructType, target: T.StructType) -> list[T.StructField] | None:
    """Return the source's fields in the order of the target's.

    They are matched by name if both sides have the same names. Otherwise they are matched by position, if no given name is a field of the
    target, or each one is that of the field at its position. Names that Spark generates, such as `col2`, `_2` or `1` for the second field,
    are not given names. None otherwise, because it is unclear which field is meant.
    """
    by_name = {fold(field.name): field for field in source.fields}
    names = [fold(field.name) for field in target.fields]
    if len(names) == len(source) == len(by_name) and by_name.keys() == set(names):
        return [by_name[name] for name in names]
    generated = [(f"col{index + 1}", f"_{index + 1}", str(index)) for index in range(len(source))]
    given = [(index, fold(field.name)) for index, field in enumerate(source.fields) if fold(field.name) not in generated[index]]
    by_position = not any(name in names for _, name in given) or all(name == names[index] for index, name in given)
    return source.fields if by_position else None


def _plain_cast_suffices(source: T.DataType, target: T.DataType) -> bool:
    """Whether a plain cast gives the wanted result: the same with and without ANSI, and with fields matched as `_in_order` does."""
    if same_type(source, target) or isinstance(source, _ALWAYS_STRICT):
        return True
    match source, target:
        case T.ArrayType(), T.ArrayType():
            return _plain_cast_suffices(source.elementType, target.elementType)
        case T.MapType(), T.MapType():
            # A cast of keys may make two of them equal, which only `transform_keys` notices.
            return same_type(source.keyType, target.keyType) and _plain_cast_suffices(source.valueType, target.valueType)
        case T.StructType(), T.StructType():
            if len(source) != len(target) or _in_order(source, target) != source.fields:
                return False
            pairs = zip(source.fields, target.fields, strict=True)
            return all(_plain_cast_suffices(old.dataType, new.dataType) for old, new in pairs)
    return _leaf_plain_cast_suffices(source, target)


def _leaf_plain_cast_suffices(source: T.DataType, target: T.DataType) -> bool:
    match source, target:
        case _, T.StringType() if not isinstance(source, T.ArrayType | T.MapType | T.StructType):
            return True
        case _, T.DecimalType():
            return _decimal_fits(source, target)
    if isinstance(source, _INTEGERS):
        return isinstance(target, _FLOATS) or (isinstance(target, _INTEGERS) and _DIGITS[type(source)] <= _DIGITS[type(target)])
    return (
        (isinstance(source, T.FloatType | T.DecimalType) and isinstance(target, T.DoubleType))
        or (isinstance(source, _STRING_LIKE) and isinstance(target, _STRING_LIKE))
        or (isinstance(source, _DATES_AND_TIMESTAMPS) and isinstance(target, _DATES_AND_TIMESTAMPS))
    )


def _decimal_fits(source: T.DataType, target: T.DecimalType) -> bool:
    """Whether the target has enough digits before the decimal point for every number of the source, even if rounding adds a digit."""
    integer_digits = target.precision - target.scale
    if isinstance(source, _INTEGERS):
        return integer_digits >= _DIGITS[type(source)]
    if isinstance(source, T.DecimalType):
        return integer_digits >= source.precision - source.scale + (target.scale < source.scale)
    return False
