"""The texts of literal defaults, which DuckDB casts when it loads a catalog."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.default_texts import blob_text, changed_default_text, default_text
from tests.duckdb_instances import open_duckdb

TEXTS = [
    ("boolean", "BOOLEAN", " true ", "true"),
    ("boolean", "BOOLEAN", "Yes", "true"),
    ("boolean", "BOOLEAN", "n", "false"),
    ("int32", "INTEGER", " +5 ", "5"),
    ("int128", "HUGEINT", "1e20", "100000000000000000000"),
    ("decimal(10,2)", "DECIMAL(10,2)", "1e2", "100"),
    ("decimal(10,2)", "DECIMAL(10,2)", "1.555", "1.555"),
    ("float64", "DOUBLE", "Infinity", "inf"),
    ("float64", "DOUBLE", " NaN", "nan"),
    ("float64", "DOUBLE", "1.50", "1.50"),
    ("date", "DATE", "2020-1-1", "2020-01-01"),
    ("date", "DATE", "44-03-15 (BC)", "0044-03-15 (BC)"),
    ("date", "DATE", "-infinity", "-infinity"),
    ("time", "TIME", "1:02", "01:02:00"),
    ("timestamp", "TIMESTAMP", "2020-01-01", "2020-01-01"),
    ("timestamp", "TIMESTAMP", "2020-01-01T00:00:00", "2020-01-01T00:00:00"),
    ("timestamp", "TIMESTAMP", "2020-01-01 00:00", "2020-01-01 00:00:00"),
    ("timestamp", "TIMESTAMP", "2020-01-01 00:00:00+01", "2020-01-01 00:00:00"),
    ("timestamp", "TIMESTAMP", "infinity", "infinity"),
    ("timestamp_ns", "TIMESTAMP_NS", "2020-01-01 00:00:00.000000001", "2020-01-01 00:00:00.000000001"),
    ("timestamptz", "TIMESTAMPTZ", "2020-01-01 00:00Z", "2020-01-01 00:00:00+00"),
    ("timestamptz", "TIMESTAMPTZ", "2020-01-01 00:00:00+0130", "2019-12-31 22:30:00+00"),
    ("timestamptz", "TIMESTAMPTZ", "2020-01-01", "2020-01-01"),
    ("blob", "BLOB", "é\\xGG'\\xAB", "\\xC3\\xA9\\x5CxGG\\x27\\xAB"),
    ("varchar", "VARCHAR", " x ", " x "),
]
"""DuckLake's type, DuckDB's type, the text that is written, and the text that is stored."""


@pytest.mark.parametrize(("type_", "duckdb", "written", "stored"), TEXTS)
def test_the_stored_text_is_one_that_duckdb_reads_and_stays(type_: str, duckdb: str, written: str, stored: str) -> None:
    assert default_text(type_, written) == stored
    assert default_text(type_, stored) == stored
    with open_duckdb() as duck:
        assert duck.execute(f"SELECT CAST(? AS {duckdb}) IS NOT NULL", [stored]).fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("boolean", "maybe"),
        ("int32", "1.5"),
        ("date", "9999999-01-01"),
        ("timestamp", "300000-01-01"),
        ("timestamp", "290309-01-01 (BC)"),
        ("timestamp_ns", "12020-01-01"),
        ("timestamp_ns", "1677-01-01 00:00:00"),
    ],
)
def test_a_value_that_duckdb_does_not_have_is_refused(type_: str, text: str) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        default_text(type_, text)


@pytest.mark.parametrize(
    ("old", "new", "text", "expected"),
    [
        ("boolean", "int32", "yes", "1"),
        ("boolean", "uint8", "FALSE", "0"),
        ("int32", "int64", " 5 ", "5"),
        ("date", "timestamp", "2020-1-1", "2020-01-01 00:00:00"),
        ("varchar", "json", ' {"a": 1}', ' {"a": 1}'),
    ],
)
def test_a_default_is_converted_when_the_type_changes(old: str, new: str, text: str, expected: str) -> None:
    assert changed_default_text(old, new, text) == expected


def test_a_blob_has_duckdbs_escapes() -> None:
    with open_duckdb() as duck:
        (row,) = duck.execute("SELECT ?::BLOB::VARCHAR", [bytes(range(256))]).fetchall()
    assert row == (blob_text(bytes(range(256))),)
