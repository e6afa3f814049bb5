"""The changes of metadata that turn one type into another: new fields, dropped fields and wider types."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.nested_fields import NestedField, needs_rewrite, new_fields, widened, wider_fields
from dbt.adapters.ducklake.format.types import parse_type, spark_name


def shown(fields: list[NestedField]) -> list[tuple[str, str]]:
    return [(".".join(path), spark_name(kind)) for path, kind in fields]


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [
        ("struct<a:int>", "struct<a:int,b:string>", [("b", "string")]),
        (
            "struct<a:int,s:struct<x:int>>",
            "struct<A:int,s:struct<x:int,y:int,z:date>,b:array<int>>",
            [("s.y", "int"), ("s.z", "date"), ("b", "array<int>")],
        ),
        ("struct<a:int>", "struct<a:int>", []),
        ("struct<a:int>", "struct<b:string,a:int>", [("b", "string")]),
        ("struct<a:int,b:int>", "struct<a:int,c:int>", [("c", "int")]),
        ("struct<a:int>", "struct<a:bigint,b:int>", [("b", "int")]),
        ("struct<a:int,b:int>", "struct<a:int>", []),
        ("array<struct<a:int>>", "array<struct<a:int,b:int>>", [("element.b", "int")]),
        ("map<string,struct<a:int>>", "map<string,struct<b:int>>", [("value.b", "int")]),
        ("struct<a:int>", "array<struct<a:int,b:int>>", []),
        ("int", "struct<a:int>", []),
    ],
)
def test_new_fields(current: str, wanted: str, expected: list[tuple[str, str]]) -> None:
    assert shown(new_fields(parse_type(current), parse_type(wanted))) == expected


@pytest.mark.parametrize(
    ("current", "wanted", "expected", "whole"),
    [
        ("int", "bigint", [("", "bigint")], "bigint"),
        ("bigint", "int", [], "bigint"),
        ("struct<a:int,b:int>", "struct<c:int,B:string,a:bigint>", [("a", "bigint")], "struct<a:bigint,b:int>"),
        ("array<struct<a:int>>", "array<struct<b:int,a:bigint>>", [("element.a", "bigint")], "array<struct<a:bigint>>"),
        ("map<int,float>", "map<bigint,double>", [("key", "bigint"), ("value", "double")], "map<bigint,double>"),
        ("array<int>", "struct<element:bigint>", [], "array<int>"),
    ],
)
def test_wider_fields(current: str, wanted: str, expected: list[tuple[str, str]], whole: str) -> None:
    assert shown(wider_fields(parse_type(current), parse_type(wanted))) == expected
    assert spark_name(widened(parse_type(current), parse_type(wanted))) == whole


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [
        ("int", "bigint", False),
        ("bigint", "int", True),
        ("struct<a:int,b:string>", "struct<c:date,a:bigint>", False),
        ("struct<a:int,b:string>", "struct<b:int,a:int>", True),
        ("map<string,array<struct<a:int>>>", "map<string,array<struct<a:string>>>", True),
        ("struct<a:int>", "int", True),
    ],
)
def test_types_that_need_a_rewrite(current: str, wanted: str, expected: bool) -> None:
    assert needs_rewrite(parse_type(current), parse_type(wanted)) is expected
