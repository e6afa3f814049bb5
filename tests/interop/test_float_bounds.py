"""Compares how DuckDB reads float constants when it prunes with our model of it, on which the bounds of files depend."""

from __future__ import annotations

import random

import duckdb
import pytest

from dbt.adapters.ducklake.format.float_literals import prunable_bounds, read_by_duckdb
from dbt.adapters.ducklake.format.statistics import float_text

NUMBERS = random.Random(20261121)


def _values(duck: duckdb.DuckDBPyConnection, duck_type: str) -> list[float]:
    """Numbers of the type, of many magnitudes and numbers of digits."""
    wide = [10 ** NUMBERS.uniform(-12, 20) * NUMBERS.choice([1, -1]) for _ in range(800)]
    short = [round(NUMBERS.uniform(-1000, 1000), NUMBERS.randint(0, 12)) for _ in range(800)]
    rows = duck.execute(f"SELECT CAST(CAST(unnest(?::DOUBLE[]) AS {duck_type}) AS DOUBLE)", [[*wide, *short]])
    return [value for (value,) in rows.fetchall()]


@pytest.mark.parametrize(("type_name", "duck_type"), [("float32", "FLOAT"), ("float64", "DOUBLE")])
def test_our_model_reads_constants_as_duckdb_does(type_name: str, duck_type: str) -> None:
    with duckdb.connect() as duck:
        known = {text: value for value in _values(duck, duck_type) if (text := float_text(value, type_name)) is not None}
        compared = ", ".join(
            f"('{text}', {text} < CAST('{text}' AS {duck_type}), {text} > CAST('{text}' AS {duck_type}))" for text in known
        )
        found = duck.execute(f"SELECT * FROM (VALUES {compared})").fetchall()
    for text, less, greater in found:
        read = read_by_duckdb(type_name, text)
        assert (read < known[text], read > known[text]) == (less, greater), text


@pytest.mark.parametrize(
    ("type_name", "bounds", "kept"),
    [
        ("float32", ("0.1", "1.5"), True),
        ("float32", ("-inf", "inf"), True),
        ("float32", ("0.0", "3.4028235e+38"), False),
        ("float32", ("1e-45", "1.0"), False),
        ("float64", ("5e-324", "1.7976931348623157e+308"), True),
        ("float64", ("-0.0", "0.30000000000000004"), True),
        ("int64", ("1", "2"), True),
    ],
)
def test_bounds_that_duckdb_would_misread_are_omitted(type_name: str, bounds: tuple[str, str], kept: bool) -> None:
    assert prunable_bounds(type_name, bounds) == (bounds if kept else (None, None))
