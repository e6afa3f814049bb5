"""Rows of VALUES are read without Spark only if every value is a constant by its form."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dbt.adapters.ducklake.sql.constants import constant, constant_rows
from dbt.adapters.ducklake.sql.values import CastTo, Constant, CurrentTime, Literal


def text(value: str) -> Literal:
    return Literal("string", value)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("NULL", Literal("void", None)),
        ("true", Literal("boolean", True)),
        ("-2147483648", Literal("int", -(2**31))),
        ("2147483648", Literal("bigint", 2**31)),
        ("9223372036854775808", Literal("decimal(19,0)", Decimal(2**63))),
        ("- 5", Literal("int", -5)),
        ("+5y", Literal("tinyint", 5)),
        ("0012.30", Literal("decimal(4,2)", Decimal("12.30"))),
        (".05", Literal("decimal(2,2)", Decimal("0.05"))),
        ("-0.0", Literal("decimal(1,1)", Decimal("0.0"))),
        ("5BD", Literal("decimal(1,0)", Decimal(5))),
        ("1e-05", Literal("double", 1e-05)),
        ("2D", Literal("double", 2.0)),
        ("1.5F", CastTo(Literal("decimal(2,1)", Decimal("1.5")), "float")),
        ("'it''s' \"a\"", text("it'sa")),
        (r"'\\d\n\"'", text('\\d\n"')),
        ("x'00fF'", Literal("binary", b"\x00\xff")),
        ("DATE '2020-01-02'", CastTo(text("2020-01-02"), "date")),
        ("timestamp_ntz'2020-01-02'", CastTo(text("2020-01-02"), "timestamp_ntz")),
        ("CAST((1) AS DECIMAL(5, 2))", CastTo(Literal("int", 1), "decimal(5,2)")),
        ("'1'::INT::string", CastTo(CastTo(text("1"), "int"), "string")),
        ("CAST(NULL AS dec)", CastTo(Literal("void", None), "decimal(10,0)")),
        ("current_timestamp", CurrentTime("timestamp")),
        ("NOW()", CurrentTime("timestamp")),
        ("current_date()", CurrentTime("date")),
    ],
)
def test_a_constant_has_sparks_type(written: str, expected: Constant) -> None:
    assert constant(written) == expected
    assert repr(constant(written)) == repr(expected)


@pytest.mark.parametrize(
    "written",
    [
        *(
            "",
            "a",
            "`NULL`",
            "now",
            "1 + 1",
            "- -1",
            "-1::string",
            "(1, 2)",
            "array(1)",
            "NOT true",
            "DEFAULT",
            "uuid()",
            "?",
            ":a",
            "1 AS a",
        ),
        *("300Y", "1.5L", "1e3L", "1e400", "-0D", "1e3BD", "1e3F", "1234567890123456789012345678901234567890", "9223372036854775808L"),
        *(r"'\u0041'", r"'\101'", r"'\0'", r"'a\%'", r"'\d'", "r'a'", "$$a$$", "'${x}'", "'a\0'", "'a' COLLATE UTF8_LCASE"),
        *("X'ABC'", "X'0G'", "DATE '2020' '-01-01'", "TIME '01:02:03'", "INTERVAL '1' DAY", "INTERVAL 1 DAY", "TIMESTAMP now()"),
        *("CAST(1 AS VARCHAR(3))", "CAST(1 AS CHAR(3))", "CAST(1 AS DECIMAL(39))", "CAST(1 AS DECIMAL(2,3))", "CAST(1 AS ARRAY<INT>)"),
        *("try_cast(1 AS INT)", "CAST(1 AS TIMESTAMP WITH TIME ZONE)", "CAST(1, 2)", "CAST(1 AS INT) + 1", "'a' || 'b'", "１"),
    ],
)
def test_anything_else_is_left_to_spark(written: str) -> None:
    assert constant(written) is None


def test_rows_have_one_or_more_values() -> None:
    one, two = Literal("int", 1), Literal("int", 2)
    assert constant_rows("VALUES (1, 2), (2, 1)") == [(one, two), (two, one)]
    assert constant_rows("values 1, (2) -- the end") == [(one,), (two,)]
    assert constant_rows("SELECT 1 AS a, 2") == [(one, two)]


@pytest.mark.parametrize(
    "query",
    [
        *("(VALUES (1))", "VALUES (1) AS t(a)", "VALUES (1), (2) ORDER BY 1", "VALUES (1) UNION ALL SELECT 1", "VALUES (a)", "TABLE t"),
        *(
            "SELECT 1 a",
            "SELECT 1 FROM t",
            "SELECT DISTINCT 1",
            "SELECT 1 WHERE false",
            "SELECT 1 UNION ALL SELECT 2",
            "SELECT *",
            "SELECT '${x}'",
        ),
    ],
)
def test_other_queries_are_left_to_spark(query: str) -> None:
    assert constant_rows(query) is None
