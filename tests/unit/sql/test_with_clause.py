"""A WITH clause before a statement is moved into the queries of the statement, and into nothing else."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.with_clause import WithClause

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
