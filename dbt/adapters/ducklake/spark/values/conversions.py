"""From the values as files hold them to the values that Spark works with, as column expressions.

A `How` says what to do with a value, as data, so that files which need the same can share one scan: None (nothing),
the name of a leaf conversion of `CONVERSIONS`, or a nested one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from ...format.timestamps import INFINITY_DAYS, INFINITY_MICROS

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_TWO_64 = "18446744073709551616"
REFUSED = "dbt-ducklake: "
"""How the text of an error begins that a scan raises while it runs."""
INFINITE_TIMESTAMPS = ("-290308-12-21 19:59:05.224193", "+294247-01-10 04:00:54.775807")
"""What stands in Spark for -infinity and infinity: the timestamps that their numbers in files are, which no finite value has."""


@dataclass(frozen=True)
class Refuse:
    """The value cannot be read; whoever asks for it gets this text."""

    text: str


@dataclass(frozen=True)
class Constant:
    """The file has no such field: the value is this Spark SQL literal, or NULL."""

    literal: str | None


@dataclass(frozen=True)
class Elements:
    """A list with a conversion of its elements."""

    element: How


@dataclass(frozen=True)
class Entries:
    """A map with conversions of keys and values."""

    key: How
    value: How


@dataclass(frozen=True)
class Fields:
    """A struct rebuilt: what to do with the requested field at each place."""

    fields: tuple[How, ...]


How: TypeAlias = "str | Refuse | Constant | Elements | Entries | Fields | None"


def convert(value: SparkColumn, how: How, requested: DataType, final: DataType) -> SparkColumn:
    """The expression that makes of `value`, read as `requested`, a value of type `final`."""
    match how:
        case None:
            return value if same_type(requested, final) else value.cast(final)
        case str():
            return CONVERSIONS[how](value, final)
        case Refuse(text):
            return F.raise_error(F.lit(REFUSED + text)).cast(final)
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
            return _entries(value, how, requested, final)
        case Fields(fields):
            assert isinstance(requested, StructType)
            assert isinstance(final, StructType)
            parts = [
                convert(value.getField(old.name), each, old.dataType, new.dataType).alias(new.name)
                for each, old, new in zip(fields, requested.fields, final.fields, strict=True)
            ]
            return F.when(value.isNotNull(), F.struct(*parts))


def same_type(one: DataType, other: DataType) -> bool:
    """Equal but for the metadata and the nullability of fields, which a cast could not change for the better."""
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


def _entries(value: SparkColumn, how: Entries, requested: MapType, final: MapType) -> SparkColumn:
    if how.value is not None or not same_type(requested.valueType, final.valueType):
        value = F.transform_values(value, lambda _, item: convert(item, how.value, requested.valueType, final.valueType))
    if how.key is not None or not same_type(requested.keyType, final.keyType):
        value = F.transform_keys(value, lambda key, _: convert(key, how.key, requested.keyType, final.keyType))
    return value


def _cast(value: SparkColumn, final: DataType) -> SparkColumn:
    return value.cast(final)


def _uuid_text(value: SparkColumn, final: DataType) -> SparkColumn:
    """16 bytes, big-endian, as text of the usual form."""
    return F.regexp_replace(F.lower(F.hex(value)), "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")


def _variant_or_null(value: SparkColumn, final: DataType) -> SparkColumn:
    """DuckDB knows one NULL, and stores it as the variant's own null."""
    return F.when(~F.is_variant_null(value), value)


def _double_to_integer(value: SparkColumn, final: DataType) -> SparkColumn:
    """DuckDB stores HUGEINT as DOUBLE: the integer that the double is, exactly, as DuckDB gives it back."""
    high = F.floor(value / F.lit(float(_TWO_64)))
    low = value - high.cast("double") * F.lit(float(_TWO_64))
    exact = high.cast("decimal(20,0)") * F.expr(f"{_TWO_64}BD") + (low / 2).cast("bigint").cast("decimal(20,0)") * 2
    return F.when(F.abs(value) < F.lit(2.0**63), value.cast("bigint").cast(final)).otherwise(exact.cast(final))


def _micros_to_naive(micros: SparkColumn) -> SparkColumn:
    """Microseconds since 1970 without a time zone; the session's time zone has no part in it."""
    return F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'") + F.expr("INTERVAL '0.000001' SECOND") * micros


def _nanos_to_micros(nanos: SparkColumn) -> SparkColumn:
    """Nanoseconds of a file to the microseconds of the column's type, as the reference casts: towards zero, infinity stays infinity."""
    whole = F.call_function("div", nanos, F.lit(1000)).cast("bigint")
    return F.when(F.abs(nanos) == F.lit(INFINITY_MICROS), nanos).otherwise(whole)


def _nanos_to_naive(value: SparkColumn, final: DataType) -> SparkColumn:
    return _micros_to_naive(_nanos_to_micros(value))


def _nanos_to_instant(value: SparkColumn, final: DataType) -> SparkColumn:
    return F.timestamp_micros(_nanos_to_micros(value))


