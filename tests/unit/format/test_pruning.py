"""No file with a matching row is ever skipped: random values, random conditions, and named edge cases."""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dbt.adapters.ducklake.format.buckets import bucket
from dbt.adapters.ducklake.format.files import ColumnFilter, ColumnRange, ColumnStats
from dbt.adapters.ducklake.format.objects import Column, Table
from dbt.adapters.ducklake.format.pruning import KeyValue, excluded, excluded_by_partition
from dbt.adapters.ducklake.format.statistics import encode_bounds, plain_value
from dbt.adapters.ducklake.plan.filters import filters_for_condition
from dbt.adapters.ducklake.plan.view import Settings

SEED = random.SystemRandom().randrange(10**9)
_EPOCH = dt.datetime(1970, 1, 1)


def float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def day(rng: random.Random) -> dt.date:
    return dt.date(2024, 1, 1) + dt.timedelta(days=rng.randrange(-3, 40))


def timestamp(rng: random.Random) -> dt.datetime:
    return dt.datetime(2024, 1, 1) + dt.timedelta(
        microseconds=rng.choice([0, 1, 999_999, 86_399_999_999, 86_400_000_000]) * rng.randrange(4)
    )


TEXTS = ["", "a", "ab", "abc", "b", "B", "ä", "é", "ß", "a" * 300, "a" * 299 + "ÿ", "\x7f" * 260, "zz", "😀", " a", "a "]
MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "int32": lambda rng: rng.choice([-(2**31), 2**31 - 1, *range(-9, 10)]),
    "uint8": lambda rng: rng.randrange(256),
    "int64": lambda rng: rng.choice([-(2**63), 2**63 - 1, 2**53 + 1, *range(-9, 10)]),
    "decimal(10,2)": lambda rng: Decimal(rng.randrange(-500, 500)).scaleb(-2),
    "float64": lambda rng: rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.5, -2.25, 1e300, 0.1, float(rng.randrange(9))]),
    "float32": lambda rng: float32(rng.choice([math.nan, math.inf, -0.0, 0.0, 1.4e-45, 0.1, -0.1, 1.5, 3.0, 16777216.0, 3e38])),
    "varchar": lambda rng: rng.choice(TEXTS),
    "date": day,
    "timestamp": timestamp,
    "boolean": lambda rng: rng.random() < 0.5,
}


def statistics(values: list[Any], type_name: str) -> ColumnStats:
    """Return statistics as a writer stores them: bounds without NULL and NaN."""
    known = [value for value in values if value is not None]
    plain = [plain_value(value, type_name) for value in known if value == value]
    ordered = sorted(each for each in plain if each is not None)  # type: ignore[type-var]
    bounds = encode_bounds(type_name, ordered[0], ordered[-1]) if ordered else (None, None)
    nan = any(value != value for value in known) if type_name.startswith("float") else None
    return ColumnStats(1, None, len(known), len(values) - len(known), *bounds, nan)


def order(value: Any) -> tuple[bool, Any]:
    """Return a key for Spark's order of a type: NaN last, texts by their bytes."""
    if isinstance(value, float) and value != value:
        return True, 0
    return False, value.encode() if isinstance(value, str) else value


def literal(value: Any) -> str:
    match value:
        case bool():
            return str(value)
        case dt.datetime():
            return f"TIMESTAMP_NTZ'{value}'"
        case dt.date():
            return f"'{value}'"
        case str():
            return f"'{value}'"
        case float():
            return f"{value!r}" if "e" in repr(value) else f"{Decimal(value):f}"
    return str(value)


def condition(rng: random.Random, type_name: str) -> tuple[str, Callable[[Any], bool]]:
    """Return a condition on the column c and a function that evaluates it for values that are not NULL (for NULL it is never true)."""
    constants = [value for value in (MAKERS[type_name](rng) for _ in range(40)) if not isinstance(value, float) or math.isfinite(value)]
    a, b = constants[:2]
    if isinstance(a, float):
        a, b = (float(literal(each)) for each in (a, b))
    kind = rng.choice(["=", "<", "<=", ">", ">=", "<=>", "between", "in", "or", "like", "is not null"])
    if type_name == "boolean" and kind not in ("=", "<=>", "in", "is not null"):
        return ("c", lambda v: v) if rng.random() < 0.5 else ("NOT c", lambda v: not v)
    match kind:
        case "=" | "<=>":
            return f"c {kind} {literal(a)}", lambda v: order(v) == order(a)
        case "<":
            return f"c < {literal(a)}", lambda v: order(v) < order(a)
        case "<=":
            return f"{literal(a)} >= c", lambda v: order(v) <= order(a)
        case ">":
            return f"c > {literal(a)}", lambda v: order(v) > order(a)
        case ">=":
            return f"c >= {literal(a)}", lambda v: order(v) >= order(a)
        case "between":
            return f"c BETWEEN {literal(a)} AND {literal(b)}", lambda v: order(a) <= order(v) <= order(b)
        case "in":
            return f"c IN ({literal(a)}, {literal(b)})", lambda v: order(v) in (order(a), order(b))
        case "or":
            return f"(c = {literal(a)} OR c > {literal(b)})", lambda v: order(v) == order(a) or order(v) > order(b)
        case "like" if type_name == "varchar":
            return f"c LIKE '{a}%'", lambda v: v.startswith(a)
    return "c IS NOT NULL", lambda _: True


