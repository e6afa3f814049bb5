"""An INSERT of constants without Spark stores the values and statistics that Spark would store, and fails where Spark fails."""

from __future__ import annotations

import datetime as dt
import re
from datetime import datetime, timezone
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.format.datatype import Field
from dbt.adapters.ducklake.format.types import assign_ids, parse_type
from dbt.adapters.ducklake.plan.literals import Clock, NeedsSparkError, column_values
from dbt.adapters.ducklake.run import rows as run_rows
from dbt.adapters.ducklake.sql.constants import constant
from tests.interop.conftest import Both
from tests.places import nightly

CATALOGS = ["sqlite"]

# The groups have no meaning; they keep the lines short.
LITERALS = [
    *("NULL", "TRUE", "false", "0", "-0", "+7", "- 5", "127", "128", "-128", "32767", "-32769", "2147483647", "-2147483648", "2147483648"),
    *(
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "16777217",
        "9007199254740993",
        "12345678901234567890123456789",
    ),
    *("5Y", "-5S", "5L", "1.5D", "-2D", "1.5F", "0.1f", "1.5BD", "7bd", "0.0", "-0.00", ".5", "1.", "0012.30", "0.05", "-1.005", "2.345"),
    *("0.1", "3.3", "123456789.123456789", "99999999.995", "0.12345678901234567890123456789012345678", "1.17549435082228750797e0"),
    *(
        "16777217.0",
        "9007199254740993.5",
        "1e3",
        "1.5E-5",
        "-2.5e+10",
        "9.5e-05",
        "1e38",
        "3.4028235e38",
        "1e-46",
        "8388608.5",
        "33554433.0",
    ),
    *(
        "''",
        "'a'",
        "'it''s'",
        r"'a\'b\\c\"d\n\t'",
        '"double"',
        "'a' 'b'",
        "'ü 😀'",
        "'true'",
        "'FALSE'",
        "'5'",
        "' 5 '",
        "'-17'",
        "'1.005'",
    ),
    *(
        "'1.50'",
        "'-0'",
        "'1e3'",
        "'300'",
        "'2024-02-29'",
        "'2024-02-30'",
        "'2024-2-9'",
        "'2024-02-29 01:02:03.456789'",
        "'9999-12-31T23:59:59'",
    ),
    *(
        "'2024-02-29 01:02:03+02:00'",
        "'0001-01-01'",
        "'1500-06-01 00:00:00.1Z'",
        "DATE '2020-01-31'",
        "date'1582-10-10'",
        "X'00fF'",
        "X''",
        "X'ABC'",
    ),
    *("TIMESTAMP '2020-01-02 03:04:05.5'", "TIMESTAMP '2020-01-02 03:04:05.123456-08:00'", "TIMESTAMP_NTZ '2020-01-02 03:04:05'"),
    *(
        "TIMESTAMP_LTZ '1969-12-31 23:59:59.999999'",
        "timestamp'2020-01-02'",
        "CAST('2020-01-02' AS DATE)",
        "CAST(NULL AS DATE)",
        "CAST(NULL AS INT)",
    ),
    *(
        "CAST(1 AS BIGINT)",
        "CAST(1.25 AS DECIMAL(10, 1))",
        "CAST(-1.25 AS DECIMAL(10,1))",
        "CAST(1 AS STRING)",
        "1::string",
        "'7'::int",
        "CAST(TRUE AS STRING)",
    ),
    *(
        "CAST('12.345' AS DECIMAL(5,2))",
        "'2.5'::double",
        "'0.1'::float",
        "CAST(0.1 AS FLOAT)",
        "CAST(0.1F AS DOUBLE)",
        "CAST(DATE '2020-01-02' AS STRING)",
    ),
    *(
        "CAST('2020-01-02 03:04:05' AS TIMESTAMP)",
        "CAST(TIMESTAMP '2020-01-02 23:04:05' AS DATE)",
        "CAST(DATE '2020-01-02' AS TIMESTAMP_NTZ)",
        "((1))",
    ),
    *(
        "CAST(TIMESTAMP_NTZ '2020-01-02 03:04:05' AS TIMESTAMP)",
        "CAST(CAST('5' AS INT) AS DECIMAL)",
        "CAST(5 AS NUMERIC(3))",
        "CAST('a' AS BINARY)",
    ),
]
TYPES = [
    *("BOOLEAN", "BIGINT", "DECIMAL(10, 2)", "DOUBLE", "STRING", "TIMESTAMP"),
    *nightly("TINYINT", "SMALLINT", "INT", "DECIMAL(3, 0)", "DECIMAL(38, 10)", "FLOAT", "BINARY", "DATE", "TIMESTAMP_NTZ"),
]
UTC_CLOCK = Clock(datetime.now(timezone.utc), zone_is_utc=True)


