"""The differences of a table: which columns are pairs, in which type they are compared, and how the differences are shown."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from dbt.adapters.ducklake.format.diff import (
    ColumnChange,
    ComparedRelation,
    Example,
    RowChanges,
    TableDiff,
    column_changes,
    common_column,
    pair_columns,
)
from dbt.adapters.ducklake.format.diff_text import render
from dbt.adapters.ducklake.format.objects import Column

TIME = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
SAME = TableDiff(ComparedRelation("lake.main.t", 3, TIME), ComparedRelation("lake.main.t", 5, TIME), (), ("id",), (), RowChanges())
DIFFERENT = replace(
    SAME,
    columns=(
        ColumnChange("note", "added", (None, "string")),
        ColumnChange("old", "dropped", ("int", None)),
        ColumnChange("b", "changed", ("int", "bigint"), (True, False), ("a", "b")),
    ),
    not_compared=("x",),
    rows=RowChanges(
        1200,
        1,
        2,
        {"v": 2},
        (
            Example("added", {"id": "4"}, after={"id": "4", "v": None}),
            Example("removed", {"id": "5"}, before={"id": "5", "v": "y"}),
            Example("changed", {"id": "1"}, {"v": "a|b`c"}, {"v": "\x1b[31m\n@someone"}),
        ),
        (2, 3),
    ),
)


NOTE = (
    "the key is NULL or not unique in 2 rows before and 3 after: these were compared as whole rows, "
    "so a change of such a row counts as removed and added"
)


def column(number: int, name: str, type_: str = "int32", *children: Column, nullable: bool = True) -> Column:
    return Column(number, name, type_, tuple(children), nullable)


def test_columns_of_one_table_are_pairs_by_id_and_then_by_name() -> None:
    before = [column(1, "a"), column(2, "b"), column(3, "c")]
    after = [column(1, "x"), column(4, "B", "int64"), column(2, "c")]
    pairs = pair_columns(before, after, by_id=True)
    assert [(pair.before.name, pair.after.name, pair.is_same) for pair in pairs] == [("a", "x", True), ("b", "c", True)]
    assert [(each.name, each.kind) for each in column_changes(before, after, pairs)] == [
        ("x", "changed"),
        ("B", "added"),
        ("c", "changed"),
        ("c", "dropped"),
    ]
    pairs = pair_columns(before, after[1:2], by_id=True)
    assert [(pair.before.name, pair.after.name, pair.is_same) for pair in pairs] == [("b", "B", False)]


def test_columns_of_two_tables_are_pairs_by_name() -> None:
    before, after = [column(1, "a"), column(2, "b")], [column(1, "B"), column(2, "c")]
    assert [(pair.before.name, pair.after.name, pair.is_same) for pair in pair_columns(before, after, by_id=False)] == [("b", "B", False)]


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("int32", "int64", "int64"),
        ("int64", "decimal(10,2)", "decimal(21,2)"),
        ("decimal(10,2)", "decimal(12,4)", "decimal(12,4)"),
        ("decimal(20,2)", "decimal(12,4)", "decimal(22,4)"),
        ("decimal(38,0)", "decimal(38,10)", None),
        ("float32", "float64", "float64"),
        ("int32", "float64", "float64"),
        ("int64", "float64", None),
        ("decimal(18,2)", "float64", None),
        ("uuid", "varchar", "varchar"),
        ("varchar", "int32", None),
        ("int32", "variant", None),
        ("boolean", "int32", "int32"),
    ],
)
def test_values_are_compared_in_a_type_that_has_all_of_them(one: str, other: str, common: str | None) -> None:
    found = common_column(column(1, "a", one), column(1, "a", other))
    assert (found.type if found else None) == common
    found = common_column(column(1, "a", other), column(1, "a", one))
    assert (found.type if found else None) in (common, "uuid" if common == "varchar" else common)


def test_nested_types_are_compared_if_they_are_equal() -> None:
    lists = [column(1, "a", "list", column(2, "element", kind)) for kind in ("int32", "int32", "int64")]
    assert common_column(lists[0], lists[1]) == lists[1]
    assert common_column(lists[0], lists[2]) is None
    assert common_column(lists[0], column(1, "a", "int32")) is None


def test_changes_of_a_column_are_its_type_name_and_nullability() -> None:
    before, after = [column(1, "a", "uint8", nullable=False)], [column(1, "b", "int16")]
    pairs = pair_columns(before, after, by_id=True)
    assert column_changes(before, after, pairs) == (ColumnChange("b", "changed", ("uint8", "int16"), (False, True), ("a", "b")),)
    assert column_changes(before, before, pair_columns(before, before, by_id=True)) == ()
    (change,) = column_changes(before, after, pairs, compare_nullability=False)
    assert change.nullable is None


def test_text() -> None:
    assert render(DIFFERENT, "text").splitlines() == [
        "from lake.main.t at snapshot 3 (2026-01-31 12:00:00 UTC)",
        "to   lake.main.t at snapshot 5 (2026-01-31 12:00:00 UTC)",
        "",
        "columns: 1 added, 1 dropped, 1 changed",
        "  + note: string",
        "  - old: int",
        "  ~ b: renamed from a, int → bigint, now NOT NULL",
        "",
        "rows by id: 1,200 added, 1 removed, 2 changed",
        "  ~ v: 2 changed",
        "not compared, because their types differ: x",
        NOTE,
        "",
        "examples:",
        "  + id = 4, v = NULL",
        "  - id = 5, v = y",
        "  ~ id = 1: v a|b`c → \\x1b[31m\\n@someone",
    ]


def test_markdown_shows_values_as_code() -> None:
    text = render(DIFFERENT, "markdown")
    assert text.startswith("### `lake.main.t`: rows 1,200 added, 1 removed, 2 changed; columns 1 added, 1 dropped, 1 changed\n")
    assert "| `b` | changed | renamed from `a`, `int` → `bigint`, now NOT NULL |" in text
    assert "| changed | `id` = `1` | `v` ``a\\|b`c`` → `\\x1b[31m\\n@someone` |" in text
    assert "| added | `id` = `4` | `id` = `4`, `v` = NULL |" in text
    assert "| changed in `v` | 2 |" in text


def test_json_has_everything() -> None:
    found = json.loads(render(DIFFERENT, "json"))
    assert found["from"] == {
        "relation": "lake.main.t",
        "snapshot_id": 3,
        "snapshot_time": "2026-01-31T12:00:00+00:00",
        "staged_changes": False,
    }
    assert found["columns"][2] == {
        "column": "b",
        "change": "changed",
        "type": {"from": "int", "to": "bigint"},
        "nullable": {"from": True, "to": False},
        "name": {"from": "a", "to": "b"},
    }
    assert found["rows"] == {
        "added": 1200,
        "removed": 1,
        "changed": 2,
        "changed_by_column": {"v": 2},
        "without_unique_key": {"from": 2, "to": 3},
    }
    assert found["examples"][2]["after"] == {"v": "\x1b[31m\n@someone"}
    assert (found["equal"], found["key"], found["not_compared"]) == (False, ["id"], ["x"])


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_equal_tables_and_long_values(form: str) -> None:
    assert "no differences" in render(SAME, form)
    long = Example("added", {"rowid": "1"}, after={"v": "x" * 200, "w": "` "})
    text = render(replace(SAME, key=None, rows=RowChanges(1, examples=(long,))), form)
    assert "x" * 60 + "…" in text
    assert "x" * 61 not in text
    assert "by row id" in text
    staged = render(replace(SAME, after=replace(SAME.after, staged=True)), form)
    assert "with staged changes" in staged
