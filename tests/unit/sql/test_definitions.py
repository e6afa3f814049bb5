"""CREATE, DROP, COMMENT ON and ALTER mean what Spark and DuckLake define. The error names what a lake does not support."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.format.objects import Default
from dbt.adapters.ducklake.format.types import parse_type
from dbt.adapters.ducklake.plan.defaults import stored_expression, typed_default
from dbt.adapters.ducklake.sql.parse import parse
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.values import (
    AddColumns,
    Alteration,
    AlterTable,
    ColumnDefinition,
    Comment,
    CreateSchema,
    CreateTable,
    CreateView,
    DropColumns,
    DropRelation,
    DropSchema,
    Name,
    PartitionKey,
    RenameColumn,
    RenameRelation,
    SetComment,
    SetDefault,
    SetNullable,
    SetPartitioning,
    SetProperties,
    SetType,
    Statement,
)

T = Name(("t",))
LAKE_T = Name(("lake", "main", "t"))
SELECT = references("select * from s.u")
INT = parse_type("int")


def col(name: str, type_text: str, nullable: bool = True, default: Default | None = None, comment: str | None = None) -> ColumnDefinition:
    return ColumnDefinition(name, parse_type(type_text), nullable, default, comment)


CREATE = [
    ("create table t (a int)", CreateTable(T, (col("a", "int"),))),
    ("CREATE TABLE IF NOT EXISTS `lake`.`main`.`t` (`a b` INT);", CreateTable(LAKE_T, (col("a b", "int"),), if_not_exists=True)),
    ("create table t as select * from s.u", CreateTable(T, query=SELECT)),
    ("create table t select * from s.u", CreateTable(T, query=SELECT)),
    ("create table t as (select * from s.u)", CreateTable(T, query=references("(select * from s.u)"))),
    ("create table t as with c as (select 1) table c", CreateTable(T, query=references("with c as (select 1) table c"))),
    ("create table t as values (1), (2)", CreateTable(T, query=references("values (1), (2)"))),
    ("create or replace table t as select * from s.u", CreateTable(T, query=SELECT, replace=True)),
    ("replace table t as select * from s.u", CreateTable(T, query=SELECT, replace=True)),
    (
        '/* {"app": "dbt", "x": "drop table y"} */\r\n\r\n  create or replace table `lake`.`main`.`t`\r\n  as\r\n\r\n  ( select * from s.u )\r\n;\r\n',
        CreateTable(LAKE_T, query=references("( select * from s.u )"), replace=True),
    ),
    ("create table t (a int, b string) as select * from s.u", CreateTable(T, (col("a", "int"), col("b", "string")), SELECT)),
    (
        "create table t (map map<string, int>, id int not null) comment 'x'",
        CreateTable(T, (col("map", "map<string, int>"), col("id", "int", False)), comment="x"),
    ),
    ("create table t (from date, to date)", CreateTable(T, (col("from", "date"), col("to", "date")))),
    ("create table t (values int, b int) using parquet", CreateTable(T, (col("values", "int"), col("b", "int")))),
    ("create table t (reduce int, table int) as select * from s.u", CreateTable(T, (col("reduce", "int"), col("table", "int")), SELECT)),
    ("create table t (with int) partitioned by (with)", CreateTable(T, (col("with", "int"),), partitioning=(PartitionKey("with"),))),
    ("create table t (table s.u)", CreateTable(T, query=references("(table s.u)"))),
    ("create table t (values (1), (2))", CreateTable(T, query=references("(values (1), (2))"))),
    ("create table t (select date)", CreateTable(T, query=references("(select date)"))),
    ("create table t (table date) union all (table s.u)", CreateTable(T, query=references("(table date) union all (table s.u)"))),
    ("create table t using parquet as select * from s.u", CreateTable(T, query=SELECT)),
    ("create table t (a int) using DuckLake", CreateTable(T, (col("a", "int"),))),
    ("create table t (a int) stored as parquet", CreateTable(T, (col("a", "int"),))),
    ("create table t comment 'it''s' as select * from s.u", CreateTable(T, query=SELECT, comment="it's")),
    (
        "create table t (a int not null comment 'größe', b int null)",
        CreateTable(T, (col("a", "int", False, comment="größe"), col("b", "int"))),
    ),
    (
        "create table t (a array<struct<x: int, y: map<string, decimal(3,1)>>>, b double precision, c varchar(10), d int[])",
        CreateTable(
            T,
            (
                col("a", "array<struct<x: int, y: map<string, decimal(3,1)>>>"),
                col("b", "double"),
                col("c", "varchar(10)"),
                col("d", "int[]"),
            ),
        ),
    ),
    (
        "create table t (c int) partitioned by (a, `b`, year(c), months(c), day(c), hours(c), bucket(16, c))",
        CreateTable(
            T,
            (col("c", "int"),),
            partitioning=tuple(
                PartitionKey(*key)
                for key in [("a",), ("b",), ("c", "year"), ("c", "month"), ("c", "day"), ("c", "hour"), ("c", "bucket(16)")]
            ),
        ),
    ),
    (
        "create table t (a int) partitioned by (d date comment 'x')",
        CreateTable(T, (col("a", "int"), col("d", "date", comment="x")), partitioning=(PartitionKey("d"),)),
    ),
    (
        "create table t tblproperties ('a.b' = 'c', d = 1) options (e 'f') as select * from s.u",
        CreateTable(T, query=SELECT, properties=(("a.b", "c"), ("d", "1"), ("e", "f"))),
    ),
    ("create schema s", CreateSchema(Name(("s",)))),
    ("create schema if not exists `lake`.`s`", CreateSchema(Name(("lake", "s")), if_not_exists=True)),
    ("create database s comment 'x'", CreateSchema(Name(("s",)), comment="x")),
    ("create view t as select * from s.u", CreateView(T, SELECT)),
    ("create or replace view t as select * from s.u", CreateView(T, SELECT, replace=True)),
    ("create view if not exists t as select * from s.u", CreateView(T, SELECT, if_not_exists=True)),
    (
        "create view t (a comment 'x', `b c`) comment 'y' as select * from s.u",
        CreateView(T, SELECT, (("a", "x"), ("b c", None)), comment="y"),
    ),
    ("create or replace view t as (\n  select * from s.u\n);\n", CreateView(T, references("(\n  select * from s.u\n)"), replace=True)),
]

DROP = [
    ("drop table t", DropRelation("table", T)),
    ("drop table if exists `lake`.`main`.`t` cascade", DropRelation("table", LAKE_T, True)),
    ("drop table t purge", DropRelation("table", T)),
    ("drop view if exists t", DropRelation("view", T, True)),
    ("drop schema s", DropSchema(Name(("s",)))),
    ("drop schema if exists lake.s cascade", DropSchema(Name(("lake", "s")), True, True)),
    ("drop database s restrict", DropSchema(Name(("s",)))),
    ("comment on table t is 'x'", Comment("table", T, "x")),
    ("comment on view lake.main.t is null", Comment("view", LAKE_T, None)),
    ("comment on schema s is 'a' 'b'", Comment("schema", Name(("s",)), "ab")),
    ("comment on column lake.main.t.a is 'it\\'s'", AlterTable(LAKE_T, SetComment(("a",), "it's"))),
    ("alter table t rename to s.u", RenameRelation("table", T, Name(("s", "u")))),
    ("alter view t rename to u", RenameRelation("view", T, Name(("u",)))),
    ("alter view t as select * from s.u", CreateView(T, SELECT, replace=True, must_exist=True)),
    ("alter table t set tblproperties ('comment' = 'x', a.b = c)", SetProperties("table", T, (("comment", "x"), ("a.b", "c")))),
    ("alter view if exists t unset tblproperties if exists ('a', b)", SetProperties("view", T, (("a", None), ("b", None)), True)),
    ("alter table if exists t drop column a", AlterTable(T, DropColumns((("a",),)), True)),
]

ALTER: list[tuple[str, Alteration]] = [
    ("add column a int", AddColumns((((), col("a", "int")),))),
    ("add a int, b string comment 'x'", AddColumns((((), col("a", "int")), ((), col("b", "string", comment="x"))))),
    (
        "add columns (a int default 5, s.`b` string not null)",
        AddColumns((((), col("a", "int", default=Default("5", "expression", "spark"))), (("s",), col("b", "string", False)))),
    ),
    ("add column if not exists a int", AddColumns((((), col("a", "int")),), if_not_exists=True)),
    ("add column a.element.b int", AddColumns(((("a", "element"), col("b", "int")),))),
    ("drop column a", DropColumns((("a",),))),
    ("drop columns (a, `b`.c)", DropColumns((("a",), ("b", "c")))),
    ("drop column if exists a, b", DropColumns((("a",), ("b",)), True)),
    ("rename column a to `b c`", RenameColumn(("a",), "b c")),
    ("rename column a.b to c", RenameColumn(("a", "b"), "c")),
    ("alter column a type bigint", SetType(("a",), parse_type("bigint"))),
    ("alter column a.b set data type decimal(10, 2)", SetType(("a", "b"), parse_type("decimal(10,2)"))),
    ("alter a set not null", SetNullable(("a",), False)),
    ("alter column a drop not null", SetNullable(("a",), True)),
    ("alter column a set default 'x'", SetDefault(("a",), Default("x"))),
    ("alter column a set default null", SetDefault(("a",), None)),
    ("alter column a drop default", SetDefault(("a",), None)),
    ("alter column a comment 'x'", SetComment(("a",), "x")),
    ("change column `a` comment 'x'", SetComment(("a",), "x")),
    ("set partitioned by (year(a), b)", SetPartitioning((PartitionKey("a", "year"), PartitionKey("b")))),
    ("reset partitioned by", SetPartitioning(())),
]

DEFAULTS: list[tuple[str, Default | None]] = [
    ("5", Default("5")),
    ("-3", Default("-3")),
    ("+3", Default("3")),
    ("10L", Default("10")),
    ("1.50BD", Default("1.50")),
    ("1e3", Default("1e3")),
    ("'it''s'", Default("it's")),
    ('"x"', Default("x")),
    ("'a' 'b'", Default("ab")),
    ("''", Default("")),
    (r"'D:\700 \101\177\200'", Default("D:700 A\x7f200")),
    (r"'\uD83D\uDE00\u00e9\U0001F600 \uD83D'", Default("😀é😀 ?")),
    ("date '2020-01-01'", Default("2020-01-01")),
    ("timestamp '2020-01-01 00:00:00'", Default("2020-01-01 00:00:00")),
    ("null", None),
    ("true", Default("TRUE", "expression")),
    ("1 + 2", Default("1 + 2", "expression")),
    ("current_timestamp()", Default("CURRENT_TIMESTAMP", "expression")),
    ("now()", Default("CURRENT_TIMESTAMP", "expression")),
    ("cast('1' as int)", Default("CAST('1' AS INT)", "expression")),
    ("array(1, 2)", Default("[1, 2]", "expression")),
    ("my_function(1)", Default("my_function(1)", "expression", "spark")),
    ("case when 1 = 1 then 'x' end", Default("CASE WHEN 1 = 1 THEN 'x' END", "expression")),
]

REFUSED = [
    (r"comment on table t is '\U00110000'", r"\\U00110000 is no character"),
    ("alter table t add column a int primary key", "PRIMARY is not supported here"),
    ("alter table t add column (a int check (a > 1))", "CHECK is not supported here"),
    ("create table t (a int generated always as (b + 1))", "DuckLake has no generated or identity column"),
    ("create table t (a bigint generated by default as identity)", "DuckLake has no generated or identity column"),
    ("create table t using csv as select 1", "USING csv is not supported"),
    ("create table t using delta as select 1", "USING delta is not supported"),
    ("create table t location '/x' as select 1", "LOCATION is not supported"),
    ("create table t like u", "LIKE is not supported"),
    ("create table t shallow clone u", "CLONE is not supported"),
    ("create table t (a int) clustered by (a) into 4 buckets", "CLUSTERED BY is not supported"),
    ("create or replace table if not exists t as select 1", "cannot be used together"),
    ("create table t partitioned by (truncate(2, a)) as select 1", "truncate is not a DuckLake transform"),
    ("create table t partitioned by (a.b) as select 1", "a is a nested column"),
    ("create table a.b.c.d (x int)", "more than three parts"),
    ("create materialized view v as select 1", "materialized views are not supported"),
    ("drop materialized view v", "has no materialized views: write DROP TABLE or DROP VIEW"),
    ("drop streaming table t", "has no streaming tables: write DROP TABLE"),
    ("create streaming table v as select 1", "streaming tables are not supported"),
    ("create view v tblproperties ('a' = 'b') as select 1", "TBLPROPERTIES is not supported"),
    ("create schema s location '/x'", "LOCATION is not supported"),
    ("alter table t add column a int after b", "at the end of a table"),
    ("alter table t add column a int first", "at the end of a table"),
    ("alter table t add constraint c check (a > 1)", "CONSTRAINT is not supported here"),
    ("alter table t add partition (a = 1)", "ADD PARTITION is not supported"),
    ("alter table t drop partition (a = 1)", "DELETE FROM"),
    ("alter table t alter column a type int, b type int", "one thing at a time"),
    ("alter table t set location '/x'", "set location is not supported"),
    ("alter schema s set owner to x", "ALTER SCHEMA is not supported"),
]

WRONG = [
    ("create table t", "line 1, at the end of the statement: table t needs columns"),
    ("create table t ()", r"line 1, near '\)': a column was expected"),
    ("create table t (\n  a int,\n  b\n)", "line 3, near 'b \\)': the type of column b is missing"),
    ("create table t (a int,)", "something was expected after the comma"),
    ("create table t (a int wrong)", "type"),
    ("create table t (a int) frobnicate", "near 'frobnicate'"),
    ("create table t as", "a query was expected"),
    ("create table t as frobnicate", "a query was expected"),
    ("create view v", "AS and a query were expected"),
    ("create table a-b (x int)", "needs backquotes"),
    ("drop table", "a name was expected"),
    ("drop table a b", "near 'b': this was not expected here"),
    ("alter table t", "an action was expected"),
    ("alter table t rename a b", "TO was expected"),
    ("alter table t alter column a", "was expected"),
    ("alter table t add column", "a column was expected"),
    ("comment on table t is", "a string in quotes was expected"),
    ("comment on index t is 'x'", "SCHEMA, TABLE, VIEW or COLUMN was expected"),
]


@pytest.mark.parametrize(("text", "expected"), CREATE + DROP)
def test_definitions(text: str, expected: Statement) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(("text", "expected"), ALTER)
def test_alterations(text: str, expected: Alteration) -> None:
    assert parse(f"alter table lake.main.t {text}") == AlterTable(LAKE_T, expected)


def stored(default: Default | None, type_name: str) -> Default | None:
    """Return a default with an expression in DuckDB's SQL, if it has one that means the same."""
    typed = default and typed_default(default, type_name)
    text = None if typed is None or typed.kind == "literal" else stored_expression(typed.text)
    return typed if text is None else Default(text, "expression", "duckdb")


