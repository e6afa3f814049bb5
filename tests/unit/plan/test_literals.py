"""Constants are converted to the types of columns as Spark does; whatever is an error or uncertain is left to Spark."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from dbt.adapters.ducklake.format.datatype import Field
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.format.types import assign_ids, parse_type
from dbt.adapters.ducklake.plan.literals import Clock, NeedsSparkError, can_store, column_values
from dbt.adapters.ducklake.sql.constants import constant_rows

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)


def column(kind: str) -> Column:
    return assign_ids([Field("c", parse_type(kind))], 1)[0]


def values(kind: str, *written: str, utc: bool = True) -> list[Any]:
    rows = constant_rows(f"VALUES {', '.join(f'({each})' for each in written)}")
    assert rows is not None
    return column_values([row[0] for row in rows], column(kind), Clock(NOW, utc))


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        ("INT", "127Y", 127),
        ("DOUBLE", "0.1", 0.1),
        ("FLOAT", "0.1", 0.10000000149011612),
        ("DECIMAL(5,1)", "1.25", Decimal("1.3")),
        ("DECIMAL(5,1)", "-1.25", Decimal("-1.3")),
        ("DECIMAL(5,1)", "'-0.01'", Decimal("0.0")),
        ("STRING", "1", "1"),
        ("STRING", "true", "true"),
        ("BOOLEAN", "'False'", False),
        ("DATE", "'2020-02-29'", date(2020, 2, 29)),
        ("DATE", "now()", date(2026, 1, 2)),
        ("TIMESTAMP", "'2020-01-02T03:04:05.6+02:00'", datetime(2020, 1, 2, 1, 4, 5, 600000, timezone.utc)),
        ("TIMESTAMP", "current_date", datetime(2026, 1, 2, tzinfo=timezone.utc)),
        ("TIMESTAMP_NTZ", "'2020-01-02 03:04:05'", datetime(2020, 1, 2, 3, 4, 5)),
        ("TIMESTAMP_NTZ", "current_timestamp()", NOW.replace(tzinfo=None)),
    ],
)
def test_a_value_is_converted(kind: str, written: str, expected: object) -> None:
    assert values(kind, written, "NULL") == [expected, None]
    assert repr(values(kind, written)[0]) == repr(expected)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        *(("TINYINT", "128"), ("INT", "1.0"), ("INT", "'1.0'"), ("INT", "' 1'"), ("INT", "true"), ("INT", "CAST(NULL AS DATE)")),
        *(("DECIMAL(3,1)", "99.95"), ("DECIMAL(3,1)", "1e0"), ("FLOAT", "16777217.0"), ("FLOAT", "1e39"), ("DOUBLE", "'-0'")),
        *(("DOUBLE", "9007199254740993"), ("STRING", "1.5"), ("STRING", "1e0"), ("STRING", "now()"), ("BOOLEAN", "'t'"), ("BOOLEAN", "1")),
        *(("DATE", "'2020-02-30'"), ("DATE", "'2020-1-1'"), ("DATE", "'2020-01-01 00:00:00'"), ("DATE", "'0000-01-01'"), ("BINARY", "'a'")),
        *(
            ("TIMESTAMP", "'2020-01-01 24:00:00'"),
            ("TIMESTAMP", "'2020-01-01 00:00:00+19:00'"),
            ("TIMESTAMP", "'0001-01-01 00:00:00+02:00'"),
        ),
        *(
            ("TIMESTAMP", "'2020-01-01 00:00:00.1234567'"),
            ("TIMESTAMP", "'now'"),
            ("TIMESTAMP", "1"),
            ("TIMESTAMP_NTZ", "'2020-01-01 00:00:00Z'"),
        ),
    ],
)
def test_an_uncertain_value_is_left_to_spark(kind: str, written: str) -> None:
    with pytest.raises(NeedsSparkError):
        values(kind, written)


def test_values_of_several_types_are_converted_if_the_common_type_keeps_them() -> None:
    assert values("DECIMAL(10,2)", "1", "2.345", "3L") == [Decimal("1.00"), Decimal("2.35"), Decimal("3.00")]
    assert values("DOUBLE", "1", "0.1") == [1.0, 0.1]
    for kind, written in [("STRING", ("1", "2L")), ("STRING", ("'a'", "1")), ("INT", ("1", "'2'")), ("DOUBLE", ("1", "1e0"))]:
        with pytest.raises(NeedsSparkError):
            values(kind, *written)
    with pytest.raises(NeedsSparkError):
        values("DOUBLE", "1234567890123456789012345678901234567", "0.01")


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("TIMESTAMP", "'2020-01-01'"),
        ("TIMESTAMP", "DATE '2020-01-01'"),
        ("DATE", "now()"),
        ("DATE", "current_date"),
        ("TIMESTAMP_NTZ", "now()"),
    ],
)
def test_local_times_of_another_zone_are_left_to_spark(kind: str, written: str) -> None:
    with pytest.raises(NeedsSparkError):
        values(kind, written, utc=False)


def test_instants_do_not_depend_on_the_zone() -> None:
    assert values("TIMESTAMP", "now()", utc=False) == [NOW]
    assert values("TIMESTAMP", "'2020-01-01 00:00:00Z'", utc=False) == [datetime(2020, 1, 1, tzinfo=timezone.utc)]


@pytest.mark.parametrize("kind", ["UUID", "JSON", "TIMESTAMP_S", "UINTEGER", "HUGEINT", "TIME", "ARRAY<INT>", "STRUCT<a: INT>", "VARIANT"])
def test_types_with_further_rules_are_left_to_spark(kind: str) -> None:
    assert not can_store(column(kind))
