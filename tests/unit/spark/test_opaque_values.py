"""Which columns are opaque to Spark, and which expressions depend on their values."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.format.leaf_types import LEAF_TYPES
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.spark.session.opaque_values import UNSURE, Opaque, depends_on_value, kinds_of, opaque_of_choice, opaque_type_of

CANONICAL = "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"


def test_columns_are_opaque_whose_values_spark_has_as_texts_or_bytes() -> None:
    opaque = {"time_ns", "timetz", "timestamp_ns", "interval", "uuid", "geometry", "unknown"}
    assert {name for name, leaf in LEAF_TYPES.items() if leaf.is_opaque} == opaque


def test_a_nested_column_is_opaque_where_it_contains_an_opaque_type() -> None:
    a, u = Column(2, "a", "int32"), Column(3, "u", "uuid")
    assert opaque_type_of(Column(1, "s", "struct", (a, u))) == ["", "uuid"]
    assert opaque_type_of(Column(1, "l", "list", (u,))) == "list"
    assert opaque_type_of(Column(1, "l", "list", (a,))) == ""


@pytest.mark.parametrize(
    ("kind", "types", "literals"),
    [
        ("Alias", ["interval"], []),
        ("Count", ["list"], []),
        ("IsNull", [["", "uuid"]], []),
        ("EqualTo", ["uuid", "uuid"], []),
        ("In", ["uuid"], [CANONICAL, CANONICAL]),
        ("WindowSpecDefinition", ["timestamp_ns", ""], []),
        ("LessThan", ["", ""], []),
        ("LessThan", ["uuid", "uuid"], []),
        ("GreaterThan", ["uuid"], [CANONICAL]),
        ("SortOrder", ["uuid"], []),
        ("SortOrder", [UNSURE], []),
    ],
)
def test_expressions_mean_the_same_for_the_text(kind: str, types: list[Opaque], literals: list[str]) -> None:
    assert not depends_on_value(kind, types, literals)


@pytest.mark.parametrize(
    ("kind", "types", "literals"),
    [
        ("EqualTo", ["interval", "interval"], []),
        ("EqualTo", ["uuid", "timestamp_ns"], []),
        ("EqualTo", ["uuid", ""], []),
        ("EqualTo", ["uuid"], [CANONICAL.upper()]),
        ("EqualTo", ["timestamp_ns"], ["'2020-01-01'"]),
        ("InSubquery", ["uuid", "", ["uuid", ""]], []),
        ("EqualTo", [UNSURE, UNSURE], []),
        ("LessThan", ["timestamp_ns", "timestamp_ns"], []),
        ("SortOrder", ["interval"], []),
        ("WindowSpecDefinition", ["interval"], []),
        ("Coalesce", ["uuid", ""], []),
        ("Cast", ["uuid"], []),
    ],
)
def test_expressions_depend_on_the_value(kind: str, types: list[Opaque], literals: list[str]) -> None:
    assert depends_on_value(kind, types, literals)


@pytest.mark.parametrize(
    ("kind", "types", "expected"),
    [
        ("Coalesce", ["uuid", None], "uuid"),
        ("Coalesce", ["uuid", ""], ""),
        ("Coalesce", ["interval", "interval"], ""),
        ("If", ["", "uuid", "uuid"], "uuid"),
        ("CaseWhen", ["", "uuid", "", None], "uuid"),
        ("CaseWhen", ["", "uuid", ""], ""),
        ("CaseWhen", ["", None], ""),
        ("WindowExpression", ["uuid", ""], "uuid"),
        ("Concat", ["uuid", "uuid"], ""),
    ],
)
def test_a_choice_of_uuids_is_a_uuid(kind: str, types: list[Opaque | None], expected: Opaque) -> None:
    assert opaque_of_choice(kind, types) == expected


def test_the_kinds_that_spark_does_not_distinguish() -> None:
    assert kinds_of(["int32", "uint64", "decimal(10,2)", "struct"]) == {"unsigned"}
    assert kinds_of(["timestamp", "timestamp_ms", "timestamp_ns"]) == {"coarse"}
