"""The texts of literal defaults, which DuckDB casts when it loads a catalog."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dbt.adapters.ducklake.format.default_texts import blob_text, changed_default_text, default_text, readable_default
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
    ("type_", "duckdb", "text", "repaired"),
    [
        ("decimal(10,10)", "DECIMAL(10,10)", "1E-7", "0.0000001000"),
        ("decimal(4,2)", "DECIMAL(4,2)", "300e-2", "3.00"),
        ("decimal(3,2)", "DECIMAL(3,2)", "-9949e-3 ", "-9.95"),
        ("decimal(3,2)", "DECIMAL(3,2)", "0.01e2", "1.00"),
        ("decimal(5,2)", "DECIMAL(5,2)", "1e-40000", "0.00"),
        ("int128", "HUGEINT", f"0.{'4' * 40}", "0"),
        ("int128", "HUGEINT", f"-0.{'5' * 39}", "-1"),
        ("int128", "HUGEINT", f"{2**127}e-1", "17014118346046923173168730371588410573"),
        ("uint128", "UHUGEINT", f"1.{'5' * 40}e3", "1556"),
        ("int64", "BIGINT", "43090240379792449712e-8", "430902403798"),
        ("uint64", "UBIGINT", f"{2**64}e-19", "2"),
        ("uint8", "UTINYINT", f"{2**63}e-17", "92"),
        ("uint16", "USMALLINT", "0.9180763150626281322e0", "1"),
        ("int32", "INTEGER", "0e32768", "0"),
    ],
)
def test_a_number_with_parts_that_duckdb_does_not_read_is_replaced(type_: str, duckdb: str, text: str, repaired: str) -> None:
    assert readable_default(type_, text) == repaired
    assert readable_default(type_, repaired) == repaired
    with open_duckdb() as duck:
        query = f"SELECT TRY_CAST(? AS {duckdb}), CAST(? AS {duckdb})"
        assert duck.execute(query, [text, repaired]).fetchall() == [(None, Decimal(repaired))]


@pytest.mark.parametrize(
    ("type_", "duckdb", "text"),
    [
        *(("decimal(10,10)", "DECIMAL(10,10)", text) for text in ("0.5e-3", "0e-18", "0e5", f"0.{'4' * 40}")),
        *(("decimal(5,2)", "DECIMAL(5,2)", text) for text in ("1.23456e2", "0.01e3", "999e-2", "1_00e-1_0", "+1E+2", "1e-32768")),
        *(("int8", "TINYINT", text) for text in ("300e-2", f"{2**63 - 1}e-17", f"{-(2**63)}e-17", f"1.{'4' * 40}", f"1.{'1' * 18}e2")),
        ("uint64", "UBIGINT", f"{2**64 - 1}e-1"),
        *(("int128", "HUGEINT", text) for text in (f"0.{'4' * 38}", f"{2**127 - 1}e-1", f"{-(2**127)}e-38")),
        *(("float64", "DOUBLE", text) for text in (f"0.{'4' * 40}", "1e-40000")),
    ],
)
def test_a_number_with_readable_parts_is_kept(type_: str, duckdb: str, text: str) -> None:
    assert readable_default(type_, text) == text
    with open_duckdb() as duck:
        assert duck.execute(f"SELECT CAST(? AS {duckdb}) IS NOT NULL", [text]).fetchall() == [(True,)]


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