def is_computed(literal: str, kind: str) -> bool:
    """Return whether the value of a literal in a column of this type is computed without Spark."""
    found = constant(literal)
    if found is None:
        return False
    try:
        column_values([found], *assign_ids([Field("c", parse_type(kind))], 1), UTC_CLOCK)
    except NeedsSparkError:
        return False
    return True


@pytest.fixture
def without_spark(both: Both, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that runs an INSERT, and fails if Spark was needed."""
    original = run_rows.insert_constants

    def run(statement: str) -> None:
        counts: list[int | None] = []

        def recorded(*arguments: Any) -> int | None:
            counts.append(original(*arguments))
            return counts[-1]

        with monkeypatch.context() as patch:
            patch.setattr(run_rows, "insert_constants", recorded)
            both.spark(statement)
        assert counts, "the statement was not taken for an INSERT of constants"
        assert None not in counts, "Spark ran the statement"

    return run


@pytest.fixture
def by_spark(both: Both, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that runs an INSERT in Spark, even if all its values are constants."""

    def run(statement: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(run_rows, "insert_constants", lambda *_: None)
            both.spark(statement)

    return run


def stored(both: Both, table: str) -> Any:
    """Return the rows of a table, which must be equal for DuckDB and us, and its statistics."""
    both.duckdb("USE lake")
    statistics = both.duck.execute(
        "SELECT column_id, contains_null, contains_nan, min_value, max_value FROM __ducklake_metadata_lake.ducklake_table_column_stats s "
        f"JOIN __ducklake_metadata_lake.ducklake_table t USING (table_id) WHERE table_name = '{table}' ORDER BY ALL"
    ).fetchall()
    return both.rows(f"SELECT * FROM {table}"), statistics


@pytest.mark.parametrize("kind", TYPES)
def test_literals_computed_without_spark_have_sparks_values(both: Both, without_spark: Any, by_spark: Any, kind: str) -> None:
    literals = [each for each in LITERALS if is_computed(each, kind)]
    assert len(literals) > 2
    columns = ", ".join(f"c{index} {kind}" for index in range(len(literals)))
    for limit in (0, 10):
        both.spark(f"CALL set_option('data_inlining_row_limit', {limit})")
        for table, run in (("in_process", without_spark), ("in_spark", by_spark)):
            both.spark(f"CREATE OR REPLACE TABLE {table}_{limit} ({columns})")
            run(f"INSERT INTO {table}_{limit} VALUES ({', '.join(literals)})")
        ((in_process,), in_process_statistics), ((in_spark,), in_spark_statistics) = (
            stored(both, f"in_process_{limit}"),
            stored(both, f"in_spark_{limit}"),
        )
        assert list(zip(map(repr, in_process), literals, strict=True)) == list(zip(map(repr, in_spark), literals, strict=True))
        assert in_process_statistics == in_spark_statistics


STATEMENTS = [
    "VALUES (1, 'a', 1.5), (2, 'b', 2.25), (NULL, 'c', 3)",
    "(s, i) VALUES ('only two', 4)",
    "VALUES (DEFAULT, DEFAULT, DEFAULT), (5, DEFAULT, 0.125)",
    "(i) VALUES 6, 7",
    "(D, S, I) VALUES (1, 'other order', 8L)",
    "SELECT 9, 'selected' AS s, 1",
    "(s) SELECT 'it''s'",
    # errors, some of which only Spark finds
    "VALUES (3000000000, 'a', 1)",
    "VALUES (1, 'a', 123456789012)",
    "VALUES (1, 'a', NULL), ('x', 'b', 2)",
    "VALUES (1, 'a')",
    "VALUES (1, 'a', 1), (2, 'b')",
    "(i, I) VALUES (1, 2)",
    "(nothing) VALUES (1)",
    "VALUES (1, 'a', 1, 2)",
    "(s) VALUES (NULL)",
    "(s) VALUES ('2', CAST(NULL AS DATE))",
    "(i) VALUES (CAST(NULL AS DATE))",
    "VALUES (1, 'a', 'x')",
    "VALUES (1, 'a', 1e400)",
]


@pytest.mark.parametrize("limit", [*nightly(0), 10])
def test_statements_insert_the_rows_and_raise_the_errors_of_spark(both: Both, by_spark: Any, limit: int) -> None:
    both.spark(f"CALL set_option('data_inlining_row_limit', {limit})")
    for table in ("in_process", "in_spark"):
        both.spark(
            f"CREATE TABLE {table} (i INT, s STRING NOT NULL DEFAULT 'it''s', d DECIMAL(10, 1) DEFAULT 1.25, at TIMESTAMP DEFAULT TIMESTAMP '2020-01-02')"
        )
        both.spark(f"ALTER TABLE {table} ADD COLUMN more BIGINT DEFAULT 7")
    for statement in STATEMENTS:
        named = statement if statement.startswith("(") else f"(i, s, d) {statement}"
        outcomes = []
        for table, run in (("in_process", both.spark), ("in_spark", by_spark)):
            try:
                outcomes.append(run(f"INSERT INTO {table} {named}"))
            except DuckLakeError as error:
                message = re.sub(r"#\d+", "", str(error))  # expression ids such as a#12 differ between runs
                outcomes.append(
                    (type(error), message.replace("main.in_spark", "main.in_process").replace("into in_spark", "into in_process"))
                )
        assert outcomes[0] == outcomes[1], statement
    assert stored(both, "in_process") == stored(both, "in_spark")
    assert len(both.rows("SELECT * FROM in_process")) == 11


def test_the_session_decides_what_a_literal_means(both: Both, by_spark: Any) -> None:
    for table in ("in_process", "in_spark"):
        both.spark(f"CREATE TABLE {table} (n INT, s STRING, at TIMESTAMP, wall TIMESTAMP_NTZ, day DATE)")
    settings = [
        ("spark.sql.session.timeZone", "Europe/Berlin"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.legacy.consecutiveStringLiterals.enabled", "true"),
    ]
    for number, (key, value) in enumerate(settings):
        both.spark(f"SET {key} = {value}")
        for table, run in (("in_process", both.spark), ("in_spark", by_spark)):
            for row in (
                "'it''s', TIMESTAMP '2020-07-01 12:00:00', '2020-07-01 12:00:00', DATE '2020-07-01'",
                "'2', '2020-01-01 12:00:00Z', TIMESTAMP '2020-01-01 12:00:00', '2020-07-01'",
                "'3', '2020-01-01 12:00:00', NULL, TIMESTAMP '2020-01-01 00:30:00'",
            ):
                run(f"INSERT INTO {table} VALUES ({number}, {row})")
        assert stored(both, "in_process") == stored(both, "in_spark")
        both.spark(f"RESET {key}")


@pytest.mark.parametrize(("kind", "unit"), [("TIMESTAMP_S", 1_000_000), ("TIMESTAMP_MS", 1000)])
def test_halves_are_rounded_as_duckdb_rounds_them_also_before_1970(both: Both, kind: str, unit: int) -> None:
    both.spark("SET TIME ZONE 'Asia/Tokyo'")
    micros = [sign * each for sign in (-1, 1) for each in (unit // 2 - 1, unit // 2, unit // 2 + 1, 3 * unit // 2, unit)]
    texts = [str(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=each)) for each in micros]
    both.spark(f"CREATE TABLE t (x {kind}, writer INT)")
    both.spark("INSERT INTO t VALUES " + ", ".join(f"(TIMESTAMP_NTZ '{text}', 1)" for text in texts))
    both.spark("INSERT INTO t SELECT TIMESTAMP_NTZ '1970-01-01' + make_dt_interval(0, 0, 0, n / 1000000BD), 2 FROM VALUES "
               + ", ".join(f"({each})" for each in micros) + " AS v(n)")  # fmt: skip
    cast = " UNION ALL ".join(f"SELECT TIMESTAMP '{text}'::{kind} AS x" for text in texts)
    for writer in (1, 2):
        assert both.rows(
            f"SELECT CAST(x AS TIMESTAMP) AS x FROM t WHERE writer = {writer}", f"SELECT x FROM t WHERE writer = {writer}"
        ) == sorted(both.duck.execute(f"SELECT x::TIMESTAMP FROM ({cast})").fetchall())
