"""The SQL of a model is one query."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.impl import DuckLakeAdapter
from tests.unit.macros.macro_rendering import Macros, relation


@pytest.mark.parametrize("sql", ["select 1", "select ';' as a -- ;\n", "select 1;", "select 1; ;\n-- end"])
def test_semicolons_that_separate_nothing_are_allowed(sql: str) -> None:
    assert DuckLakeAdapter.only_query(None, sql) == sql  # type: ignore[arg-type]


def test_a_second_statement_is_an_error() -> None:
    with pytest.raises(DbtRuntimeError, match=r"The model has 2 statements.*`pre_hook`, `post_hook` or `sql_header`"):
        DuckLakeAdapter.only_query(None, "select 1 as a; select 2 as b")  # type: ignore[arg-type]


@pytest.mark.parametrize("macro", ["ducklake__create_lake_table_as", "ducklake__create_temporary_view", "ducklake__create_view_as"])
def test_each_macro_that_creates_a_relation_of_a_query_checks_it(macro: str, macros: Macros) -> None:
    getattr(macros, macro)(relation("t"), "select 1; select 2")
    assert ("only_query", "select 1; select 2") in macros.adapter.calls
