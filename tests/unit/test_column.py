"""Columns as dbt sees them."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.column import DuckLakeColumn


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("TEXT", "string"),
        ("varchar(20)", "string"),
        ("character varying", "string"),
        ("int8", "bigint"),  # PostgreSQL's name: eight bytes. DuckLake's own int8 has eight bits
        ("INTEGER", "int"),
        ("float8", "double"),
        ("numeric(10, 2)", "decimal(10,2)"),
        ("timestamp without time zone", "timestamp_ntz"),
        ("timestamp", "timestamp"),
        ("integer[]", "array<int>"),
        ("Struct<a: INT>", "struct<a:int>"),
        ("no such type", "no such type"),
    ],
)
def test_types_are_translated_to_spark(written: str, expected: str) -> None:
    assert DuckLakeColumn.translate_type(written) == expected
    assert DuckLakeColumn.create("c", written).data_type == expected


@pytest.mark.parametrize(
    ("type_", "kinds"),
    [
        ("smallint", {"integer", "number"}),
        ("int", {"integer", "number"}),
        ("bigint", {"integer", "number"}),
        ("float", {"float", "number"}),
        ("double", {"float", "number"}),
        ("decimal(10,0)", {"numeric", "number"}),
        ("string", {"string"}),
        ("varchar(5)", {"string"}),
        ("date", set()),
        ("array<int>", set()),
    ],
)
def test_is_integer_is_float_and_the_others_agree_with_the_type(type_: str, kinds: set[str]) -> None:
    column = DuckLakeColumn("c", type_)

    assert {kind for kind in ("integer", "float", "numeric", "number", "string") if getattr(column, f"is_{kind}")()} == kinds


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("string", "string", False),
        ("string", "int", False),
    ],
)
def test_a_column_expands_to_types_that_the_lake_can_promote_it_to(old: str, new: str, expected: bool) -> None:
    assert DuckLakeColumn("c", old).can_expand_to(DuckLakeColumn("c", new)) is expected


@pytest.mark.parametrize(
    ("one", "other", "same", "moved"),
    [
        ("struct<lat:int,lng:int>", "struct<lng:int,lat:int>", True, True),
        ("struct<lat:int,lng:int>", "struct<LAT:int,Lng:int>", True, False),
        ("struct<lat:int,lng:int>", "struct<lng:int,lat:bigint>", False, True),
        ("struct<lat:int,lng:int>", "struct<lng:int,lat:int,alt:int>", False, True),
        ("struct<lat:int,lng:int>", "struct<alt:int,lat:int,lng:int>", False, True),
        ("struct<lat:int,lng:int>", "struct<x:int,y:int>", False, True),
        ("struct<lat:int,lng:int>", "struct<lng:int,alt:int>", False, True),
        ("struct<lat:int,lng:int>", "struct<lat:int,lng:string>", False, False),
        ("struct<lat:int,lng:int>", "struct<lat:int,lng:int,alt:int>", False, False),
        ("array<struct<a:int,b:int>>", "array<struct<b:int,a:int>>", True, True),
        ("map<string,struct<a:int,b:int>>", "map<string,struct<b:int,a:int>>", True, True),
        ("struct<s:struct<a:int,b:int>,z:int>", "struct<s:struct<b:int,a:int>,z:int>", True, True),
        ("struct<s:struct<a:int,b:int>,z:int>", "struct<s:struct<b:int,a:int>,z:int,n:int>", False, True),
        ("map<int,string>", "map<string,int>", False, False),
        ("struct<a:int>", "array<int>", False, False),
        ("int", "int", True, False),
        ("int", "no such type", False, False),
    ],
)
def test_field_order_is_compared_independently_of_field_types(one: str, other: str, same: bool, moved: bool) -> None:
    assert DuckLakeColumn("c", one).has_same_fields(DuckLakeColumn("c", other)) is same
    assert DuckLakeColumn("c", one).moves_fields(DuckLakeColumn("c", other)) is moved


def test_names_are_quoted_with_backquotes() -> None:
    assert DuckLakeColumn("a `b`", "int").quoted == "`a ``b```"


def test_a_decimal_has_its_precision_and_scale() -> None:
    column = DuckLakeColumn.from_description("c", "numeric(10,2)")

    assert (column.numeric_precision, column.numeric_scale) == (10, 2)
    assert DuckLakeColumn.numeric_type("numeric", 28, 6) == "decimal(28,6)"
    assert DuckLakeColumn.numeric_type("numeric", None, None) == "decimal(10,0)"


def test_a_literal_is_a_cast() -> None:
    assert DuckLakeColumn("c", "date").literal("'2020-01-01'") == "cast('2020-01-01' as date)"