@pytest.mark.parametrize(("text", "expected"), DEFAULTS)
@pytest.mark.parametrize("behind", ["", " not null", " comment 'x'"])
def test_defaults_are_stored_as_ducklake_stores_them(text: str, expected: Default | None, behind: str) -> None:
    statement = parse(f"create table t (a int default {text}{behind}, b int)")
    assert isinstance(statement, CreateTable)
    default = statement.columns[0].default
    assert stored(default, "int32") == expected
    assert len(statement.columns) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", Default("5")),
        ("-30", Default("-30")),
        ("'007'", Default("007")),
        ("007", Default("007", "expression")),
        ("1e2", Default("1e2", "expression")),
        ("1.50", Default("1.50", "expression")),
        ("TIMESTAMP '2020-01-01'", Default("CAST('2020-01-01' AS TIMESTAMPTZ)", "expression")),
    ],
)
def test_an_unquoted_default_of_a_string_column_has_the_string_of_its_value(text: str, expected: Default) -> None:
    statement = parse(f"alter table t alter column a set default {text}")
    assert isinstance(statement, AlterTable)
    assert isinstance(statement.action, SetDefault)
    assert statement.action.default is not None
    assert stored(statement.action.default, "varchar") == expected


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_the_error_names_what_a_lake_does_not_support(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message) as caught:
        parse(text)
    assert not str(caught.value).startswith("Syntax error")


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_syntax_errors_name_the_position_and_the_expected_text(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse(text)
