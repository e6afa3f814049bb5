"""A literal DEFAULT is the same value in new rows, in rows that are older than the column, and for DuckDB."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.format.identifiers import duckdb_literal
from dbt.adapters.ducklake.session import LakeSession
from tests.interop.conftest import Both, comparable, comparable_rows

CATALOGS = ["sqlite"]
"""The result does not depend on the catalog database."""

UTC = dt.timezone.utc


def add_columns_to_a_row(execute: Callable[[str], object], definitions: Iterable[str]) -> None:
    """Create a table `t` with the row a = 1, and add columns c0, c1, … with the given types and defaults."""
    execute("CREATE TABLE t (a INT)")
    execute("INSERT INTO t VALUES (1)")
    for number, definition in enumerate(definitions):
        execute(f"ALTER TABLE t ADD COLUMN c{number} {definition}")


DECIMALS = [
    ("DECIMAL(10, 1)", "1.25", Decimal("1.3")),
    ("DECIMAL(10, 1)", "-1.25", Decimal("-1.3")),
    ("DECIMAL(38, 2)", "12345678901234567890123456789012345.125", Decimal("12345678901234567890123456789012345.13")),
]


def test_a_decimal_is_rounded_like_the_values_of_new_rows(both: Both) -> None:
    add_columns_to_a_row(both.spark, (f"{kind} DEFAULT {default}" for kind, default, _ in DECIMALS))
    both.spark("INSERT INTO t (a) VALUES (2)")

    expected = [tuple(value for _, _, value in DECIMALS)] * 2
    assert both.duck.execute("SELECT * EXCLUDE (a) FROM t ORDER BY a").fetchall() == expected
    assert both.session.execute("SELECT * EXCEPT (a) FROM t ORDER BY a").fetch() == expected


DEFAULTS = [
    ("BLOB", "\\xAB'z", "hex({})"),
    ("BLOB", "plain", "hex({})"),
    ("DATE", "infinity", "CAST({} AS VARCHAR)"),
    ("DATE", "0044-03-15 (BC)", "CAST({} AS VARCHAR)"),
    ("DATE", "2020-01-01", "CAST({} AS VARCHAR)"),
    ("TIMESTAMP", "-infinity", "CAST({} AS VARCHAR)"),
    ("TIMESTAMP", "0044-03-15 (BC) 10:00:00", "CAST({} AS VARCHAR)"),
    ("TIMESTAMP_S", "2020-01-01 10:00:01", "CAST({} AS VARCHAR)"),
    ("TIMESTAMP_NS", "2020-01-01 10:00:00.000000001", "CAST({} AS VARCHAR)"),
    ("TIMESTAMPTZ", "infinity", "CAST({} AS VARCHAR)"),
    ("TIMESTAMPTZ", "2020-01-01 10:00:00+02", "CAST({} AS VARCHAR)"),
]
"""Type, default, and how DuckDB shows it."""


def test_a_default_of_duckdb_is_the_same_in_old_and_new_rows(both: Both) -> None:
    both.duckdb("SET TimeZone = 'UTC'")
    add_columns_to_a_row(both.duckdb, (f"{kind} DEFAULT {duckdb_literal(text)}" for kind, text, _ in DEFAULTS))
    both.duckdb("INSERT INTO t (a) VALUES (2)")
    both.spark("INSERT INTO t (a) VALUES (3)")
    both.spark("INSERT INTO t (a) SELECT id FROM range(4, 5)")
    both.spark(f"UPDATE t SET {', '.join(f'c{number} = DEFAULT' for number in range(len(DEFAULTS)))} WHERE a = 4")

    shown = ", ".join(show.format(f"c{number}") for number, (_, _, show) in enumerate(DEFAULTS))
    counted = ", ".join(f"count(DISTINCT c{number}), count(c{number})" for number in range(len(DEFAULTS)))
    theirs = both.duck.execute(f"SELECT {shown} FROM t ORDER BY a").fetchall()
    (ours,) = both.session.execute(f"SELECT {counted} FROM t").fetch()
    for number, default in enumerate(DEFAULTS):
        assert [row[number] for row in theirs] == [theirs[0][number]] * 4, default
        assert ours[2 * number : 2 * number + 2] == (1, 4), default


def test_a_doubled_quote_in_a_default_is_a_quote(both: Both) -> None:
    both.spark("CREATE TABLE t (a INTEGER, b STRING DEFAULT 'it''s', c STRING DEFAULT concat('O''Brien', \"a\"\"b\"))")
    both.spark("INSERT INTO t (a) VALUES (1)")
    both.duckdb("INSERT INTO t (a) VALUES (2)")
    assert both.rows("SELECT * FROM t") == [(1, "it's", "O'Briena\"b"), (2, "it's", "O'Briena\"b")]


def test_a_geometry_is_the_same_in_old_and_new_rows(lake: LakeSession) -> None:
    add_columns_to_a_row(lake.execute, ["GEOMETRY DEFAULT 'POINT (1 2)'"])
    lake.execute("INSERT INTO t (a) VALUES (2)")

    found = lake.execute("SELECT hex(c0) FROM t ORDER BY a").fetch()
    assert found == [("0101000000000000000000F03F0000000000000040",)] * 2


def instants(lake: LakeSession, query: str) -> list[Any]:
    return [comparable(row[0]) for row in lake.execute(query).fetch()]


LOCAL_DEFAULTS = [
    ("TIMESTAMP'2020-01-01 00:00:00'", dt.datetime(2019, 12, 31, 23, tzinfo=UTC)),
    ("TIMESTAMP'2020-07-01 00:00:00.25'", dt.datetime(2020, 6, 30, 22, 0, 0, 250000, tzinfo=UTC)),
    ("'2020-01-01'", dt.datetime(2019, 12, 31, 23, tzinfo=UTC)),
    ("TIMESTAMP'2020-01-01 00:00:00Z'", dt.datetime(2020, 1, 1, tzinfo=UTC)),
    ("'2020-01-01 00:00:00+05:00'", dt.datetime(2019, 12, 31, 19, tzinfo=UTC)),
]


def test_a_local_time_is_in_the_zone_of_the_session_that_declares_it(both: Both) -> None:
    both.spark("SET TIME ZONE 'Europe/Berlin'")
    add_columns_to_a_row(both.spark, (f"TIMESTAMP DEFAULT {default}" for default, _ in LOCAL_DEFAULTS))
    both.spark("INSERT INTO t (a) VALUES (2)")
    both.spark("SET TIME ZONE 'UTC'")
    both.spark("INSERT INTO t (a) VALUES (3)")
    both.spark("INSERT INTO t (a) SELECT id FROM range(4, 5)")

    for number, (default, expected) in enumerate(LOCAL_DEFAULTS):
        assert instants(both.session, f"SELECT c{number} FROM t ORDER BY a") == [expected] * 4, default
        theirs = both.duck.execute(f"SELECT c{number} FROM t ORDER BY a").fetchall()
        assert [comparable(row[0]) for row in theirs] == [expected] * 4, default


def test_the_default_of_a_new_table_and_a_changed_default_are_in_the_zone_of_the_session(lake: LakeSession) -> None:
    lake.execute("SET TIME ZONE 'Europe/Berlin'")
    lake.execute("CREATE TABLE t (a INT, ts TIMESTAMP DEFAULT '2020-01-01 00:00:00', n TIMESTAMP_NTZ DEFAULT '2020-01-01 00:00:00')")
    lake.execute("INSERT INTO t (a) VALUES (1)")
    lake.execute("ALTER TABLE t ALTER COLUMN ts SET DEFAULT '2021-01-01 00:00:00'")
    lake.execute("SET TIME ZONE 'UTC'")
    lake.execute("INSERT INTO t (a) VALUES (2)")

    assert instants(lake, "SELECT ts FROM t ORDER BY a") == [
        dt.datetime(2019, 12, 31, 23, tzinfo=UTC),
        dt.datetime(2020, 12, 31, 23, tzinfo=UTC),
    ]
    assert lake.execute("SELECT DISTINCT n FROM t").fetch() == [(dt.datetime(2020, 1, 1),)]


def test_in_utc_the_text_of_a_default_stays_as_it_is_written(both: Both) -> None:
    both.spark("SET TIME ZONE 'UTC'")
    both.spark("CREATE TABLE t (a INT, ts TIMESTAMP DEFAULT '2020-01-01')")

    assert both.duck.execute("SELECT column_default FROM duckdb_columns() WHERE column_name = 'ts'").fetchall() == [("'2020-01-01'",)]


LOCAL = ["2020-01-01 00:00:00", "2020-07-01", "2020-01-01T00:00:00Z", dt.datetime(2020, 1, 1), dt.date(2020, 7, 1), "infinity", None]
BERLIN = [
    dt.datetime(2019, 12, 31, 23, tzinfo=UTC),
    dt.datetime(2020, 6, 30, 22, tzinfo=UTC),
    dt.datetime(2020, 1, 1, tzinfo=UTC),
    dt.datetime(2019, 12, 31, 23, tzinfo=UTC),
    dt.datetime(2020, 6, 30, 22, tzinfo=UTC),
]
GREENWICH = [dt.datetime(2020, month, 1, tzinfo=UTC) for month in (1, 7, 1, 1, 7)]


@pytest.mark.parametrize(("zone", "expected"), [("Europe/Berlin", BERLIN), ("UTC", GREENWICH), ("GMT+1", None), ("+01:00", None)])
def test_local_times_of_a_seed_are_in_the_zone_of_the_session(both: Both, zone: str, expected: list[dt.datetime] | None) -> None:
    both.spark(f"SET TIME ZONE '{zone}'")
    rows = [(number, value, "2020-01-01 00:00:00") for number, value in enumerate(LOCAL)]
    both.session.load_seed("main", "s", [("id", "int"), ("ts", "timestamp"), ("n", "timestamp_ntz")], rows)

    found = instants(both.session, "SELECT ts FROM s WHERE id < 5 ORDER BY id")
    if expected is None:
        found, expected = found[:2], [dt.datetime(2019, 12, 31, 23, tzinfo=UTC), dt.datetime(2020, 6, 30, 23, tzinfo=UTC)]
    assert found == expected
    assert both.duck.execute("SELECT id FROM s WHERE ts = 'infinity' OR ts IS NULL ORDER BY id").fetchall() == [(5,), (6,)]
    assert both.session.execute("SELECT DISTINCT n FROM s").fetch() == [(dt.datetime(2020, 1, 1),)]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "UTC"])
def test_local_times_in_nested_columns_of_a_seed_are_in_the_zone_of_the_session(both: Both, zone: str) -> None:
    both.spark(f"SET TIME ZONE '{zone}'")
    both.duckdb(f"SET TimeZone = '{zone}'")
    columns = [("l", "array<timestamp>"), ("s", "struct<t: timestamp, n: timestamp_ntz>"), ("m", "map<timestamp, array<timestamp>>")]
    summer, winter = "2024-07-01 12:00:00", "2024-01-01 12:00:00"
    texts = f'["{summer}", "{summer}Z", null]', f'{{"t": "2024-01-01", "n": "{winter}"}}', f'{{"{summer}": ["{winter}"]}}'
    both.session.load_seed("main", "s", columns, [texts])
    expected = both.duck.execute(
        f"SELECT [TIMESTAMPTZ '{summer}', TIMESTAMPTZ '{summer}Z', NULL], "
        f"{{'t': TIMESTAMPTZ '2024-01-01', 'n': TIMESTAMP '{winter}'}}, MAP {{TIMESTAMPTZ '{summer}': [TIMESTAMPTZ '{winter}']}}"
    ).fetchall()
    assert comparable_rows(both.duck.execute("SELECT * FROM s").fetchall()) == comparable_rows(expected)


CONSTANTS = [
    ("BIGINT", "bigint(5)", 5),
    ("DECIMAL(9, 0)", "decimal(5)", Decimal(5)),
    ("TIMESTAMP", "timestamp('2020-01-01 00:00:00')", dt.datetime(2020, 1, 1, tzinfo=UTC)),
    ("TIMESTAMP", "CAST('2020-01-01' AS TIMESTAMP_LTZ)", dt.datetime(2020, 1, 1, tzinfo=UTC)),
    ("STRING", "concat_ws('-', array('a'), 'b')", "a-b"),
    ("STRING", "CAST(X'41' AS STRING)", "A"),
    ("BINARY", "X'00FF'", b"\x00\xff"),
    ("BINARY", "CAST('é' AS BINARY)", "é".encode()),
    ("BINARY", "'é'", "é".encode()),
    ("BOOLEAN", "' true '", True),
    ("INT", "CAST(NULL AS INT)", None),
    ("INT", "1 + 2", 3),
    ("INT", "7 / 2", 3),
    ("BIGINT", "2.5 * 1", 2),
    ("INT", "floor(rand() * 0 + 2.7)", 2),
]


def test_a_default_of_spark_is_the_same_for_duckdb(both: Both) -> None:
    both.spark("SET TIME ZONE 'UTC'")
    both.spark("CREATE TABLE other (a INT)")
    for number, (kind, default, _) in enumerate(CONSTANTS):
        both.spark(f"CREATE TABLE t{number} (a INT, c {kind} DEFAULT {default})")
    for number, (_, default, expected) in enumerate(CONSTANTS):
        both.duckdb(f"INSERT INTO t{number} (a) VALUES (1)")
        both.spark(f"INSERT INTO t{number} (a) VALUES (2)")
        for found in (both.duck.execute(f"SELECT c FROM t{number}").fetchall(), both.session.execute(f"SELECT c FROM t{number}").fetch()):
            assert [comparable(row[0]) for row in found] == [comparable(expected)] * 2, default


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("INT", "(SELECT 1)"),
        ("BOOLEAN", "'a' LIKE ANY ('a', 'b')"),
        ("STRING", "CAST(INTERVAL '1 2' DAY TO HOUR AS STRING)"),
        ("STRING", "current_user()"),
        ("BIGINT", "count(1)"),
        ("INT", "year('2020-05-01')"),
        ("INT", "rand() * 10"),
    ],
)
def test_an_expression_without_a_counterpart_is_refused(lake: LakeSession, kind: str, default: str) -> None:
    with pytest.raises(StatementError, match="has no counterpart in DuckDB's SQL, which evaluates it too: write a literal"):
        lake.execute(f"CREATE TABLE t (a INT, c {kind} DEFAULT {default})")


RETYPED = [
    ("BOOLEAN", "'yes'", "INT"),
    ("BOOLEAN", "'TRUE'", "INT"),
    ("DATE", "'2020-1-1'", "TIMESTAMP_NTZ"),
    ("INT", "' 5 '", "BIGINT"),
]


def test_a_default_is_converted_with_its_column(both: Both) -> None:
    add_columns_to_a_row(both.spark, (f"{kind} DEFAULT {default}" for kind, default, _ in RETYPED))
    for number, (_, _, to) in enumerate(RETYPED):
        both.spark(f"ALTER TABLE t ALTER COLUMN c{number} TYPE {to}")
    both.duckdb("INSERT INTO t (a) VALUES (2)")

    expected = [(1, 1, dt.datetime(2020, 1, 1), 5)] * 2
    assert both.duck.execute("SELECT * EXCLUDE (a) FROM t").fetchall() == expected
    assert both.session.execute("SELECT * EXCEPT (a) FROM t").fetch() == expected

    both.spark("ALTER TABLE t ADD COLUMN old DATE DEFAULT '0044-03-15 (BC)'")
    with pytest.raises(StatementError, match=r"the default of column old, '0044-03-15 \(BC\)', is not a value of its new type"):
        both.spark("ALTER TABLE t ALTER COLUMN old TYPE TIMESTAMP_NS")
