"""A table's definition changes as the specification's page "Schema Evolution" describes: ids are kept and never reused."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import NotFoundError, StatementError
from dbt.adapters.ducklake.format import evolution
from dbt.adapters.ducklake.format.evolution import NewColumn, columns_of, next_id
from dbt.adapters.ducklake.format.objects import Default, PartitionField, Partitioning, SortField, Table
from dbt.adapters.ducklake.format.types import parse_type


def column(name: str, kind: str = "int", **more: object) -> NewColumn:
    return NewColumn(name, parse_type(kind), **more)  # type: ignore[arg-type]


def table(*definitions: NewColumn, **more: object) -> Table:
    columns = columns_of(definitions)
    return Table(1, "u", "main", "t", "t/", columns, next_id(columns), **more)  # type: ignore[arg-type]


def ids(t: Table) -> dict[str, int]:
    return {c.name: c.column_id for c in t.columns}


def test_ids_are_assigned_depth_first_parents_before_children() -> None:
    t = table(column("a"), column("s", "struct<x:int,l:array<int>>"), column("z"))
    assert [(c.name, c.column_id) for top in t.columns for c in top.walk()] == [
        ("a", 1), ("s", 2), ("x", 3), ("l", 4), ("element", 5), ("z", 6),
    ]  # fmt: skip
    assert t.next_column_id == 7


def test_a_readded_name_gets_a_new_id() -> None:
    t = table(column("a"), column("b"))
    t = evolution.add_column(evolution.drop_column(t, ("b",)), (), column("b"))
    assert ids(t) == {"a": 1, "b": 3}


def test_rename_and_promotion_keep_the_id() -> None:
    t = evolution.rename_column(table(column("a"), column("b")), ("A",), "c")
    t = evolution.set_type(t, ("c",), parse_type("bigint"))
    assert ids(t) == {"c": 1, "b": 2}
    assert t.columns[0].type == "int64"


@pytest.mark.parametrize(
    ("old", "new", "default"),
    [("string", "json", "x"), ("string", "json", ""), ("string", "json", '{"a": 1'), ("int", "variant", "5"), ("string", "variant", "x")],
)
def test_a_type_that_lacks_the_default_is_refused(old: str, new: str, default: str) -> None:
    """DuckDB keeps the text of the default: it cannot insert it as JSON, and a number in a VARIANT becomes a string."""
    before = table(column("a", old, default=Default(default)))
    for t in (before, evolution.set_default(before, ("a",), None)):  # without a default for new rows, older ones may still have it
        with pytest.raises(StatementError, match=f"the default of column a, {default!r}, is not a value of its new type"):
            evolution.set_type(t, ("a",), parse_type(new))


def test_a_default_that_is_json_is_kept_by_a_column_that_becomes_json() -> None:
    t = table(column("a", "string", default=Default('{"a": 1}')))
    assert evolution.set_type(t, ("a",), parse_type("json")).columns[0].default == Default('{"a": 1}')


def test_a_field_is_added_to_a_struct_inside_a_list() -> None:
    t = table(column("l", "array<struct<x:int>>"))
    t = evolution.add_column(t, ("l", "element"), column("y", "string"))
    assert [(c.name, c.column_id) for c in t.columns[0].walk()] == [("l", 1), ("element", 2), ("x", 3), ("y", 4)]


def test_an_added_column_with_a_literal_default_has_it_as_initial_default() -> None:
    t = evolution.add_column(table(column("a")), (), column("d", "decimal(10,2)", default=Default("1.5")))
    assert (t.columns[1].initial_default, t.columns[1].default) == ("1.50", Default("1.5"))


@pytest.mark.parametrize(
    ("type_", "text", "initial"),
    [
        ("decimal(10,1)", "1.25", "1.3"),
        ("decimal(10,1)", "-1.25", "-1.3"),
        ("decimal(38,1)", "1234567890123456789012345678901234567.25", "1234567890123456789012345678901234567.3"),
    ],
)
def test_the_initial_default_of_a_decimal_is_rounded_as_in_duckdb(type_: str, text: str, initial: str) -> None:
    assert evolution.add_column(table(column("a")), (), column("d", type_, default=Default(text))).columns[1].initial_default == initial


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: evolution.add_column(t, (), column("A")), "already exists"),
        (lambda t: evolution.add_column(t, (), column("n", nullable=False)), "NOT NULL"),
        (lambda t: evolution.add_column(t, (), column("n", default=Default("now()", "expression"))), "constant"),
        (lambda t: evolution.rename_column(t, ("a",), "b"), "already exists"),
        (lambda t: evolution.set_type(t, ("a",), parse_type("string")), "cannot become string"),
        (lambda t: evolution.drop_column(t, ("p",)), "partition key"),
        (lambda t: evolution.drop_column(t, ("b",)), "sort key"),
        (lambda _: evolution.drop_column(evolution.drop_column(table(column("x"), column("y")), ("x",)), ("y",)), "only one"),
        (lambda _: table(column("a"), column("A")), "column A is named twice"),
    ],
)  # fmt: skip
def test_impossible_changes_are_refused_with_a_remedy(change: object, message: str) -> None:
    t = table(
        column("a"), column("b"), column("p"),
        partitioning=Partitioning(5, (PartitionField(3),)), sorting=(SortField("b"),),
    )  # fmt: skip
    with pytest.raises(StatementError, match=message):
        change(t)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: evolution.add_column(t, (), column("ä")), "column ä already exists in t as Ä, which Spark cannot tell from it: write Ä"),
        (lambda t: evolution.add_column(t, ("s",), column("É")), r"column s\.É already exists in t as é"),
        (lambda t: evolution.rename_column(t, ("s",), "ä"), "column ä already exists in t as Ä"),
        (lambda _: table(column("Ä"), column("ä")), r"column ä \(Spark cannot tell it from Ä\) is named twice"),
        (lambda _: table(column("s", "struct<Ä:int,ä:int>")), r"column ä \(Spark cannot tell it from Ä\) is named twice"),
    ],
)
def test_a_second_column_that_spark_cannot_tell_from_another_is_refused(change: object, message: str) -> None:
    t = table(column("Ä"), column("s", "struct<é:int>"))
    with pytest.raises(StatementError, match=message):
        change(t)  # type: ignore[operator]


def test_names_that_spark_can_tell_apart_and_a_new_spelling_are_possible() -> None:
    t = table(column("straße"), column("strasse"), column("Ä"))
    assert list(ids(evolution.rename_column(t, ("Ä",), "ä"))) == ["straße", "strasse", "ä"]
    assert list(ids(evolution.replace_columns(t, [column("ä")]))) == ["ä"]


def test_the_error_for_an_unknown_column_lists_the_existing_ones() -> None:
    with pytest.raises(NotFoundError, match="The columns are: a, b"):
        evolution.rename_column(table(column("a"), column("b")), ("nope",), "x")


def test_renaming_a_sort_key_renames_it_in_the_sort_order() -> None:
    t = evolution.rename_column(table(column("a"), sorting=(SortField("a"),)), ("a",), "A b")
    assert t.sorting[0].expression == '"A b"'


class TestReplaceColumns:
    def test_equal_name_and_type_keep_id_and_comment(self) -> None:
        t = table(column("a"), column("b", "string", comment="kept"))
        r = evolution.replace_columns(t, [column("B", "string"), column("c")])
        assert [(c.name, c.column_id, c.comment) for c in r.columns] == [("B", 2, "kept"), ("c", 3, None)]
        assert r.next_column_id == 4

    def test_a_column_that_moves_behind_a_greater_id_gets_a_new_one_and_keeps_comment_and_default(self) -> None:
        t = table(column("a", comment="kept", default=Default("1")), column("s", "struct<x:int>"), column("b", "string"))
        r = evolution.replace_columns(t, [column("b", "string"), column("c"), column("A"), column("s", "struct<x:int>")])
        assert [(c.name, c.column_id, c.comment) for c in r.columns] == [("b", 4, None), ("c", 5, None), ("A", 6, "kept"), ("s", 7, None)]
        assert (r.columns[2].default, r.columns[2].initial_default) == (Default("1"), None)
        assert r.next_column_id == 9

    def test_a_column_behind_a_struct_whose_field_has_a_greater_id_keeps_its_id(self) -> None:
        t = evolution.add_column(table(column("s", "struct<x:int>"), column("b")), ("s",), column("y"))
        assert evolution.replace_columns(t, [column("s", "struct<x:int,y:int>"), column("b")]) == t

    def test_another_type_is_another_column(self) -> None:
        r = evolution.replace_columns(table(column("a", comment="kept")), [column("a", "string")])
        assert [(c.name, c.column_id, c.comment) for c in r.columns] == [("a", 2, "kept")]

    def test_an_unchanged_table_stays_equal(self) -> None:
        t = table(column("a"), column("s", "struct<x:int>"))
        assert evolution.replace_columns(t, [column("a"), column("s", "struct<x:int>")]) == t
