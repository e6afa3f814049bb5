"""The rows of the leaf types agree with each other and with what other modules know about the engines."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.catalog.store.dialects.postgres import POSTGRES
from dbt.adapters.ducklake.format.leaf_types import LEAF_TYPES, NO_LEAF, STORED_NAMES, Encoding, LeafType, leaf_type
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.plan.literals import can_store
from dbt.adapters.ducklake.spark.rows.small import can_fetch
from dbt.adapters.ducklake.spark.values.arrow_types import arrow_type
from dbt.adapters.ducklake.spark.values.types import data_type, spark_type

ROWS = [pytest.param(leaf, id=leaf.name) for leaf in LEAF_TYPES.values()]


def _column(leaf: LeafType) -> Column:
    return Column(1, "c", "decimal(10,2)" if leaf.name == "decimal" else leaf.name)


@pytest.mark.parametrize("leaf", ROWS)
def test_a_row_names_types_that_the_engines_have(leaf: LeafType) -> None:
    assert spark_type(_column(leaf)).simpleString().startswith(leaf.spark)
    assert arrow_type(_column(leaf)) is not None
    assert (leaf.name in POSTGRES.inlined_types) == (leaf.postgres is not None)


@pytest.mark.parametrize("leaf", ROWS)
def test_a_type_is_promoted_only_to_other_types(leaf: LeafType) -> None:
    assert set(leaf.promotions) <= set(LEAF_TYPES) - {leaf.name}


def test_each_written_name_and_each_stored_name_means_one_type() -> None:
    written = [name for leaf in LEAF_TYPES.values() for name in leaf.written]
    assert len(written) == len(set(written))
    assert all(name == name.lower() for name in written)
    assert len(STORED_NAMES) == sum(1 + len(leaf.aliases) for leaf in LEAF_TYPES.values())


def test_a_decimal_has_the_row_of_decimals_and_a_nested_type_has_no_properties() -> None:
    assert leaf_type("decimal(10,2)") is LEAF_TYPES["decimal"]
    assert leaf_type("struct") is NO_LEAF
    assert NO_LEAF.encoding is Encoding.NONE


def test_a_type_is_native_if_its_spark_type_has_the_same_values() -> None:
    native = {leaf.name for leaf in LEAF_TYPES.values() if leaf.is_native}
    numbers = {"int8", "int16", "int32", "int64", "float32", "float64", "decimal"}
    assert native == {"boolean", *numbers, "date", "time", "timestamp", "timestamptz", "varchar", "blob", "variant"}
    assert {leaf.name for leaf in LEAF_TYPES.values() if can_store(_column(leaf))} == native - {"time", "variant"}


def test_types_of_which_duckdb_uses_no_bounds_have_only_counts() -> None:
    assert {leaf.name for leaf in LEAF_TYPES.values() if leaf.has_only_counts} == {
        *("int128", "uint128", "blob"),
        *("timetz", "interval", "time_ns"),
    }
    assert not NO_LEAF.has_only_counts


def test_opaque_values_with_bounds_have_one_text() -> None:
    assert {leaf.name for leaf in LEAF_TYPES.values() if leaf.has_one_text} == {"uuid", "timestamp_ns"}


@pytest.mark.parametrize("leaf", ROWS)
def test_values_of_a_native_spark_type_are_stored_as_the_native_type(leaf: LeafType) -> None:
    assert (data_type(spark_type(_column(leaf)), "c").name == _column(leaf).type) == leaf.is_native


def test_rows_are_fetched_only_if_pyarrow_writes_their_types_as_spark_does() -> None:
    columns = [*map(_column, LEAF_TYPES.values()), *(Column(1, "c", name) for name in ("list", "map", "struct", "made-up"))]
    assert {column.type for column in columns if not can_fetch([column])} == {
        *("list", "map", "struct", "made-up", "variant", "geometry", "time", "timestamp_ns")
    }


@pytest.mark.parametrize(
    ("name", "limits", "digits"),
    [
        ("int8", (-128, 127), 3),
        ("uint8", (0, 255), 3),
        ("int64", (-(2**63), 2**63 - 1), 19),
        ("uint64", (0, 2**64 - 1), 20),
        ("int128", (1 - 10**38, 10**38 - 1), 38),
        ("uint128", (0, 10**38 - 1), 38),
    ],
)
def test_an_integer_has_the_limits_of_its_bits_and_of_sparks_decimals(name: str, limits: tuple[int, int], digits: int) -> None:
    assert (LEAF_TYPES[name].limits, LEAF_TYPES[name].digits) == (limits, digits)
