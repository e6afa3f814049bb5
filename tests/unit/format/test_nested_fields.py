"""The fields that must be added to change one struct type into another, if adding fields is enough."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.nested_fields import new_fields
from dbt.adapters.ducklake.format.types import parse_type, spark_name


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
        ("struct<a:int>", "struct<b:string,a:int>", []),
        ("struct<a:int,b:int>", "struct<a:int,c:int>", []),
        ("struct<a:int>", "struct<a:bigint,b:int>", []),
        ("struct<a:int,b:int>", "struct<a:int>", []),
        ("array<struct<a:int>>", "array<struct<a:int,b:int>>", []),
        ("int", "struct<a:int>", []),
    ],
)
def test_new_fields(current: str, wanted: str, expected: list[tuple[str, str]]) -> None:
    found = new_fields(parse_type(current), parse_type(wanted))
    assert [(".".join(path), spark_name(kind)) for path, kind in found] == expected
