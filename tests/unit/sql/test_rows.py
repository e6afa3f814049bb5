"""INSERT, UPDATE, DELETE and MERGE are split into unchanged parts, with the names in them."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.sql.parse import parse
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.rows import fill_defaults
from dbt.adapters.ducklake.sql.values import (
    Assignment,
    Delete,
    Insert,
    Merge,
    MergeClause,
    Name,
    PartitionKey,
    PartitionTarget,
    Qualifier,
    Reference,
    Sql,
    Statement,
    TimeTravel,
    Truncate,
    Update,
)

T = Name(("t",))
ST = Name(("s", "t"))
SELECT = references("select * from s.u")


def source(text: str, *parts: str, at: TimeTravel | None = None) -> Sql:
    return Sql(text, (Reference(0, len(text), Name(parts), at, aliased=True),))


def qualified(text: str, *names: Name) -> Sql:
    """Return a text without references in which `s.t` qualifies columns."""
    places = tuple(Qualifier(i, i + len(str(name)), name) for name in names for i in range(len(text)) if text.startswith(f"{name}.", i))
    return Sql(text, qualifiers=tuple(sorted(places, key=lambda place: place.start)))


INSERT = [
    ("insert into t select * from s.u", Insert(T, SELECT)),
    ("INSERT INTO TABLE `s`.`t` SELECT 1", Insert(ST, Sql("SELECT 1"))),
    ("insert into t (a, `b c`) select * from s.u", Insert(T, SELECT, ("a", "b c"))),
    ("insert into t (a, b) (\n  select * from s.u\n)", Insert(T, references("(\n  select * from s.u\n)"), ("a", "b"))),
    ("insert into t (select * from s.u)", Insert(T, references("(select * from s.u)"))),
    ("insert into t ((select 1) union (select 2))", Insert(T, Sql("((select 1) union (select 2))"))),
    ("insert into t by name select * from s.u", Insert(T, SELECT, by_name=True)),
    ("insert into t values (1, 'a'), (2, 'b')", Insert(T, Sql("values (1, 'a'), (2, 'b')"))),
    ("insert into t (a) values (1);", Insert(T, Sql("values (1)"), ("a",))),
    ("insert into t table u", Insert(T, references("table u"))),
    ("insert into t from s.u select *", Insert(T, references("from s.u select *"))),
    ("insert into t with c as (select * from s.u) select * from c", Insert(T, references("with c as (select * from s.u) select * from c"))),
    ("with c as (select * from s.u) insert into t select * from c", Insert(T, references("with c as (select * from s.u) select * from c"))),
    (
        "with c as (select 1) insert into t with d as (select * from c) select * from c, d, e",
        Insert(T, references("with c as (select 1), d as (select * from c) select * from c, d, e")),
    ),
    ("insert overwrite t select * from s.u", Insert(T, SELECT, overwrite=True)),
    (
        "insert overwrite table t partition (a = 'x', b) select * from s.u",
        Insert(T, SELECT, overwrite=True, partition=(PartitionTarget(PartitionKey("a"), "'x'"), PartitionTarget(PartitionKey("b")))),
    ),
    (
        "insert into t partition (a = date '2020-01-01') (b) select * from s.u",
        Insert(T, SELECT, ("b",), partition=(PartitionTarget(PartitionKey("a"), "date '2020-01-01'"),)),
    ),
    (
        "insert overwrite t partition (days(a), bucket(4, b)) select * from s.u",
        Insert(
            T,
            SELECT,
            overwrite=True,
            partition=(PartitionTarget(PartitionKey("a", "day")), PartitionTarget(PartitionKey("b", "bucket(4)"))),
        ),
    ),
    ("insert into t replace where a > 1 select * from s.u", Insert(T, SELECT, replace_where=Sql("a > 1"))),
    (
        "insert into t replace where a is not distinct from 1 or b is distinct from c select * from s.u",
        Insert(T, SELECT, replace_where=Sql("a is not distinct from 1 or b is distinct from c")),
    ),
    (
        "insert into t replace where map['k'] = 1 and not values or a > reduce(b, 0, x -> x) select * from s.u",
        Insert(T, SELECT, replace_where=Sql("map['k'] = 1 and not values or a > reduce(b, 0, x -> x)")),
    ),
    ("insert into t replace where values is null values (1)", Insert(T, Sql("values (1)"), replace_where=Sql("values is null"))),
    (
        "insert into t replace where a = values from s.u select *",
        Insert(T, references("from s.u select *"), replace_where=Sql("a = values")),
    ),
    ("insert into t (values, b) values (1, 2)", Insert(T, Sql("values (1, 2)"), ("values", "b"))),
    ("insert into t (map, `from`, table) (select 1, 2, 3)", Insert(T, Sql("(select 1, 2, 3)"), ("map", "from", "table"))),
    ("insert into t (from) select * from s.u", Insert(T, SELECT, ("from",))),
    ("insert into t (table u)", Insert(T, references("(table u)"))),
    ("insert into t (values (1), (2))", Insert(T, Sql("(values (1), (2))"))),
    ("insert into t (values 1, 2)", Insert(T, Sql("(values 1, 2)"))),
    (
        "insert into s.t replace where s.t.a in (select b from c) (select * from s.u)",
        Insert(
            ST,
            references("(select * from s.u)"),
            replace_where=Sql("s.t.a in (select b from c)", (Reference(24, 25, Name(("c",))),), (Qualifier(0, 3, ST),)),
        ),
    ),
    ("/* q */ insert into t -- why\n  select * from s.u -- end", Insert(T, SELECT)),
]

UPDATE = [
    ("update t set a = 1", Update(T, None, (Assignment(("a",), Sql("1")),), None)),
    (
        "update s.t as x set x.a = x.a + 1, b = default, `c d` = (select max(v) from w) where x.i in (select j from q)",
        Update(
            ST,
            "x",
            (
                Assignment(("a",), Sql("x.a + 1")),
                Assignment(("b",), None),
                Assignment(("c d",), references("(select max(v) from w)")),
            ),
            references("x.i in (select j from q)"),
        ),
    ),
    (
        "update s.t set s.t.a = 1, t.b = s.t.a, c.d = 2 where s.t.i = 3 and t.j",
        Update(
            ST,
            None,
            (Assignment(("a",), Sql("1")), Assignment(("b",), qualified("s.t.a", ST)), Assignment(("c", "d"), Sql("2"))),
            qualified("s.t.i = 3 and t.j", ST),
        ),
    ),
    (
        "update t set a = case when b then 'where, set' else f(c, d) end where case when e then f end",
        Update(T, None, (Assignment(("a",), Sql("case when b then 'where, set' else f(c, d) end")),), Sql("case when e then f end")),
    ),
    (
        "update t set changed = a is distinct from b, same = a is not distinct from b where c is distinct from 1",
        Update(
            T,
            None,
            (Assignment(("changed",), Sql("a is distinct from b")), Assignment(("same",), Sql("a is not distinct from b"))),
            Sql("c is distinct from 1"),
        ),
    ),
    (
        "with c as (select * from u) update t set a = (select max(x) from c) where b in (select y from c) and d",
        Update(
            T,
            None,
            (Assignment(("a",), references("(with c as (select * from u) select max(x) from c)")),),
            references("b in (with c as (select * from u) select y from c) and d"),
        ),
    ),
]

DELETE = [
    ("delete from t", Delete(T, None, None)),
    ("delete from t where a = 1;", Delete(T, None, Sql("a = 1"))),
    ("delete from s.t x where x.a = 'ü😀'", Delete(ST, "x", Sql("x.a = 'ü😀'"))),
    ("delete from s.t where s.t.a = 1", Delete(ST, None, qualified("s.t.a = 1", ST))),
    (
        "delete from `s`.`t` as DBT_INTERNAL_DEST\n where (id) in (\n select distinct id\n from s.u as DBT_INTERNAL_SOURCE\n );",
        Delete(ST, "DBT_INTERNAL_DEST", references("(id) in (\n select distinct id\n from s.u as DBT_INTERNAL_SOURCE\n )")),
    ),
    (
        "delete from t using u where u.i = t.i and t.x > 1",
        Delete(T, None, references("EXISTS (SELECT 1 FROM u where u.i = t.i and t.x > 1)")),
    ),
    ("delete from t -- D:\\a\\\r\nwhere i = 2", Delete(T, None, Sql("i = 2"))),
    ("delete from t -- a\rwhere i = 2", Delete(T, None, Sql("i = 2"))),
    (
        "delete from t using (select * from t) b where t.i = b.t",
        Delete(T, None, references("EXISTS (SELECT 1 FROM (select * from t) b where t.i = b.t)", (T,))),
    ),
    ("delete from t a using (select 1 i) b where a.i = b.i", Delete(T, "a", Sql("EXISTS (SELECT 1 FROM (select 1 i) b where a.i = b.i)"))),
    (
        "delete from s.t using s.u where s.u.i = s.t.i",
        Delete(
            ST,
            None,
            Sql(
                "EXISTS (SELECT 1 FROM s.u where s.u.i = s.t.i)",
                (Reference(22, 25, Name(("s", "u"))),),
                (Qualifier(32, 35, Name(("s", "u"))), Qualifier(40, 43, ST)),
            ),
        ),
    ),
    ("truncate table s.t", Truncate(ST)),
]

MATCHED_STAR = MergeClause("matched", None, "update", "name")
MISSING_STAR = MergeClause("not_matched", None, "insert", "name")
ON = Sql("a.i = b.i")

MERGE = [
    ("merge into t a using u b on a.i = b.i when matched then update set *", Merge(T, "a", source("u", "u"), "b", ON, (MATCHED_STAR,))),
    ("merge into t a using u b on a.i = b.i when matched then update *", Merge(T, "a", source("u", "u"), "b", ON, (MATCHED_STAR,))),
    (
        "merge into t a using u b on a.i = b.i when not matched by target then insert *",
        Merge(T, "a", source("u", "u"), "b", ON, (MISSING_STAR,)),
    ),
    (
        # as in DuckDB: without SET by name, without columns by position
        "merge into t using u b using (i, `J`) when matched then update when not matched then insert",
        Merge(
            T,
            None,
            source("u", "u"),
            "b",
            Sql("`t`.`i` = `b`.`i` AND `t`.`J` = `b`.`J`"),
            (MATCHED_STAR, MergeClause("not_matched", None, "insert", "position")),
        ),
    ),
    (
        "merge into t a using u b on a.i = b.i when matched then update by position when not matched then insert by name",
        Merge(T, "a", source("u", "u"), "b", ON, (MergeClause("matched", None, "update", "position"), MISSING_STAR)),
    ),
    (
        "merge into s.t using s.u on s.t.i = s.u.i and u.j = t.j when matched then delete",
        Merge(
            ST,
            None,
            source("s.u", "s", "u"),
            "u",
            qualified("s.t.i = s.u.i and u.j = t.j", ST, Name(("s", "u"))),
            (MergeClause("matched", None, "delete"),),
        ),
    ),
    (
        "merge with schema evolution into t a using u version as of 3 as b on a.i = b.i when matched then update set *",
        Merge(T, "a", source("u version as of 3", "u", at=TimeTravel(version=3)), "b", ON, (MATCHED_STAR,), True),
    ),
    (
        "merge into t a using u at (version => 3) b on a.i = b.i when matched then update set *",
        Merge(T, "a", source("u at (version => 3)", "u", at=TimeTravel(version=3)), "b", ON, (MATCHED_STAR,)),
    ),
    (
        "merge into t a using u b at (version => 3) on a.i = b.i when matched then update set *",
        Merge(T, "a", source("u b at (version => 3)", "u", at=TimeTravel(version=3)), "b", ON, (MATCHED_STAR,)),
    ),
    (
        "merge into t a using (select * from s.u) b on a.i = b.i when not matched then insert *",
        Merge(T, "a", references("(select * from s.u)"), "b", ON, (MISSING_STAR,)),
    ),
    (
        "merge into t a using (values (1)) as b(i) on a.i = b.i when not matched then insert *",
        Merge(T, "a", Sql("(SELECT * FROM (values (1)) AS b(i))"), "b", ON, (MISSING_STAR,)),
    ),
    (
        "with c as (select * from s.u) merge into t a using c b on a.i = b.i when matched and a.x in (select y from c) then delete",
        Merge(
            T,
            "a",
            references("(with c as (select * from s.u) SELECT * FROM c)"),
            "b",
            ON,
            (MergeClause("matched", references("a.x in (with c as (select * from s.u) select y from c)"), "delete"),),
        ),
    ),
    (
        """merge into t a using u b on a.i = b.i
           when matched and case when a.x then b.y end then update set a.x = b.x, `y` = case when b.y then 1 end, z = default
           when matched and b.gone then delete
           when matched then update set x = (select max(x) from s.v)
           when not matched and b.x > 1 then insert (i, a.x) values (b.i, f(b.x, 'when'))
           when not matched then insert (i, x) values (b.i, default)
           when not matched by source and a.x < 5 then update set x = 0
           when not matched by source then delete""",
        Merge(
            T,
            "a",
            source("u", "u"),
            "b",
            ON,
            (
                MergeClause(
                    "matched",
                    Sql("case when a.x then b.y end"),
                    "update",
                    assignments=(
                        Assignment(("x",), Sql("b.x")),
                        Assignment(("y",), Sql("case when b.y then 1 end")),
                        Assignment(("z",), None),
                    ),
                ),
                MergeClause("matched", Sql("b.gone"), "delete"),
                MergeClause("matched", None, "update", assignments=(Assignment(("x",), references("(select max(x) from s.v)")),)),
                MergeClause(
                    "not_matched",
                    Sql("b.x > 1"),
                    "insert",
                    assignments=(Assignment(("i",), Sql("b.i")), Assignment(("x",), Sql("f(b.x, 'when')"))),
                ),
                MergeClause("not_matched", None, "insert", assignments=(Assignment(("i",), Sql("b.i")), Assignment(("x",), None))),
                MergeClause("not_matched_by_source", Sql("a.x < 5"), "update", assignments=(Assignment(("x",), Sql("0")),)),
                MergeClause("not_matched_by_source", None, "delete"),
            ),
        ),
    ),
    (
        # dbt's default merge
        """-- back compat for old kwarg name


    merge into `lake`.`main`.`t` as DBT_INTERNAL_DEST
        using `lake`.`main`.`t__dbt_tmp` as DBT_INTERNAL_SOURCE
        on (
                    DBT_INTERNAL_SOURCE.`id` = DBT_INTERNAL_DEST.`id`
                )

    when matched then update set
        `id` = DBT_INTERNAL_SOURCE.`id`,`größe` = DBT_INTERNAL_SOURCE.`größe`

    when not matched then insert
        (`id`, `größe`)
    values
        (`id`, `größe`)
