"""Columns of a lake as Spark's types and back, without a JVM."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from dbt.adapters.ducklake.errors import ConfigurationError, StatementError
from dbt.adapters.ducklake.format.types import Field, assign_ids, parse_type
from dbt.adapters.ducklake.spark.values.types import FIELD_ID, _leaf, fields_of, struct_type
from tests.lake.written import columns_of


def test_struct_fields_have_their_ids_and_every_field_is_nullable() -> None:
    columns = columns_of("a int NOT NULL", "b array<struct<x decimal(5,2), y map<string, time>>>")
    made = struct_type(columns)
    assert [field.metadata for field in made.fields] == [{FIELD_ID: 1}, {FIELD_ID: 2}]
    assert all(field.nullable for field in made.fields)
    inner = made["b"].dataType.elementType
    assert [(field.name, field.metadata[FIELD_ID]) for field in inner.fields] == [("x", 4), ("y", 5)]
    assert inner["y"].dataType == T.MapType(T.StringType(), T.TimeType(6))


@pytest.mark.parametrize("name", ["time", "variant"])
def test_some_types_need_a_newer_pyspark(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _leaf.cache_clear()
    monkeypatch.setattr("pyspark.__version__", "4.0.5")
    with pytest.raises(ConfigurationError, match=r"type (TIME|VARIANT) needs PySpark 4\.1 or newer, and this is PySpark 4\.0\.5"):
        struct_type(columns_of("a int", f"b array<{name}>"))


def test_without_ids_there_is_no_metadata() -> None:
    made = struct_type(columns_of("a int", "s struct<x int>"), ids=False)
    assert made == T.StructType(
        [T.StructField("a", T.IntegerType()), T.StructField("s", T.StructType([T.StructField("x", T.IntegerType())]))]
    )


def test_types_of_a_query_are_converted_to_columns_and_back() -> None:
    texts = [
        "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(12,3)", "date", "time", "timestamp", "timestamp_ntz",
        "string", "binary", "variant", "array<int>", "map<string, array<date>>", "struct<a: int, b: struct<c: string>>",
    ]  # fmt: skip
    fields = [Field(f"c{i}", parse_type(text)) for i, text in enumerate(texts)]
    schema = struct_type(assign_ids(fields, 1), ids=False)
    assert list(fields_of(schema)) == fields


def test_a_column_without_a_type_is_text_and_comments_are_kept() -> None:
    schema = T.StructType([T.StructField("n", T.NullType()), T.StructField("c", T.IntegerType(), False, {"comment": "why"})])
    assert fields_of(schema) == (Field("n", parse_type("string")), Field("c", parse_type("int"), nullable=False, comment="why"))


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (T.DayTimeIntervalType(), "column s.x has the type interval day to second"),
        (T.CalendarIntervalType(), "column s.x has the type interval"),
        (T.StringType("UNICODE"), "column s.x has the collation UNICODE"),
        (T.StructType([]), "column s.x is a struct without fields"),
    ],
)
def test_the_error_for_an_unsupported_type_names_the_column(type_: T.DataType, text: str) -> None:
    schema = T.StructType([T.StructField("s", T.StructType([T.StructField("x", type_)]))])
    with pytest.raises(StatementError) as raised:
        fields_of(schema)
    assert text in str(raised.value)
