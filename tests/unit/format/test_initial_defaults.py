"""Initial defaults as Spark SQL literals."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.initial_defaults import initial_literal
from dbt.adapters.ducklake.format.objects import Column


@pytest.mark.parametrize(
    ("type_", "text", "literal"),
    [
        ("boolean", "t", "TRUE"),
        ("int8", "-5", "-5Y"),
        ("uint32", "4000000000", "4000000000L"),
        ("uint64", "18000000000000000000", "18000000000000000000BD"),
        ("decimal(10,2)", "1.50", "1.50BD"),
        ("decimal(10,2)", "1E3", "1000BD"),
        ("float64", "15000000000.0", "15000000000.0D"),
        ("float32", "nan", "CAST('NaN' AS FLOAT)"),
        ("float64", "-inf", "CAST('-Infinity' AS DOUBLE)"),
        ("varchar", "it's \\ so", "'it\\'s \\\\ so'"),
        ("varchar", " x ", "' x '"),
        ("date", "2020-01-01", "DATE'2020-01-01'"),
        ("timestamp", "2020-01-01 10:00:00.5", "TIMESTAMP_NTZ'2020-01-01 10:00:00.5'"),
        ("timestamptz", "2020-01-01 10:00:00+02", "TIMESTAMP'2020-01-01 08:00:00Z'"),
        ("timestamptz", "2020-01-01 10:00:00", "TIMESTAMP'2020-01-01 10:00:00Z'"),
        ("date", "infinity", "DATE'+5881580-07-11'"),
        ("date", "0044-03-15 (BC)", "DATE'-0043-03-15'"),
        ("timestamp", "-infinity", "TIMESTAMP_NTZ'-290308-12-21 19:59:05.224193'"),
        ("timestamp_ns", "2020-01-01 00:00:00.000000001", "'2020-01-01 00:00:00.000000001'"),
        ("geometry", "POINT (1 2)", "X'0101000000000000000000F03F0000000000000040'"),
        ("blob", "\\xAA'b", "X'AA2762'"),
        ("uuid", "B4B6FA2E-1111-2222-3333-444455556666", "'b4b6fa2e-1111-2222-3333-444455556666'"),
    ],
)
def test_literals(type_: str, text: str, literal: str) -> None:
    assert initial_literal(Column(1, "c", type_, initial_default=text)) == literal


def test_a_column_without_a_default_has_no_literal() -> None:
    assert initial_literal(Column(1, "c", "int32")) is None


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("int32", "x"),
        ("time", "24:00:00"),
        ("int128", "170141183460469231731687303715884105727"),
        ("geometry", "POINT (1"),
        ("list", "[1]"),
        ("int32", "1) OR (1=1"),
        ("date", "2020-01-01' OR '"),
    ],
)
def test_a_value_that_spark_cannot_represent_is_refused(type_: str, text: str) -> None:
    with pytest.raises(LakeError, match="column c"):
        initial_literal(Column(1, "c", type_, initial_default=text))