""",
        Merge(
            Name(("lake", "main", "t")),
            "DBT_INTERNAL_DEST",
            source("`lake`.`main`.`t__dbt_tmp`", "lake", "main", "t__dbt_tmp"),
            "DBT_INTERNAL_SOURCE",
            Sql("(\n                    DBT_INTERNAL_SOURCE.`id` = DBT_INTERNAL_DEST.`id`\n                )"),
            (
                MergeClause(
                    "matched",
                    None,
                    "update",
                    assignments=(
                        Assignment(("id",), Sql("DBT_INTERNAL_SOURCE.`id`")),
                        Assignment(("größe",), Sql("DBT_INTERNAL_SOURCE.`größe`")),
                    ),
                ),
                MergeClause(
                    "not_matched", None, "insert", assignments=(Assignment(("id",), Sql("`id`")), Assignment(("größe",), Sql("`größe`")))
                ),
            ),
        ),
    ),
    (
        # dbt's snapshot merge
        """merge into `l`.`m`.`snap` as DBT_INTERNAL_DEST
    using `l`.`m`.`snap__dbt_tmp` as DBT_INTERNAL_SOURCE
    on DBT_INTERNAL_SOURCE.dbt_scd_id = DBT_INTERNAL_DEST.dbt_scd_id

    when matched
     and DBT_INTERNAL_DEST.dbt_valid_to is null
     and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
        then update
        set dbt_valid_to = DBT_INTERNAL_SOURCE.dbt_valid_to

    when not matched
     and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
        then insert (id, dbt_valid_to)
        values (id, dbt_valid_to)
