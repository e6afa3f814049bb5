"""Types: accepted names, stored names, Spark's types, and allowed promotions."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import LakeError, StatementError
from dbt.adapters.ducklake.format.leaf_types import LEAF_TYPES
from dbt.adapters.ducklake.format.types import (
    DataType,
    Field,
    assign_ids,
    can_promote,
    data_type_of,
    ddl_name,
    from_stored,
    next_column_id,
    parse_type,
    spark_name,
)

WRITTEN = {
    "boolean": ["BOOLEAN", "bool"],
    "int8": ["TINYINT", "byte", "int1"],
    "int16": ["smallint", "SHORT", "int2"],
    "int32": ["INT", "integer", "int4", "int32"],
    "int64": ["BIGINT", "long", "int8", "int64"],
    "int128": ["HUGEINT"],
    "uint64": ["UBIGINT"],
    "float32": ["float", "REAL", "float4", "float(24)"],
    "float64": ["double", "DOUBLE PRECISION", "float8", "float(53)"],
    "decimal(10,0)": ["DECIMAL", "numeric", "dec"],
    "decimal(12,2)": ["decimal(12, 2)", "NUMERIC(12,2)"],
    "decimal(5,0)": ["decimal(5)"],
    "varchar": ["string", "TEXT", "varchar(256)", "character varying(256)", "CHAR(3)", "varchar", "void", "varchar(max)"],
    "blob": ["binary", "BYTEA", "blob", "varbinary(10)"],
    "date": ["DATE"],
    "time": ["time", "TIME(6)", "time without time zone"],
    "timetz": ["timetz", "time with time zone"],
    "timestamptz": ["timestamp", "TIMESTAMP_LTZ", "timestamp with time zone", "timestamp(3) with time zone", "timestamptz"],
    "timestamp": ["timestamp_ntz", "timestamp without time zone", "DATETIME", "timestamp_us"],
    "timestamp_ns": ["timestamp_ns"],
    "interval": ["interval", "INTERVAL DAY TO SECOND", "interval year"],
    "json": ["JSON", "jsonb"],
    "uuid": ["UUID"],
    "variant": ["VARIANT"],
}


@pytest.mark.parametrize(("stored", "text"), [(name, text) for name, texts in WRITTEN.items() for text in texts])
def test_an_accepted_name_is_one_type_of_the_lake(stored: str, text: str) -> None:
    assert parse_type(text) == DataType(stored)


def test_nested_types_are_read_in_the_syntax_of_spark_and_duckdb() -> None:
    expected = "array<struct<a:int,`b c`:map<string,decimal(3,1)>>>"
    spark = parse_type("ARRAY<STRUCT<a: INT, `b c` MAP<STRING, DECIMAL(3,1)>>>")
    duckdb = parse_type('STRUCT(a INTEGER, "b c" MAP(VARCHAR, DECIMAL(3,1)))[]')
    assert spark == duckdb
    assert spark_name(spark) == expected
    assert parse_type(expected) == spark


def test_a_struct_field_keeps_its_nullability_and_comment() -> None:
    type_ = parse_type("struct<a: int NOT NULL COMMENT 'it''s', timestamp: timestamp>")
    assert type_.fields[0] == Field("a", DataType("int32"), nullable=False, comment="it's")
    assert type_.fields[1] == Field("timestamp", DataType("timestamptz"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "foo",
        "int[3]",
        "struct<a int, A int>",
        "decimal(39,2)",
        "decimal(2,3)",
        "array<int",
        "int int",
        "time(9)",
        "struct<>",
        "date(3)",
        "string collate unicode",
    ],
)
def test_a_type_that_cannot_be_stored_is_refused(text: str) -> None:
    with pytest.raises(StatementError, match=r"is not a type that a lake can store|is not possible"):
        parse_type(text)


def test_stored_names_follow_the_specification() -> None:
    assert from_stored("INT8") == DataType("int8")
    assert from_stored("decimal(10, 2)") == DataType("decimal(10,2)")
    assert from_stored("timestamp_us") == DataType("timestamp")
    with pytest.raises(LakeError, match="unknown type 'point'"):
        from_stored("point")


@pytest.mark.parametrize(
    ("stored", "spark"),
    [
        ("uint8", "smallint"),
        ("uint32", "bigint"),
        ("uint64", "decimal(20,0)"),
        ("int128", "decimal(38,0)"),
        ("timestamp", "timestamp_ntz"),
        ("timestamptz", "timestamp"),
        ("timestamp_ns", "string"),
        ("time", "time(6)"),
        ("timetz", "string"),
        ("interval", "string"),
        ("uuid", "string"),
        ("geometry", "binary"),
        ("variant", "variant"),
    ],
)
def test_every_stored_type_has_a_spark_type(stored: str, spark: str) -> None:
    assert spark_name(from_stored(stored)) == spark


def test_ids_are_counted_depth_first_and_a_parent_comes_before_its_children() -> None:
    fields = [
        Field("a", parse_type("int"), nullable=False),
        Field("b", parse_type("array<struct<x int NOT NULL, y map<string,int>>>")),
        Field("c", parse_type("string")),
    ]
    columns = assign_ids(fields, 1)
    walked = [(node.column_id, node.name, node.type) for column in columns for node in column.walk()]
    assert walked == [
        (1, "a", "int32"),
        (2, "b", "list"),
        (3, "element", "struct"),
        (4, "x", "int32"),
        (5, "y", "map"),
        (6, "key", "varchar"),
        (7, "value", "int32"),
        (8, "c", "varchar"),
    ]
    assert next_column_id(columns) == 9
    assert not columns[0].nullable
    assert all(node.nullable for column in columns[1:] for node in column.walk())
    assert data_type_of(columns[1]).fields[0].name == "element"


ALLOWED = [
    ("int8", "int16"), ("int32", "int64"), ("int64", "int128"), ("uint8", "int16"), ("uint32", "uint64"), ("uint64", "int128"),
    ("int8", "float32"), ("int32", "float64"), ("int64", "float64"), ("float32", "float64"), ("boolean", "int32"),
    ("int32", "decimal(10,0)"), ("int8", "decimal(5,2)"), ("int64", "decimal(38,10)"), ("uint64", "decimal(20,0)"),
    ("decimal(5,2)", "decimal(10,2)"), ("decimal(4,2)", "decimal(12,4)"), ("decimal(10,2)", "float64"),
    ("date", "timestamp"), ("date", "timestamptz"), ("timestamp", "timestamptz"), ("timestamp", "timestamp_ns"), ("timestamp_s", "timestamp"),
    ("varchar", "json"), ("int32", "variant"),
]  # fmt: skip
REFUSED = [
    ("int32", "int16"), ("uint32", "int32"), ("int32", "uint64"), ("int32", "varchar"), ("json", "varchar"), ("varchar", "blob"),
    ("decimal(10,2)", "decimal(10,4)"), ("decimal(38,10)", "decimal(38,0)"), ("int64", "decimal(18,0)"), ("float64", "float32"), ("time", "timetz"),
    ("timestamptz", "timestamp"), ("int32", "int32"), ("decimal(5,2)", "decimal(5,2)"), ("uuid", "varchar"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), ALLOWED)
def test_a_type_can_be_promoted_to_a_wider_one(old: str, new: str) -> None:
    assert can_promote(old, new)


@pytest.mark.parametrize(("old", "new"), REFUSED)
def test_other_type_changes_are_refused(old: str, new: str) -> None:
    assert not can_promote(old, new)


def test_the_name_in_ddl_is_read_back_as_the_same_type() -> None:
    for name in [*LEAF_TYPES.keys() - {"decimal", "unknown"}, "decimal(38,10)"]:
        nested = DataType("list", (Field("element", DataType("struct", (Field("a b", from_stored(name), False, "it's"),))),))
        assert parse_type(ddl_name(nested)) == nested
    with pytest.raises(LakeError, match="the type unknown cannot be created"):
        ddl_name(DataType("unknown"))
