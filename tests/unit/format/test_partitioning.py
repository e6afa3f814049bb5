"""Partition keys: names, texts of values, directories, buckets."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import mmh3
import pytest

from dbt.adapters.ducklake.errors import LakeError, StatementError
from dbt.adapters.ducklake.format.buckets import bucket, hashed_bytes
from dbt.adapters.ducklake.format.objects import Column, PartitionField
from dbt.adapters.ducklake.format.partitioning import check_transform, directory, key_columns, key_names, value_text
from dbt.adapters.ducklake.format.statistics import plain_value

DAY = Column(1, "Day", "date")
YEAR = Column(2, "year", "int32")
SEEN = Column(3, "seen", "timestamptz")


def test_a_key_is_named_by_its_column_or_transform_and_by_both_if_names_collide() -> None:
    assert key_names([YEAR, DAY], [PartitionField(2), PartitionField(1, "month")]) == ["year", "month"]
    assert key_names([YEAR, DAY], [PartitionField(2), PartitionField(1, "year")]) == ["year", "year_Day"]
    assert key_names([DAY, SEEN], [PartitionField(1, "day"), PartitionField(3, "day")]) == ["day_Day", "day_seen"]
    assert key_names([YEAR], [PartitionField(2, "bucket(4)")]) == ["bucket"]


def test_null_and_the_empty_string_have_different_directories() -> None:
    assert directory(["k"], [None]) == "k=__HIVE_DEFAULT_PARTITION__/"
    assert directory(["k"], [""]) == "k=/"
    assert directory(["a b", "c"], ["ä/=%", "1"]) == "a%20b=%C3%A4%2F%3D%25/c=1/"


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        ("boolean", True, "true"),
        ("float64", float("nan"), "nan"),
        ("decimal(10,2)", 150, "1.50"),
        ("int128", 7, "7"),
        ("timestamptz", 0, "1970-01-01 00:00:00+00"),
        ("varchar", b"", ""),
        ("blob", b"a\0", "a\\x00"),
        ("int32", None, None),
    ],
)
def test_the_value_of_a_key_is_duckdbs_text(type_name: str, value: object, text: str | None) -> None:
    assert value_text(type_name, value) == text  # type: ignore[arg-type]


def test_a_transform_needs_a_column_of_a_supported_type() -> None:
    check_transform(DAY, "hour")
    check_transform(YEAR, "bucket(3)")
    with pytest.raises(StatementError, match=r"month\(year\) needs a date"):
        check_transform(YEAR, "month")
    with pytest.raises(StatementError, match="truncate is not a way to partition"):
        check_transform(YEAR, "truncate")
    with pytest.raises(StatementError, match="cannot be partitioned by l"):
        check_transform(Column(4, "l", "list", (Column(5, "element", "int32"),)), "identity")


def test_a_key_of_a_dropped_column_raises_a_lake_error() -> None:
    with pytest.raises(LakeError, match="column id 9"):
        key_columns([DAY], [PartitionField(9)])


@pytest.mark.parametrize(
    ("type_name", "value", "hashed"),
    [
        ("int32", 34, 2017239379),
        ("varchar", "iceberg", 1210000089),
        ("date", dt.date(2017, 11, 16), -653330422),
        ("timestamp", dt.datetime(2017, 11, 16, 22, 31, 8), -2047944441),
        ("time", dt.time(22, 31, 8), -662762989),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", 980414783),
        ("decimal(9,2)", Decimal("14.20"), -622427183),
        ("boolean", True, 1392991556),
        ("float64", 1.0, -142385009),
        ("blob", bytes([0, 1, 2, 3]), -188683207),
        ("uint64", 5, 1394226660),
    ],
)
def test_the_hash_of_a_bucket_follows_the_specification(type_name: str, value: object, hashed: int) -> None:
    plain = plain_value(value, type_name)
    assert plain is not None
    assert mmh3.hash(hashed_bytes(plain, type_name)) == hashed
    assert bucket(plain, type_name, 16) == (hashed & 0x7FFFFFFF) % 16