@pytest.mark.parametrize("type_name", MAKERS)
def test_only_files_without_a_matching_row_are_skipped(type_name: str) -> None:
    rng = random.Random(SEED)
    column = Column(1, "c", type_name)
    table = Table(1, "u", "main", "t", "/t/", (column,), 2)
    dropped = 0
    for _ in range(1500):
        values = [None if rng.random() < 0.2 else MAKERS[type_name](rng) for _ in range(rng.choice([1, 2, 3, 8]))]
        text, holds = condition(rng, type_name)
        nulls = rng.random() < 0.2
        filters = filters_for_condition(f"({text} OR c IS NULL)" if nulls else text, table, "t", Settings())
        interesting = any(nulls if value is None else holds(value) for value in values)
        if filters and all(excluded(each, statistics(values, type_name), type_name) for each in filters):
            assert not interesting, f"seed {SEED}: {text} of {values}"
            dropped += 1
        if type_name in ("int32", "uint8", "int64", "date", "decimal(10,2)", "boolean"):
            _check_buckets(filters, values, holds, nulls, type_name)
    assert dropped > 50


def _check_buckets(filters: Any, values: list[Any], holds: Callable[[Any], bool], nulls: bool, type_name: str) -> None:
    for value in values:
        plain = None if value is None else plain_value(value, type_name)
        key = KeyValue(1, "bucket(3)", None if plain is None else str(bucket(plain, type_name, 3)))
        if any(excluded_by_partition(each, [key], type_name, retyped=False) for each in filters):
            assert not (nulls if value is None else holds(value)), f"seed {SEED}"


@pytest.mark.parametrize(
    "parts", [("year",), ("year", "month"), ("year", "month", "day"), ("year", "month", "day", "hour"), ("month", "year")]
)
def test_calendar_parts_bound_a_timestamp(parts: tuple[str, ...]) -> None:
    rng = random.Random(SEED)
    table = Table(1, "u", "main", "t", "/t/", (Column(1, "c", "timestamp"),), 2)
    dropped = 0
    for _ in range(500):
        value = dt.datetime(2022, 12, 30) + dt.timedelta(hours=rng.randrange(24 * 800), microseconds=rng.choice([0, 3_599_999_999]))
        keys = [KeyValue(1, part, str(getattr(value, part))) for part in parts]
        bound = dt.datetime(2022, 12, 30) + dt.timedelta(hours=rng.randrange(24 * 800))
        text, holds = rng.choice(
            [(f"c < '{bound}'", value < bound), (f"c >= '{bound}'", value >= bound), (f"c = '{bound}'", value == bound)]
        )
        (filter_,) = filters_for_condition(text, table, "t", Settings())
        if excluded_by_partition(filter_, keys, "timestamp", retyped=False):
            assert not holds, f"seed {SEED}: {text} of {value}"
            dropped += 1
    assert dropped > 50


def test_calendar_parts_of_nanoseconds_before_1970_may_be_those_of_the_next_microsecond() -> None:
    """DuckDB rounds a TIMESTAMP_NS towards 1970: the year of 1969-12-31 23:59:59.999999001 is 1970."""
    for value, excludes in (("1969-12-31 23:59:59.999999001", False), ("1969-12-31 23:59:59.999999000", True)):
        filter_ = ColumnFilter.between(1, value, value)
        assert excluded_by_partition(filter_, [KeyValue(1, "year", "1970")], "timestamp_ns", retyped=False) is excludes
        assert excluded_by_partition(filter_, [KeyValue(1, "year", "1970")], "timestamp", retyped=False)


def point(value: str) -> ColumnFilter:
    return ColumnFilter.between(1, value, value)


