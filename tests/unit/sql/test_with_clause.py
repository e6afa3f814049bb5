"""A WITH clause before a statement is moved into the queries of the statement, and into nothing else."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.sql.parse import parse
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.tokens import Cursor, Source
from dbt.adapters.ducklake.sql.values import Query
from dbt.adapters.ducklake.sql.with_clause import WithClause, with_clause

CLAUSE = WithClause("with c as (select 1)")


@pytest.mark.parametrize("query", ["select 1", "from c select *", "values (1), (2)", "values 1, 2", "table c", "map x using 'cat' from c"])
def test_a_query_begins_with_the_clause(query: str) -> None:
    assert CLAUSE.into(references(f"a in ({query})")).text == f"a in (with c as (select 1) {query})"


@pytest.mark.parametrize(
    "operand",
    [
        "map('a', 1)",
        "reduce(l, 0, (x, y) -> x)",
        "values",
        "values, b",
        "values.x + 1",
        "values - 1",
        "values is null",
        "table.x",
        "map['a']",
    ],
)
def test_columns_and_functions_with_the_names_of_queries_stay(operand: str) -> None:
    assert CLAUSE.into(references(f"f({operand})")).text == f"f({operand})"


@pytest.mark.parametrize("alias", ["delete", "insert", "update", "merge"])
def test_a_query_may_have_an_alias_that_is_the_verb_of_a_statement(alias: str) -> None:
    assert isinstance(parse(f"with a as (select 1 as x) select count(*) {alias} from a"), Query)
    assert isinstance(parse(f"with a as (select 1 as x) from (select 2) {alias} select 1"), Query)
    assert isinstance(parse(f"explain extended with a as (select 1 as x) select count(*) {alias} from a"), Query)


@pytest.mark.parametrize(
    "clause",
    [
        "with a as (select 1)",
        "WITH a (x, y) AS (select 1, 2), `b` (select 3)",
        "with recursive a (x) max recursion level 5 as (select 1)",
        "with recursive as (select 1)",
    ],
)
def test_a_clause_ends_after_its_last_cte(clause: str) -> None:
    cursor = Cursor(Source(f"{clause} delete from t where i in (select 1) insert"))
    assert with_clause(cursor).text == clause
    assert cursor.text == "delete from t where i in (select 1) insert"
