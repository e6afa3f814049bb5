"""Convert values as stored in files to values of Spark's types, by column expressions.

A `Conversion` can be compared, so that files with equal conversions can share one scan. It is None (only a cast, where the types differ),
the name of an entry of `CONVERSIONS`, or one of the classes below. In the names, `instant` is a timestamp with a time zone (Spark's
TIMESTAMP), `naive` one without (TIMESTAMP_NTZ), and `coarse` one in seconds or milliseconds (DuckLake's timestamp_s and timestamp_ms).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from ...format.leaf_types import LEAF_TYPES, LeafType
from ...format.timestamps import INFINITY_DAYS, INFINITY_MICROS

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_TWO_64 = "18446744073709551616"
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_COARSE = [leaf for leaf in LEAF_TYPES.values() if leaf.is_coarse]
_MICROSECOND = "INTERVAL '0.000001' SECOND"
REFUSED = "dbt-ducklake: "
"""The prefix of the errors that a running scan raises for the user."""
INFINITE_TIMESTAMPS = ("-290308-12-21 19:59:05.224193", "+294247-01-10 04:00:54.775807")
"""Spark's timestamps for -infinity and infinity: files store them as ±(2^63 - 1) microseconds since 1970, which no finite value has."""


@dataclass(frozen=True)
class Refuse:
    """The value cannot be read: reading it raises an error with this message."""

    message: str


@dataclass(frozen=True)
class Constant:
    """The file has no such field: every row has the same value."""

    literal: str | None
    """A literal of Spark SQL; None for NULL."""


@dataclass(frozen=True)
class Elements:
    """A list with a conversion of its elements."""

    element: Conversion


@dataclass(frozen=True)
class Entries:
    """A map with conversions of keys and values."""

    key: Conversion
    value: Conversion


@dataclass(frozen=True)
class Fields:
    """A struct with a conversion of each requested field, in order."""

    fields: tuple[Conversion, ...]


Conversion: TypeAlias = "str | Refuse | Constant | Elements | Entries | Fields | None"


def convert(value: SparkColumn, conversion: Conversion, requested: DataType, final: DataType) -> SparkColumn:
    """Return the expression that converts `value`, which was read as the type `requested`, to the type `final`.

    Args:
        value: the value that was read.
        conversion: a key of `CONVERSIONS`, a value of a class above, or None: cast the value if the types differ.
        requested: the type as which Spark reads the value.
        final: the type of the result.
    """
    match conversion:
        case None:
            return value if same_type(requested, final) else value.cast(final)
        case str():
            return CONVERSIONS[conversion](value, final)
        case Refuse(message):
            return F.raise_error(F.lit(REFUSED + message)).cast(final)
        case Constant(literal):
            return (F.lit(None) if literal is None else F.expr(literal)).cast(final)
        case Elements(element):
            assert isinstance(requested, ArrayType)
            assert isinstance(final, ArrayType)
            old, new = requested.elementType, final.elementType
            return F.transform(value, lambda item: convert(item, element, old, new))
        case Entries():
            assert isinstance(requested, MapType)
            assert isinstance(final, MapType)
            return _entries(value, conversion, requested, final)
        case Fields(fields):
            assert isinstance(requested, StructType)
            assert isinstance(final, StructType)
            parts = [
                convert(value.getField(old.name), each, old.dataType, new.dataType).alias(new.name)
                for each, old, new in zip(fields, requested.fields, final.fields, strict=True)
            ]
            return F.when(value.isNotNull(), F.struct(*parts))


def same_type(one: DataType, other: DataType) -> bool:
    """Whether the types are equal except for the metadata and nullability of fields, which need no cast."""
    match one, other:
        case ArrayType(), ArrayType():
            return same_type(one.elementType, other.elementType)
        case MapType(), MapType():
            return same_type(one.keyType, other.keyType) and same_type(one.valueType, other.valueType)
        case StructType(), StructType():
            return len(one) == len(other) and all(
                a.name == b.name and same_type(a.dataType, b.dataType) for a, b in zip(one.fields, other.fields, strict=True)
            )
    return one == other


def _entries(value: SparkColumn, conversion: Entries, requested: MapType, final: MapType) -> SparkColumn:
    if conversion.value is not None or not same_type(requested.valueType, final.valueType):
        value = F.transform_values(value, lambda _, item: convert(item, conversion.value, requested.valueType, final.valueType))
    if conversion.key is not None or not same_type(requested.keyType, final.keyType):
        value = F.transform_keys(value, lambda key, _: convert(key, conversion.key, requested.keyType, final.keyType))
    return value


def _cast(value: SparkColumn, final: DataType) -> SparkColumn:
    return value.cast(final)


