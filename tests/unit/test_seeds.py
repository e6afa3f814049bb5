"""The table that a seed's CSV file describes."""

from __future__ import annotations

from pathlib import Path

import agate
import pytest
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.ducklake.impl import DuckLakeAdapter
from dbt.adapters.ducklake.seeds import fitted_rows, require_header, seed_columns, unknown_columns


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


@pytest.mark.parametrize("name", ["property_hs_all-funky-a9384-syntax", "a b", "1", "select", "plain"])
@pytest.mark.parametrize("quote_columns", [None, False, True])
def test_a_name_is_quoted_where_it_needs_quotes(name: str, quote_columns: bool | None) -> None:
    assert seed_columns(table(**{name: ["x"]}), {}, quote_columns, DuckLakeAdapter.convert_type) == [(name, "string")]
    quoted = quote_columns is not False or name not in ("plain", "select")
    assert object.__new__(DuckLakeAdapter).quote_seed_column(name, quote_columns) == (f"`{name}`" if quoted else name)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        ("\n1,2\n", "it is empty"),
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ("\ufeffid,name, ID\n1,2,3\n", None),
        ("\ufeffid,name,ID\n1,2,3\n", "two columns have the name ID"),
        ("1,2.5,-3e7\n4,5,6\n", "the names 1, 2.5, -3e7 are numbers, so the header seems to be missing"),
        ("id,2025\n4,5\n", None),
        ('"a,b",c\n4,5\n', None),
    ],
)
def test_a_header_names_each_column_once(tmp_path: Path, text: str, fault: str | None) -> None:
    path = tmp_path / "seed.csv"
    path.write_text(text, encoding="utf-8")
    if fault is None:
        require_header(path, ",")
        return
    with pytest.raises(DbtRuntimeError) as raised:
        require_header(path, ",")
    assert f"{path}, line 1: {fault}. The first line of a seed names its columns" in str(raised.value)


@pytest.mark.parametrize("name", ["a|b|c", "a;b"])
def test_a_name_with_a_delimiter_is_refused_without_quotes(name: str) -> None:
    csv = table(**{name: ["x"]})

    with pytest.raises(DbtDatabaseError, match=r"Syntax error.*delimiter"):
        seed_columns(csv, {}, False, DuckLakeAdapter.convert_type)
    assert seed_columns(csv, {}, None, DuckLakeAdapter.convert_type) == [(name, "string")]


def test_rows_follow_the_columns_of_the_table() -> None:
    csv = table(id=["1"], name=["a"])

    assert [tuple(row) for row in fitted_rows(csv, ["NAME", "added", "id"])] == [("a", None, 1)]


def test_the_error_for_a_new_column_suggests_a_full_refresh() -> None:
    with pytest.raises(DbtRuntimeError, match=r"columns that are not in its table: name\..*--full-refresh"):
        fitted_rows(table(id=["1"], name=["a"]), ["id"])
