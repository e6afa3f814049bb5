"""Column statistics: the texts of bounds, how they are merged, and what they prove."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from dbt.adapters.ducklake.format.files import ColumnRange, ColumnStats
from dbt.adapters.ducklake.format.statistics import decode, encode, encode_bounds, merge_bounds, merge_stats, outside
from dbt.adapters.ducklake.format.variant_stats import Part, parts_json, parts_of

UTC = dt.timezone.utc
TEXTS = [
    ("boolean", True, "1"),
    ("int8", -128, "-128"),
    ("uint64", 2**64 - 1, "18446744073709551615"),
    ("uint64", Decimal(2**64 - 1), "18446744073709551615"),
    ("float64", 1.0, "1.0"),
    ("float64", 3, "3.0"),
    ("float64", 1e-300, "1e-300"),
    ("float64", 1e16, "1e+16"),
    ("float64", 1e15, "1000000000000000.0"),
    ("float64", float("-inf"), "-inf"),
    ("float64", -0.0, "-0.0"),
    ("float64", float("nan"), None),
    ("float32", 0.10000000149011612, "0.1"),
    ("float32", 123456792.0, "123456790.0"),
    ("decimal(10,2)", Decimal("-1"), "-1.00"),
    ("decimal(10,2)", 5, "5.00"),
    ("decimal(5,5)", Decimal("-0.5"), "-.50000"),
    ("decimal(38,10)", Decimal("-12345678901234567890.5"), "-12345678901234567890.5000000000"),
    ("date", dt.date(1, 1, 1), "0001-01-01"),
    ("time", dt.time(23, 59, 59, 500000), "23:59:59.5"),
    ("timestamp", dt.datetime(2020, 1, 2, 3, 4, 5, 600000), "2020-01-02 03:04:05.6"),
    ("timestamptz", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2020-01-02 01:04:05+00"),
    ("varchar", "ä", "ä"),
    ("varchar", "x\0y", None),
    ("blob", b"\xaa\0b", "AA0062"),
    ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    ("int128", 5, None),
    ("variant", "{}", None),
]


@pytest.mark.parametrize(("type_name", "value", "text"), TEXTS)
def test_a_value_has_the_text_that_duckdb_writes(type_name: str, value: object, text: str | None) -> None:
    assert encode(value, type_name) == text


@pytest.mark.parametrize(
    ("type_name", "plain", "text"),
    [
        ("date", -735599, "0045-01-01 (BC)"),
        ("date", -719163, "0001-12-31 (BC)"),
        ("date", 2932897, "10000-01-01"),
        ("date", 2**31 - 1, "infinity"),
        ("timestamp", -63517780800000000 * 1000, "0044-03-15 (BC) 12:00:00"),
        ("timestamp", 327403382400 * 10**9 + 1000, "12345-01-01 00:00:00.000001"),
        ("timestamp", (2**63 - 1) * 1000, "infinity"),
        ("time", 86_400 * 10**9, "24:00:00"),
        ("timestamp_ns", 1, "1970-01-01 00:00:00.000000001"),
    ],
)
def test_timestamps_beyond_pythons_calendar_are_read_back(type_name: str, plain: int, text: str) -> None:
    low, high = encode_bounds(type_name, plain, plain)
    assert low == high
    assert decode(type_name, text) == plain
    assert low == text


def test_long_texts_are_cut_between_characters_and_the_upper_bound_is_greater() -> None:
    assert encode_bounds("varchar", b"a" * 300, b"b" * 300) == ("a" * 256, "b" * 255 + "c")
    assert encode_bounds("varchar", ("a" * 255 + "ö").encode(), b"b") == ("a" * 255, "b")
    least, greatest = encode_bounds("varchar", b"a", ("ä" * 100 + "z" * 100).encode())
    assert (least, greatest) == ("a", "ä" * 100 + "z" * 55 + "{")


def test_a_text_without_a_short_upper_bound_leaves_both_bounds_open() -> None:
    assert encode_bounds("varchar", b"a", ("ö" * 200).encode()) == (None, None)
    assert encode_bounds("blob", b"a", b"\xff" * 300) == (None, None)


def test_bounds_of_coarse_timestamps_include_what_duckdb_rounds_to() -> None:
    nanos = 1_600_000_000
    assert encode_bounds("timestamp_s", nanos, nanos) == ("1970-01-01 00:00:01", "1970-01-01 00:00:02")


def test_bounds_are_compared_as_values_of_their_type() -> None:
    assert merge_bounds("int32", ("9", "9"), ("10", "10")) == ("9", "10")
    assert merge_bounds("varchar", ("9", "9"), ("10", "10")) == ("10", "9")
    assert merge_bounds("boolean", ("0", "0"), ("true", "true")) == ("0", "true")
    assert merge_bounds("float64", ("-inf", "1.0"), ("1e-05", "inf")) == ("-inf", "inf")
    assert merge_bounds("date", ("0044-03-15 (BC)", "2020-01-01"), ("0001-01-01", "12345-01-01")) == ("0044-03-15 (BC)", "12345-01-01")
    assert merge_bounds("blob", ("AA", "AA"), ("0B", "FF")) == ("0B", "FF")


def test_an_unknown_bound_makes_the_union_unknown() -> None:
    assert merge_bounds("int32", (None, "9"), ("10", "10")) == (None, "10")
    assert merge_bounds("int32", ("x", "9"), ("10", "10")) == (None, "10")


def test_a_side_without_values_does_not_change_the_bounds() -> None:
    empty = ColumnStats(1, 10, value_count=0, null_count=5)
    full = ColumnStats(1, 20, value_count=2, null_count=0, min_value="1", max_value="2")
    for merged in (merge_stats("int32", empty, full), merge_stats("int32", full, empty)):
        assert merged == ColumnStats(1, 30, 2, 5, "1", "2")


def test_a_file_is_skipped_only_if_its_bounds_prove_it() -> None:
    stats = ColumnStats(1, value_count=3, null_count=0, min_value="10", max_value="20")
    assert outside(ColumnRange(1, "21", None), stats, "int32")
    assert outside(ColumnRange(1, None, "9"), stats, "int32")
    assert not outside(ColumnRange(1, "20", "30"), stats, "int32")
    assert not outside(ColumnRange(1, "9", None), stats, "int32")
    assert not outside(ColumnRange(1, "21", None), ColumnStats(1, value_count=3), "int32")
    assert outside(ColumnRange(1, "21", None), ColumnStats(1, value_count=0), "int32")
    assert not outside(ColumnRange(1), ColumnStats(1, value_count=0), "int32")


@pytest.mark.parametrize(
    ("type_name", "bound", "low", "high"),
    [
        ("timestamp_s", "2020-01-02 03:04:05.7", "2020-01-02 03:04:05", "2020-01-02 03:04:06"),
        ("timestamp_ms", "2020-01-02 03:04:05.0007", "2020-01-02 03:04:05", "2020-01-02 03:04:05.001"),
        ("timestamp", "1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"),
        ("timestamptz", "1969-12-31 23:59:59.999999999+00", "1969-12-31 23:59:59.999999+00", "1970-01-01 00:00:00+00"),
    ],
)
def test_a_file_with_finer_timestamps_is_kept_for_the_values_that_they_are_rounded_to(
    type_name: str, bound: str, low: str, high: str
) -> None:
    stats = ColumnStats(1, value_count=1, null_count=0, min_value=bound, max_value=bound)  # DuckDB adds a file with its exact bounds
    assert not outside(ColumnRange(1, high, high), stats, type_name)
    assert not outside(ColumnRange(1, low, low), stats, type_name)
    assert outside(ColumnRange(1, None, "1960-01-01 00:00:00+00"), stats, type_name)
    assert outside(ColumnRange(1, "2020-01-02 03:04:07+00", None), stats, type_name)


def test_counts_that_duckdb_does_not_maintain_prove_nothing() -> None:
    assert not outside(ColumnRange(1, "01:00:00", None), ColumnStats(1, value_count=0, null_count=0), "timetz")


def test_a_value_count_of_zero_with_bounds_proves_nothing() -> None:
    wrong = ColumnStats(1, value_count=0, null_count=3, min_value="7", max_value="7")
    assert not outside(ColumnRange(1, "7", "7"), wrong, "uint8")
    assert merge_stats("uint8", wrong, ColumnStats(1, 0, 1, 0, "9", "9")).min_value == "7"


def test_nan_is_greater_than_every_number() -> None:
    stats = ColumnStats(1, value_count=3, min_value="1.0", max_value="2.0", contains_nan=True)
    assert not outside(ColumnRange(1, "5.0", None), stats, "float64")
    assert outside(ColumnRange(1, "5.0", "6.0"), stats, "float64")
    unknown = ColumnStats(1, value_count=3, min_value="1.0", max_value="2.0")
    assert not outside(ColumnRange(1, "5.0", None), unknown, "float64")


def test_bounds_of_a_float32_include_the_double_it_was_promoted_to() -> None:
    stats = ColumnStats(1, value_count=1, min_value="0.1", max_value="0.1", contains_nan=False)
    as_double = encode(0.10000000149011612, "float64")
    assert not outside(ColumnRange(1, as_double, as_double), stats, "float64")


def test_bounds_from_before_a_promotion_are_used() -> None:
    stats = ColumnStats(1, value_count=1, min_value="2020-01-02", max_value="2020-01-02")
    assert outside(ColumnRange(1, "2020-01-03 00:00:00", None), stats, "timestamp")
    assert not outside(ColumnRange(1, "2020-01-03 00:00:00+00", None), stats, "timestamptz"), "depends on the zone of the reader"


def test_texts_are_compared_by_their_bytes() -> None:
    stats = ColumnStats(1, value_count=1, min_value="a", max_value="z")
    assert not outside(ColumnRange(1, "k", "k"), stats, "varchar")
    assert outside(ColumnRange(1, "ä", "ä"), stats, "varchar")
    assert not outside(ColumnRange(1, "FF", "FF"), stats, "blob"), "blobs have two encodings"


def parts(*found: tuple[str, str, str | None]) -> str | None:
    return parts_json(Part(path, type_name, ColumnStats(7, 10, 2, 0, bound, bound)) for path, type_name, bound in found)


def test_merged_variants_have_the_parts_that_both_have_with_one_type() -> None:
    left = ColumnStats(7, 30, 2, 0, extra_stats=parts(('"a"', "int64", "9"), ('"b"', "varchar", "x"), ('"c"', "int64", "1")))
    right = ColumnStats(7, 30, 2, 0, extra_stats=parts(('"b"', "int64", "5"), ('"a"', "int64", "10"), ('"c"', "int64", None)))
    merged = parts_of(merge_stats("variant", left, right).extra_stats, 7)
    assert merged == (
        Part('"a"', "int64", ColumnStats(7, 20, 4, 0, "9", "10")),
        Part('"c"', "int64", ColumnStats(7, 20, 4, 0, None, None)),
    )


@pytest.mark.parametrize(
    "other", [ColumnStats(7), ColumnStats(7, 0, 0, 3), ColumnStats(7, 0, 3, 0), ColumnStats(7, 0, 3, 0, extra_stats="{")]
)
def test_merging_with_unknown_variants_leaves_no_parts(other: ColumnStats) -> None:
    known = ColumnStats(7, 30, 2, 0, extra_stats=parts(("root", "int64", "9")))
    assert merge_stats("variant", known, other).extra_stats is merge_stats("variant", other, known).extra_stats is None
    nothing = ColumnStats(7, 0, 0, 0)
    assert merge_stats("variant", nothing, known).extra_stats == merge_stats("variant", known, nothing).extra_stats == known.extra_stats


@pytest.mark.parametrize("type_name", ["timestamp", "timestamptz"])
def test_bounds_of_nanoseconds_before_1970_include_the_rounded_value(type_name: str) -> None:
    low, high = encode_bounds(type_name, -1500, -1500)
    assert low is not None
    assert high is not None
    assert (decode(type_name, low), decode(type_name, high)) == (-2000, -1000)
