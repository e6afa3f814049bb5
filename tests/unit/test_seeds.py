"""The table that a seed's CSV file describes."""

from __future__ import annotations

import agate
import pytest
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.ducklake.impl import DuckLakeAdapter
from dbt.adapters.ducklake.seeds import fitted_rows, seed_columns, unknown_columns


def table(**columns: list[str]) -> agate.Table:
    from dbt_common.clients.agate_helper import table_from_rows

    return table_from_rows(list(zip(*columns.values(), strict=True)), list(columns))


def test_types_are_inferred_and_overridden() -> None:
    csv = table(
        id=["1", "2"], price=["1.5", "2"], day=["2020-01-01", ""], at=["2020-01-01 10:00:00", ""], ok=["true", "false"], name=["a", "b"]
    )

    assert seed_columns(csv, {"id": "int4"}, None, DuckLakeAdapter.convert_type) == [
        ("id", "int4"),
        ("price", "double"),
        ("day", "date"),
        ("at", "timestamp"),
        ("ok", "boolean"),
        ("name", "string"),
    ]


def test_types_of_columns_that_the_csv_lacks_are_found() -> None:
    assert unknown_columns(table(id=["1"], name=["a"]), {"id": "int", "Name": "string", "price": "double"}) == ["Name", "price"]


@pytest.mark.parametrize("name", ["a|b|c", "a b", "1", "a-b"])
def test_a_name_that_needs_quotes_is_refused_without_them(name: str) -> None:
    csv = table(**{name: ["x"]})

    with pytest.raises(DbtDatabaseError, match=r"Syntax error.*delimiter"):
        seed_columns(csv, {}, False, DuckLakeAdapter.convert_type)
    assert seed_columns(csv, {}, None, DuckLakeAdapter.convert_type) == [(name, "string")]


def test_rows_follow_the_columns_of_the_table() -> None:
    csv = table(id=["1"], name=["a"])

    assert [tuple(row) for row in fitted_rows(csv, ["NAME", "added", "id"])] == [("a", None, 1)]


def test_the_error_for_a_new_column_suggests_a_full_refresh() -> None:
    with pytest.raises(DbtRuntimeError, match=r"new columns \(name\).*--full-refresh"):
        fitted_rows(table(id=["1"], name=["a"]), ["id"])