def _nanos_to_text(value: SparkColumn, final: DataType) -> SparkColumn:
    """A timestamp_ns as DuckDB prints it: `2020-01-02 03:04:05.123456789`, without trailing zeros; the texts sort as the values do."""
    fraction = F.pmod(value, F.lit(1_000_000_000))
    seconds = F.call_function("div", value - fraction, F.lit(1_000_000_000)).cast("bigint")
    whole = _micros_to_naive(seconds * F.lit(1_000_000)).cast("string")
    digits = F.rtrim(F.lpad(fraction.cast("string"), 9, "0"), F.lit("0"))
    text = F.when(fraction == 0, whole).otherwise(F.concat(whole, F.lit("."), digits))
    return F.when(F.abs(value) == F.lit(INFINITY_MICROS), _infinity(value > 0)).otherwise(text)


def _naive_to_text(value: SparkColumn, final: DataType) -> SparkColumn:
    least, greatest = (F.expr(f"TIMESTAMP_NTZ'{text}'") for text in INFINITE_TIMESTAMPS)
    return F.when(value.isin(least, greatest), _infinity(value == greatest)).otherwise(value.cast("string"))


def _date_to_text(value: SparkColumn, final: DataType) -> SparkColumn:
    days = F.unix_date(value)
    text = F.concat(value.cast("string"), F.lit(" 00:00:00"))
    return F.when(F.abs(days) == F.lit(INFINITY_DAYS), _infinity(days > 0)).otherwise(text)


def _infinity(positive: SparkColumn) -> SparkColumn:
    return F.when(positive, F.lit("infinity")).otherwise(F.lit("-infinity"))


def _instant_to_naive(value: SparkColumn, final: DataType) -> SparkColumn:
    return _micros_to_naive(F.unix_micros(value))


def _instant_to_text(value: SparkColumn, final: DataType) -> SparkColumn:
    return _instant_to_naive(value, final).cast("string")


def _midnight(value: SparkColumn) -> SparkColumn:
    """Microseconds at the start of a day; the infinite day becomes the infinite timestamp."""
    days = F.unix_date(value).cast("bigint")
    infinite = F.when(days > 0, F.lit(INFINITY_MICROS)).otherwise(F.lit(-INFINITY_MICROS))
    return F.when(F.abs(days) == F.lit(INFINITY_DAYS), infinite).otherwise(days * F.lit(86_400_000_000))


def _date_to_naive(value: SparkColumn, final: DataType) -> SparkColumn:
    return _micros_to_naive(_midnight(value))


def _date_to_instant(value: SparkColumn, final: DataType) -> SparkColumn:
    """Midnight UTC, whatever the session's time zone."""
    return F.timestamp_micros(_midnight(value))


def _micros_to_zoned_time(value: SparkColumn, final: DataType) -> SparkColumn:
    """TIMETZ is stored as the time in UTC; its text is what DuckDB prints for that."""
    return F.concat(_clock(value), F.lit("+00"))


def _clock(micros: SparkColumn) -> SparkColumn:
    """`HH:MM:SS` and the fraction without trailing zeros."""
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


def _interval_text(value: SparkColumn, final: DataType) -> SparkColumn:
    """Parquet's INTERVAL (months, days, milliseconds; unsigned, little-endian) as DuckDB prints it: `1 year 2 months 3 days 04:05:06.7`."""
    months, days, millis = (_little_endian(value, start) for start in (1, 5, 9))
    years, rest = F.floor(months / F.lit(12)), F.pmod(months, F.lit(12))
    clock = F.when(millis != 0, _long_clock(millis))
    text = F.concat_ws(" ", _counted(years, "year"), _counted(rest, "month"), _counted(days, "day"), clock)
    return F.when(value.isNotNull(), F.when(text == "", F.lit("00:00:00")).otherwise(text))


def _long_clock(millis: SparkColumn) -> SparkColumn:
    """As `_clock`, with hours of more than two digits kept."""
    hours = F.floor(millis / F.lit(3_600_000))
    tail = F.substring(_clock(F.pmod(millis, F.lit(3_600_000)) * F.lit(1000)), 3, 100)
    shown = F.when(hours < 10, F.concat(F.lit("0"), hours.cast("string"))).otherwise(hours.cast("string"))
    return F.concat(shown, tail)


def _counted(number: SparkColumn, unit: str) -> SparkColumn:
    name = F.when(number == 1, F.lit(unit)).otherwise(F.lit(unit + "s"))
    return F.when(number != 0, F.concat_ws(" ", number.cast("string"), name))


def _little_endian(value: SparkColumn, start: int) -> SparkColumn:
    """The unsigned 32-bit integer at the 1-based byte `start`."""
    digits = F.hex(value)
    turned = F.concat(*[F.substring(digits, 2 * (start + offset) - 1, 2) for offset in (3, 2, 1, 0)])
    return F.conv(turned, 16, 10).cast("bigint")


CONVERSIONS: Mapping[str, Callable[[SparkColumn, DataType], SparkColumn]] = {
    "cast": _cast,
    "variant_or_null": _variant_or_null,
    "uuid_text": _uuid_text,
    "double_to_integer": _double_to_integer,
    "nanos_to_naive": _nanos_to_naive,
    "nanos_to_instant": _nanos_to_instant,
    "nanos_to_text": _nanos_to_text,
    "naive_to_text": _naive_to_text,
    "date_to_text": _date_to_text,
    "instant_to_naive": _instant_to_naive,
    "instant_to_text": _instant_to_text,
    "date_to_naive": _date_to_naive,
    "date_to_instant": _date_to_instant,
    "micros_to_zoned_time": _micros_to_zoned_time,
    "interval_text": _interval_text,
}