;
""",
        Merge(
            Name(("l", "m", "snap")),
            "DBT_INTERNAL_DEST",
            source("`l`.`m`.`snap__dbt_tmp`", "l", "m", "snap__dbt_tmp"),
            "DBT_INTERNAL_SOURCE",
            Sql("DBT_INTERNAL_SOURCE.dbt_scd_id = DBT_INTERNAL_DEST.dbt_scd_id"),
            (
                MergeClause(
                    "matched",
                    Sql("DBT_INTERNAL_DEST.dbt_valid_to is null\n     and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')"),
                    "update",
                    assignments=(Assignment(("dbt_valid_to",), Sql("DBT_INTERNAL_SOURCE.dbt_valid_to")),),
                ),
                MergeClause(
                    "not_matched",
                    Sql("DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'"),
                    "insert",
                    assignments=(Assignment(("id",), Sql("id")), Assignment(("dbt_valid_to",), Sql("dbt_valid_to"))),
                ),
            ),
        ),
    ),
]

REFUSED = [
    ("insert with schema evolution into t select 1", "INSERT WITH SCHEMA EVOLUTION is not supported"),
    ("insert into t partition (a = 1) if not exists select 1", "IF NOT EXISTS is not supported"),
    ("insert into t replace using (a) select 1", "only supported with WHERE"),
    ("insert into t default values", "DEFAULT VALUES is not supported"),
    ("from u insert into t select a insert into v select b", "FROM … INSERT is not supported"),
    ("update t set a = 1 from u where t.i = u.i", "UPDATE … FROM is not supported: write MERGE INTO"),
    ("delete from a.t using b.t where a.t.i = b.t.i", "both relations are called t"),
    ("delete from a.t using (select 1 i) as t where t.i = 1", "both relations are called t"),
    ("delete from a.t using u, (values (1)) T (i) where t.i = 1", "both relations are called t"),
    ("delete from a.t using s.u join b.t on u.i = t.i where t.i = u.i", "both relations are called t"),
    ("delete from a.t using range(1) t where t.id = 1", "both relations are called t"),
    ("delete from a.t using (b.v join b.w on true) t where t.i = 1", "both relations are called t"),
    ("delete from a.t x using u join parquet.`/p` x where x.i = 1", "both relations are called x"),
    ("with t as (select 1 i) delete from a.t using u, t where t.i = 1", "both relations are called t"),
    ("insert overwrite t partition (week(a)) select 1", "week is not a DuckLake transform"),
    ("truncate table t partition (a = 1)", "write DELETE FROM"),
    ("merge into t a using u b on a.i = b.i when not matched then insert values (1)", "INSERT needs its columns"),
    ("merge into t a using u b on a.i = b.i when not matched then insert (a, b) values (1)", "names 2 columns and 1 values"),
    ("merge into a.t using b.t on a.t.i = b.t.i when matched then delete", "both called t"),
]

WRONG = [
    ("insert into t", "at the end of the statement: a query was expected"),
    ("insert t select 1", "INTO was expected"),
    ("insert into t (a, b)", "a query was expected"),
    ("insert into t (a b) select 1", "near 'b\\)"),
    ("update t where a", "SET was expected"),
    ("update t set", "an assignment was expected"),
    ("update t set a", "= and a value were expected"),
    ("update t set a = ", "a value was expected"),
    ("update t set a = 1 where", "a condition was expected"),
    ("delete t", "DELETE FROM was expected"),
    ("delete from t wher a = 1", "near 'a = 1': WHERE was expected"),
    ("merge into t using (select 1) (i) on t.i = i when matched then delete", "an alias of the source was expected before its columns"),
    ("merge into t using u version as of 3 (i) on t.i = i when matched then delete", "an alias .* between its version and its columns"),
    ("merge into t using u x at (version => 3) (i) on t.i = i when matched then delete", "an alias .* between its version and its columns"),
    ("merge into t using l.snapshots() (i) on t.i = i when matched then delete", "an alias .* between its arguments and its columns"),
    ("merge into t using u on a", "WHEN MATCHED or WHEN NOT MATCHED was expected"),
    ("merge into t using u when matched then delete", "ON was expected"),
    ("merge into t using u on when matched then delete", "a condition was expected"),
    ("merge into t using range(1) on a when matched then delete", "a table, a view or a query in parentheses was expected"),
    ("merge into t using u on a when matched then insert *", "near 'insert \\*': UPDATE or DELETE was expected"),
    ("merge into t using u on a when not matched then delete", "near 'delete': INSERT was expected"),
    ("merge into t using u on a when matched then", "UPDATE or DELETE was expected"),
    ("merge into t using u on a\nwhen matched thn delete", "THEN was expected"),
    ("merge into t using u on a when matched then delete x", "near 'x': this was not expected here"),
]


@pytest.mark.parametrize(("text", "expected"), INSERT + UPDATE + DELETE + MERGE)
def test_rows(text: str, expected: Statement) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_unsupported_statements_are_refused_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        parse(text)


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_syntax_errors_name_the_position_and_the_expected_text(text: str, message: str) -> None:
    with pytest.raises(StatementError, match=f"^Syntax error in line .*{message}"):
        parse(text)


def test_qualifiers_of_the_target_are_bound_by_the_caller() -> None:
    statement = parse("delete from s.t where s.t.a = (select max(b) from s.u where s.u.c = s.t.c)")
    assert isinstance(statement, Delete)
    assert statement.condition is not None
    bound = "".join(statement.condition.pieces(lambda _: "`s.u@1`", (statement.name,)))
    assert bound == "`t`.a = (select max(b) from `s.u@1` AS `u` where `u`.c = `t`.c)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("values (1, default), (DEFAULT, 'default')", "values (1, <1>), (<0>, 'default')"),
        ("values default, (2)", "values <0>, (2)"),
        ("values (f(default), (select x from default))", "values (f(default), (select x from default))"),
        ("select default from t", "select default from t"),
    ],
)
def test_default_in_values_is_replaced_by_position(text: str, expected: str) -> None:
    assert fill_defaults(references(text), lambda ordinal: f"<{ordinal}>").text == expected
