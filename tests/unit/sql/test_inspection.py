"""How SHOW, DESCRIBE, USE, CALL, BEGIN, COMMIT and ROLLBACK are parsed, and which statements are passed to Spark."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.sql.parse import parse
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.values import (
    Argument,
    Begin,
    Call,
    Commit,
    Describe,
    DescribeDetail,
    DescribeHistory,
    Foreign,
    Name,
    PassThrough,
    Query,
    Rollback,
    Show,
    ShowCreate,
    ShowProperties,
    Sql,
    Statement,
    TimeTravel,
    Use,
)

T = Name(("t",))

NOT_FOR_SPARK = [
    ("show schemas", Show("schemas")),
    ("SHOW DATABASES LIKE 'a*';", Show("schemas", like="a*")),
    ("show schemas in lake", Show("schemas", Name(("lake",)))),
    ("show tables", Show("tables")),
    ("show create table s.`t t`;", ShowCreate(Name(("s", "t t")))),
    ("show tables in lake.s like 'a*|b'", Show("tables", Name(("lake", "s")), "a*|b")),
    ("show tables from `s` 'x'", Show("tables", Name(("s",)), "x")),
    ("show table extended in s like 'a*'", Show("table extended", Name(("s",)), "a*")),
    ("show views in s", Show("views", Name(("s",)))),
    ("show columns in s.t", Show("columns", Name(("s", "t")))),
    ("show columns from t from s", Show("columns", Name(("s", "t")))),
    ("describe t", Describe(T)),
    ("desc table `lake`.s.t", Describe(Name(("lake", "s", "t")))),
    ("describe extended t", Describe(T, True)),
    ("describe table formatted t", Describe(T, True)),
    ("describe table", Describe(Name(("table",)))),
    ("describe t version as of 3", Describe(T, at=TimeTravel(3))),
    ("describe extended t at (version => 3)", Describe(T, True, TimeTravel(3))),
    ("describe history t", DescribeHistory(T)),
    ("desc history lake.s.t limit 3", DescribeHistory(Name(("lake", "s", "t")), 3)),
    ("describe history version as of 3", Describe(Name(("history",)), at=TimeTravel(3))),
    ("describe history", Describe(Name(("history",)))),
    ("describe detail s.t", DescribeDetail(Name(("s", "t")))),
    ("show tblproperties s.t", ShowProperties(Name(("s", "t")))),
    ("show tblproperties t ('a b')", ShowProperties(T, "a b")),
    ("show tblproperties t (created.by)", ShowProperties(T, "created.by")),
    ("use s", Use(Name(("s",)))),
    ("use schema `s`", Use(Name(("s",)))),
    ("use lake.s", Use(Name(("lake", "s")))),
    ("use catalog lake", Use(Name(("lake",)))),
    ("begin", Begin()),
    ("/* dbt */ BEGIN TRANSACTION;", Begin()),
    ("start transaction", Begin()),
    ("begin work", Begin()),
    ("commit", Commit()),
    ("COMMIT WORK;", Commit()),
    ("rollback transaction", Rollback()),
    ("call lake.snapshots()", Call(Name(("lake", "snapshots")))),
    (
        "call lake.set_commit_message('a', \"it's\", extra_info => '{\"x\": 1}')",
        Call(Name(("lake", "set_commit_message")), (Argument(None, "a"), Argument(None, "it's"), Argument("extra_info", '{"x": 1}'))),
    ),
    (
        "call x(1, -2, 1.5, -1.5e3, 3L, true, FALSE, null, [1, 'a'], array(2), array())",
        Call(Name(("x",)), tuple(Argument(None, v) for v in [1, -2, 1.5, -1500.0, 3, True, False, None, [1, "a"], [2], []])),
    ),
    (
        "call x(t => timestamp '2026-01-31 12:00:00.123456789Z', d => date '2026-01-31', z => timestamp '2026-01-31 12:00:00+00')",
        Call(
            Name(("x",)),
            (
                Argument("t", datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=timezone.utc)),
                Argument("d", datetime(2026, 1, 31)),
                Argument("z", datetime(2026, 1, 31, 12, tzinfo=timezone.utc)),
            ),
        ),
    ),
]

QUERIES = [
    "select 1",
    "/* {} */ select * from t",
    "(select * from t) union all (select 1)",
    "with c as (select * from t) select * from c",
    "values (1)",
    "table t",
    "from t select a",
    "from t |> where x",
    "explain extended select * from t",
    "describe query select * from t",
    "desc select * from t",
    "select * from (\n  select 1 as id\n) as __dbt_sbq\nwhere false\nlimit 0",
]
ONLY_FOR_SPARK = ["show functions", "show catalogs", "describe function upper"]

PASSED_THROUGH = [
    "create global temporary view v as select * from t",
    "create temporary view v using csv options (path '/x')",
    "create temporary function f(x int) returns int return (select max(a) from t)",
    "drop temporary function f",
    "declare variable x int default 5",
    "cache table c as select * from t",
    "uncache table if exists c",
    "clear cache",
    "insert overwrite directory '/x' using parquet select * from t",
    "begin declare x int; select * from t; end",
    "execute immediate 'select 1'",
    "grant select on t to x",
    "frobnicate t",
    "set variable x = (select max(a) from t)",
    "/* a */ frobnicate /* b */ set x = (select max(a) from t)",
    " " * 200 + "frobnicate",
]
VERBATIM = [
    "set spark.sql.shuffle.partitions = 2",
    "SET x = don't",
    "-- why\nset time zone 'UTC'",
    "reset x",
    "add jar /x/y.jar",
    "list files",
]


@pytest.mark.parametrize(("text", "expected"), NOT_FOR_SPARK)
def test_statements_that_are_not_passed_to_spark(text: str, expected: Statement) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("ending", ["", ";", " ;\n;", " -- end", "\n/* end; */\n"])
def test_queries_are_passed_with_their_references(text: str, ending: str) -> None:
    assert parse(text + ending) == Query(references(text))


@pytest.mark.parametrize("text", ONLY_FOR_SPARK)
def test_statements_that_only_spark_can_answer(text: str) -> None:
    assert parse(text) == Query(Sql(text))


@pytest.mark.parametrize("text", PASSED_THROUGH)
def test_other_statements_of_spark_are_passed_with_their_references(text: str) -> None:
    assert parse(text) == PassThrough(references(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("refresh table t", "t"),
        ("analyze table a.t compute statistics", "a.t"),
        ("show partitions x.a.t", "x.a.t"),
        ("explain insert into table t select * from u", "t"),
    ],
)
def test_statements_that_are_passed_only_for_tables_outside_the_lake(text: str, name: str) -> None:
    found = parse(text)
    assert isinstance(found, Foreign)
    assert (str(found.name), found.query) == (name, references(text))


@pytest.mark.parametrize(
    "text", ["refresh function f", "refresh '/path'", "explain select 1", "explain (select * from t)", "show partitions"]
)
def test_similar_statements_are_not_limited_to_tables_outside_the_lake(text: str) -> None:
    assert not isinstance(parse(text), Foreign)


@pytest.mark.parametrize("text", VERBATIM)
def test_settings_and_resources_are_passed_verbatim(text: str) -> None:
    assert parse(text + ";") == PassThrough(Sql(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the statement is empty"),
        (" ;; -- nothing", "the statement is empty"),
        ("select 1; select 2", "more than one statement"),
        ("describe t a", "describe the table"),
        ("describe history t limit 1.5", "LIMIT of DESCRIBE HISTORY must be a whole number"),
        ("describe detail t limit 3", "near 'limit 3': this was not expected here"),
        ("show tblproperties t 'a'", r"\( was expected"),
        ("show columns", "SHOW COLUMNS needs IN"),
        ("show table extended in s", "SHOW TABLE EXTENDED needs LIKE"),
        ("show tables in", "Syntax error in line 1, at the end of the statement: a name was expected"),
        ("use", "Syntax error"),
        ("call x", r"\( was expected"),
        ("call x(rand())", "near 'rand\\(\\)\\)': a constant was expected"),
        ("call x(a => )", "a constant was expected"),
        ("call x(timestamp 'soon')", "this is not a timestamp"),
        ("commit now", "near 'now': this was not expected here"),
    ],
)
def test_errors_describe_the_problem(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse(text)