def _uuid_text(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Convert 16 big-endian bytes to the usual text of a UUID."""
    return F.regexp_replace(F.lower(F.hex(value)), "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")


def _variant_or_null(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Convert a variant null to NULL: DuckDB has only NULL and stores it as a variant null."""
    return F.when(~F.is_variant_null(value), value)


def _double_to_integer(value: SparkColumn, final: DataType) -> SparkColumn:
    """Convert a double to the exact integer, as DuckDB does, which stores HUGEINT as DOUBLE."""
    high = F.floor(value / F.lit(float(_TWO_64)))
    low = value - high.cast("double") * F.lit(float(_TWO_64))
    exact_low = (low / 2).cast("bigint").cast("decimal(20,0)") * 2  # `low` is even, and only half of it fits a BIGINT
    exact = high.cast("decimal(20,0)") * F.expr(f"{_TWO_64}BD") + exact_low
    return F.when(F.abs(value) < F.lit(2.0**63), value.cast("bigint").cast(final)).otherwise(exact.cast(final))


def _micros_to_naive(micros: SparkColumn) -> SparkColumn:
    """Convert microseconds since 1970 to a timestamp without a time zone, independent of the session's time zone."""
    return F.expr(_EPOCH) + F.expr(_MICROSECOND) * micros


def _nanos_to_micros(nanos: SparkColumn) -> SparkColumn:
    """Convert nanoseconds to microseconds, rounded toward zero as in DuckDB; infinity stays infinity."""
    whole = F.call_function("div", nanos, F.lit(1000)).cast("bigint")
    return F.when(F.abs(nanos) == F.lit(INFINITY_MICROS), nanos).otherwise(whole)


def _nanos_to_naive(value: SparkColumn, _final: DataType) -> SparkColumn:
    return _micros_to_naive(_nanos_to_micros(value))


def _nanos_to_instant(value: SparkColumn, _final: DataType) -> SparkColumn:
    return F.timestamp_micros(_nanos_to_micros(value))


def _instant_of_millis(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Return a timestamp that the file stores in milliseconds, unchanged, in an expression that stops Spark from pushing filters down.

    In a pushed-down filter, Spark would round the literal down to milliseconds, so `<` and `<>` would lose rows.
    """
    return F.timestamp_micros(F.unix_micros(value))


def _nanos_to_text(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Format a timestamp_ns as DuckDB does: `2020-01-02 03:04:05.123456789`, without trailing zeros; the strings sort like the values."""
    fraction = F.pmod(value, F.lit(1_000_000_000))
    seconds = F.call_function("div", value - fraction, F.lit(1_000_000_000)).cast("bigint")
    whole = _micros_to_naive(seconds * F.lit(1_000_000)).cast("string")
    digits = F.rtrim(F.lpad(fraction.cast("string"), 9, "0"), F.lit("0"))
    text = F.when(fraction == 0, whole).otherwise(F.concat(whole, F.lit("."), digits))
    return F.when(F.abs(value) == F.lit(INFINITY_MICROS), _infinity(value > 0)).otherwise(text)


def _naive_to_text(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Format a timestamp without a zone; the infinities become `infinity` and `-infinity`."""
    least, greatest = _infinite_timestamps()
    return F.when(value.isin(least, greatest), _infinity(value == greatest)).otherwise(value.cast("string"))


def _date_to_text(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Format a date as the timestamp at its start; the infinities become `infinity` and `-infinity`."""
    days = F.unix_date(value)
    text = F.concat(value.cast("string"), F.lit(" 00:00:00"))
    return F.when(F.abs(days) == F.lit(INFINITY_DAYS), _infinity(days > 0)).otherwise(text)


def _infinity(positive: SparkColumn) -> SparkColumn:
    return F.when(positive, F.lit("infinity")).otherwise(F.lit("-infinity"))


def _infinite_timestamps() -> tuple[SparkColumn, SparkColumn]:
    """Return -infinity and infinity as timestamps without a zone."""
    least, greatest = INFINITE_TIMESTAMPS
    return F.expr(f"TIMESTAMP_NTZ'{least}'"), F.expr(f"TIMESTAMP_NTZ'{greatest}'")


def _instant_to_naive(value: SparkColumn, _final: DataType) -> SparkColumn:
    return _micros_to_naive(F.unix_micros(value))


def rounded(value: SparkColumn, unit: int) -> SparkColumn:
    """Round a timestamp without a zone to `unit` microseconds, halves away from 1970, as DuckDB does; infinity stays infinity."""
    remainder = (F.date_part(F.lit("SECOND"), value) * F.lit(1_000_000)).cast("bigint") % F.lit(unit)
    is_before_epoch = (value < F.expr(_EPOCH)).cast("bigint")  # 1 before 1970, where a half is rounded down; otherwise 0
    adjustment = F.when(remainder * 2 < F.lit(unit) + is_before_epoch, -remainder).otherwise(F.lit(unit) - remainder)
    least, greatest = _infinite_timestamps()
    return F.when(value.isin(least, greatest), value).otherwise(value + F.expr(_MICROSECOND) * adjustment)


def _naive_to_coarse(leaf: LeafType, value: SparkColumn, _final: DataType) -> SparkColumn:
    return rounded(value, leaf.unit_nanos // 1000)


def _instant_to_coarse(leaf: LeafType, value: SparkColumn, final: DataType) -> SparkColumn:
    return _naive_to_coarse(leaf, _instant_to_naive(value, final), final)


def _instant_to_text(value: SparkColumn, final: DataType) -> SparkColumn:
    return _instant_to_naive(value, final).cast("string")


def _micros_at_midnight(value: SparkColumn) -> SparkColumn:
    """Return the microseconds since 1970 at the start of a day; those of infinity for an infinite date."""
    days = F.unix_date(value).cast("bigint")
    infinite = F.when(days > 0, F.lit(INFINITY_MICROS)).otherwise(F.lit(-INFINITY_MICROS))
    return F.when(F.abs(days) == F.lit(INFINITY_DAYS), infinite).otherwise(days * F.lit(86_400_000_000))


def _date_to_naive(value: SparkColumn, _final: DataType) -> SparkColumn:
    return _micros_to_naive(_micros_at_midnight(value))


def _date_to_instant(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Convert a date to midnight UTC, independent of the session's time zone."""
    return F.timestamp_micros(_micros_at_midnight(value))


def _micros_to_zoned_time(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Format a TIMETZ as DuckDB does. It is stored as the microseconds of the day in UTC."""
    return F.concat(_clock(value), F.lit("+00"))


def _clock(micros: SparkColumn) -> SparkColumn:
    """Format microseconds of a day as `HH:MM:SS`, with a fraction if it is not zero, without trailing zeros."""
    seconds = F.floor(micros / F.lit(1_000_000))
    fraction = F.pmod(micros, F.lit(1_000_000))
    text = F.concat(
        F.lpad((F.floor(seconds / F.lit(3600))).cast("string"), 2, "0"),
        F.lit(":"),
        F.lpad(F.pmod(F.floor(seconds / F.lit(60)), F.lit(60)).cast("string"), 2, "0"),
        F.lit(":"),
        F.lpad(F.pmod(seconds, F.lit(60)).cast("string"), 2, "0"),
    )
    digits = F.rtrim(F.lpad(fraction.cast("string"), 6, "0"), F.lit("0"))
    return F.when(fraction == 0, text).otherwise(F.concat(text, F.lit("."), digits))


def _interval_text(value: SparkColumn, _final: DataType) -> SparkColumn:
    """Format Parquet's INTERVAL (months, days, milliseconds; unsigned, little-endian) as DuckDB: `1 year 2 months 3 days 04:05:06.7`."""
    months, days, millis = (_little_endian(value, start) for start in (1, 5, 9))
    years, rest = F.floor(months / F.lit(12)), F.pmod(months, F.lit(12))
    clock = F.when(millis != 0, _long_clock(millis))
    text = F.concat_ws(" ", _counted(years, "year"), _counted(rest, "month"), _counted(days, "day"), clock)
    return F.when(value.isNotNull(), F.when(text == "", F.lit("00:00:00")).otherwise(text))


def _long_clock(millis: SparkColumn) -> SparkColumn:
    """Format milliseconds like `_clock`, but with hours of any number of digits."""
    hours = F.floor(millis / F.lit(3_600_000))
    tail = F.substring(_clock(F.pmod(millis, F.lit(3_600_000)) * F.lit(1000)), 3, 100)  # without the two digits of the hours
    hours_text = F.when(hours < 10, F.concat(F.lit("0"), hours.cast("string"))).otherwise(hours.cast("string"))
    return F.concat(hours_text, tail)


def _counted(number: SparkColumn, unit: str) -> SparkColumn:
    """Format a number with its unit, such as `1 year` or `2 years`; NULL for zero."""
    name = F.when(number == 1, F.lit(unit)).otherwise(F.lit(unit + "s"))
    return F.when(number != 0, F.concat_ws(" ", number.cast("string"), name))


def _little_endian(value: SparkColumn, start: int) -> SparkColumn:
    """Return the unsigned 32-bit integer at the 1-based byte `start`."""
    digits = F.hex(value)
    reversed_digits = F.concat(*[F.substring(digits, 2 * (start + offset) - 1, 2) for offset in (3, 2, 1, 0)])
    return F.conv(reversed_digits, 16, 10).cast("bigint")


CONVERSIONS: Mapping[str, Callable[[SparkColumn, DataType], SparkColumn]] = {
    "cast": _cast,
    "variant_or_null": _variant_or_null,
    "uuid_text": _uuid_text,
    "double_to_integer": _double_to_integer,
    "nanos_to_naive": _nanos_to_naive,
    "nanos_to_instant": _nanos_to_instant,
    "instant_of_millis": _instant_of_millis,
    "nanos_to_text": _nanos_to_text,
    "naive_to_text": _naive_to_text,
    **{f"naive_to_{leaf.name}": partial(_naive_to_coarse, leaf) for leaf in _COARSE},
    "date_to_text": _date_to_text,
    "instant_to_naive": _instant_to_naive,
    "instant_to_text": _instant_to_text,
    **{f"instant_to_{leaf.name}": partial(_instant_to_coarse, leaf) for leaf in _COARSE},
    "date_to_naive": _date_to_naive,
    "date_to_instant": _date_to_instant,
    "micros_to_zoned_time": _micros_to_zoned_time,
    "interval_text": _interval_text,
}