def test_an_identity_value_is_the_value_of_all_rows() -> None:
    assert excluded_by_partition(point("5"), [KeyValue(1, "identity", "6")], "int32", retyped=False)
    assert not excluded_by_partition(point("5"), [KeyValue(1, "identity", "5")], "int32", retyped=False)
    assert excluded_by_partition(point("5"), [KeyValue(1, "identity", None)], "int32", retyped=False)
    assert not excluded_by_partition(ColumnFilter(1, nulls=True), [KeyValue(1, "identity", None)], "int32", retyped=False)
    assert excluded_by_partition(ColumnFilter(1, nulls=True), [KeyValue(1, "identity", "5")], "int32", retyped=False)
    assert not excluded_by_partition(point(""), [KeyValue(1, "identity", None)], "varchar", retyped=False), "some write '' as NULL"


@pytest.mark.parametrize(
    ("key", "type_name", "retyped"),
    [
        (KeyValue(1, "identity", "6"), "int32", True),
        (KeyValue(1, "bucket(4)", "9"), "int32", True),
        (KeyValue(1, "bucket(4)", "9"), "float64", False),
        (KeyValue(1, "month", "6"), "timestamp", False),
        (KeyValue(1, "year", "2001"), "timestamptz", False),
        (KeyValue(1, "year", None), "timestamp", False),
        (KeyValue(1, "year", "-44"), "timestamp", False),
        (KeyValue(1, "hour", "3"), "time", False),
        (KeyValue(2, "identity", "6"), "int32", False),
    ],
)
def test_partition_values_that_prove_nothing(key: KeyValue, type_name: str, retyped: bool) -> None:
    value = {"float64": "5.0", "int32": "5"}.get(type_name, "2024-01-01 00:00:00")
    assert not excluded_by_partition(point(value), [key], type_name, retyped=retyped)


def test_conditions_that_a_bucket_cannot_decide() -> None:
    assert not excluded_by_partition(ColumnFilter.between(1, "5", "6"), [KeyValue(1, "bucket(4)", "9")], "int32", retyped=False)
    assert excluded_by_partition(point("5"), [KeyValue(1, "bucket(4)", "9")], "int32", retyped=False)
    for type_name in ("uint32", "decimal(20,0)"):  # DuckDB's buckets of these types may be wrong
        assert not excluded_by_partition(point("5"), [KeyValue(1, "bucket(4)", "9")], type_name, retyped=False)
    for type_name, text in (
        ("int64", "99999999999999999999"),
        ("int32", "-9223372036854775809"),
        ("decimal(18,2)", "99999999999999999999.00"),
    ):
        assert not excluded_by_partition(point(text), [KeyValue(1, "bucket(4)", "9")], type_name, retyped=False), "no number of 64 bits"
    assert excluded_by_partition(point("-9223372036854775808"), [KeyValue(1, "bucket(4)", "9")], "int64", retyped=False)
    mixed = ColumnFilter(1, (ColumnRange(1, "5", "5"), ColumnRange(1, "7", None)))
    assert not excluded_by_partition(mixed, [KeyValue(1, "bucket(4)", "9")], "int32", retyped=False)


def test_null_counts_are_used_only_if_every_writer_counts_them() -> None:
    nulls = ColumnFilter(1, nulls=True)
    none = ColumnStats(1, value_count=3, null_count=0)
    assert excluded(nulls, none, "int32")
    assert excluded(nulls, none, "uuid")
    for type_name in ("timetz", "interval", "variant", "geometry", "time_ns"):
        assert not excluded(nulls, none, type_name)
    assert not excluded(nulls, ColumnStats(1, value_count=3, null_count=None), "int32")
    assert excluded(ColumnFilter(1, (ColumnRange(1),)), ColumnStats(1, value_count=0, null_count=4), "int32")
    assert not excluded(ColumnFilter(1, (ColumnRange(1),)), ColumnStats(1, value_count=0, null_count=0), "timetz")


def test_the_smallest_float32_is_found_by_its_double() -> None:
    stats = ColumnStats(1, None, 1, 0, "1e-45", "1e-45", False)
    assert not excluded(ColumnFilter.between(1, "1.3e-45", None), stats, "float32")


@pytest.mark.parametrize("type_name", ["timestamp_s", "timestamp_ms", "timestamp"])
def test_a_part_of_a_date_includes_the_value_that_its_last_moment_is_rounded_to(type_name: str) -> None:
    keys = [KeyValue(1, "year", "1969")]
    for first, is_left_out in (("1970-01-01 00:00:00", False), ("1970-01-01 00:00:01.1", True)):
        filter_ = ColumnFilter(1, (ColumnRange(1, first, None),))
        assert excluded_by_partition(filter_, keys, type_name, retyped=False) == is_left_out
