"""The SQL of the cross-database macros; tests/functional/adapter/test_utils.py tests their results in Spark."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import CompilationError

from tests.unit.macros.macro_rendering import Macros


@pytest.mark.parametrize(
    ("macro", "arguments", "expected"),
    [
        ("any_value", ["x"], "any_value(x)"),
        ("bool_or", ["x = 1"], "bool_or(x = 1)"),
        ("split_part", ["a", "'-'", -1], "split_part(a, '-', -1)"),
        ("safe_cast", ["x", "int"], "try_cast(x as int)"),
        ("safe_cast", ["'array(1, 2)'", "array<int>"], "try_cast(array(1, 2) as array<int>)"),
        ("date_trunc", ["month", "x"], "date_trunc('month', x)"),
        ("dateadd", ["day", "n + 1", "x"], "timestampadd(DAY, cast(n + 1 as int), x)"),
        ("last_day", ["x", "month"], "last_day(x)"),
        ("array_construct", [[1, 2], "int"], "array(1, 2)"),
        ("array_construct", [[], "integer"], "cast(array() as array<int>)"),
        ("listagg", ["x", "','"], "listagg(x, ',')"),
        ("listagg", ["x", "','", "order by y"], "listagg(x, ',') within group (order by y)"),
        ("generate_series", [3], "select explode(sequence(1, 3)) as generated_number"),
        ("escape_single_quotes", ["they're \\d"], "they\\'re \\\\d"),
        ("current_timestamp", [], "current_timestamp()"),
        ("type_timestamp", [], "timestamp"),
        ("type_string", [], "string"),
        ("type_numeric", [], "decimal(28,6)"),
        ("type_boolean", [], "boolean"),
        ("hash", ["x"], "md5(cast(x as string))"),
        ("ducklake__regexp_instr", ["a", "^\\d'", 1, 1, True, "i"], "regexp_instr(a, '(?i)^\\\\d\\'')"),
        ("ducklake__regexp_instr", ["a", "b"], "regexp_instr(a, 'b')"),
        ("datediff", ["a", "b", "year"], "(year(cast(b as date)) - year(cast(a as date)))"),
    ],
)
def test_macro(macros: Macros, macro: str, arguments: list[object], expected: str) -> None:
    assert getattr(macros, macro)(*arguments) == expected


@pytest.mark.parametrize(
    ("part", "factor"),
    [("hour", " / 3600"), ("minute", " / 60"), ("SECOND", ""), ("millisecond", " * 1000"), ("microsecond", " * 1000000")],
)
def test_datediff_counts_in_the_time_zone_of_the_session(macros: Macros, part: str, factor: str) -> None:
    """Its results are tested in tests/lake/test_datediff.py."""
    clock = "if(typeof(b) like 'string%', cast(cast(b as timestamp) as timestamp_ntz), cast(b as timestamp_ntz))"
    seconds = f"cast(cast({clock} - timestamp_ntz '1970-01-01 00:00:00' as interval second) as decimal(20, 6))"
    assert macros.datediff("a", "b", part).startswith(f"(cast(floor({seconds}{factor}) as bigint) - cast(floor(")


def test_the_error_of_datediff_lists_the_supported_parts(macros: Macros) -> None:
    with pytest.raises(CompilationError, match="datediff does not support the part 'eon'; it supports year"):
        macros.datediff("a", "b", "eon")


def test_regexp_instr_refuses_other_occurrences_than_the_first(macros: Macros) -> None:
    with pytest.raises(CompilationError, match="first occurrence only"):
        macros.ducklake__regexp_instr("a", "b", 1, 2)


def test_a_series_has_a_positive_bound(macros: Macros) -> None:
    with pytest.raises(CompilationError, match="upper bound must be positive"):
        macros.generate_series(0)


def test_every_spark_macro_is_overridden_or_correct_for_a_lake(macros: Macros) -> None:
    correct = {
        "alter_column_set_constraints", "alter_table_add_constraints", "array_append", "array_concat", "assert_not_null", "call_dcl_statements",
        "clustered_cols", "comment_clause", "concat", "copy_grants", "current_timestamp", "date", "file_format_clause",
        "get_columns_in_relation_raw", "get_grant_sql", "get_revoke_sql", "location_clause", "partition_cols",
        "persist_constraints", "support_multiple_grantees_per_dcl_statement",
    }  # fmt: skip
    inherited = {name.removeprefix("spark__") for name in macros.context if name.startswith("spark__")}

    assert {name for name in inherited if f"ducklake__{name}" not in macros.context} == correct
