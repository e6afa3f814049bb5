"""Inlined rows of every type, which each catalog database stores in its own way. `test_types_matrix.py` tests files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.types.cases import CASES, Case, column, our_type
from tests.interop.types.operations import Operations, Read, expected, grid, height, seed_rows
from tests.places import REFERENCE_DATABASES

pytestmark = pytest.mark.parity
CATALOGS = REFERENCE_DATABASES


@pytest.fixture
def sides(catalog: CatalogUnderTest, runtime: SparkRuntime, tmp_path: Path) -> Iterator[Operations]:
    """Both sides of one lake."""
    opened = catalog.open(runtime)
    duck = oracle.connect(catalog)
    duck.execute("USE lake")
    with opened.session() as session:
        yield Operations(session, duck, tmp_path)
    duck.close()
    opened.catalog.close()


def _inlined(catalog: CatalogUnderTest) -> list[Case]:
    """DuckDB cannot inline nanoseconds of a day on PostgreSQL."""
    return [case for case in CASES if case.inlined and not (case.stored == "time_ns" and catalog.database.startswith("postgres"))]


def test_inlined_values_are_read(sides: Operations, catalog: CatalogUnderTest) -> None:
    cases = _inlined(catalog)
    columns = grid(cases)
    sides.duck_table("inlined", columns, lambda case: case.ordinary, 1000)
    rows = height(lambda case: case.ordinary)
    ours = sides.ours("inlined", columns)
    truth: Read = {(case.stored, shape): expected(sides.truth(case, case.ordinary), rows) for case, shape in columns}
    if oracle.is_exclusive(catalog):  # DuckDB loses the sign of zeros when it opens its file again: see test_duckdb_files.py
        floats = [(case, shape) for case, shape in columns if case.kind == "float"]
        kept = sides.theirs("inlined", floats)
        assert {key: _unsigned(values) for key, values in kept.items()} == {key: _unsigned(truth[key]) for key in kept}
        truth |= kept
    assert {key: (found, truth[key]) for key, found in ours.items() if found != truth[key]} == {}


def test_duckdb_reads_values_that_we_inline(sides: Operations, catalog: CatalogUnderTest) -> None:
    cases = _inlined(catalog)
    columns = [(case, "column") for case in cases]

    def values(case: Case) -> list[str]:  # rows with negative zeros go to files: see test_duckdb_files.py
        return [value for value in case.ordinary if value != "-0.0" or not oracle.is_exclusive(catalog)]

    rows = seed_rows(cases, values)
    sides.session.execute("CALL lake.set_option('data_inlining_row_limit', 1000, schema => 'main')")
    sides.session.load_seed("main", "small", _names(cases), rows)
    assert sides.duck.execute("SELECT count(*) FROM ducklake_list_files('lake', 'small')").fetchone() == (0,)
    truth = {case.stored: expected(sides.truth(case, values(case)), len(rows)) for case in cases}
    theirs = sides.theirs("small", columns)
    assert {key: (found, truth[key[0]]) for key, found in theirs.items() if found != truth[key[0]]} == {}


def _unsigned(values: Any) -> list[Any]:
    return ["0.0" if value == "-0.0" else value for value in values]


def _names(cases: Sequence[Case]) -> list[tuple[str, str]]:
    return [("id", "INT"), *((column(case, "column"), our_type(case, "column")) for case in cases)]
