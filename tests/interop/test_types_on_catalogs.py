"""What of the types is kept in the catalog database, on each of them: inlined rows, defaults, statistics, partition values.

No Spark job but the one that reads. `test_types_matrix.py` has the rest, on the usual databases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.spark.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.types.cases import CASES, Case, column, duck_leaf, our_type, spark_leaf
from tests.interop.types.operations import (
    Operations,
    Read,
    add_default,
    default_columns,
    expected,
    file_statistics,
    grid,
    height,
    key_cases,
    key_values,
    partition_values,
    read_defaults,
    seed_rows,
)
from tests.places import REFERENCE_DATABASES

CATALOGS = REFERENCE_DATABASES


@pytest.fixture
def done(catalog: CatalogUnderTest, runtime: SparkRuntime, tmp_path: Path) -> Iterator[Operations]:
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


def test_inlined_values_are_read(done: Operations, catalog: CatalogUnderTest) -> None:
    cases = _inlined(catalog)
    columns = grid(cases)
    done.duck_table("inlined", columns, lambda case: case.ordinary, 1000)
    rows = height(lambda case: case.ordinary)
    ours = done.ours("inlined", columns)
    truth: Read = {(case.stored, shape): expected(done.truth(case, case.ordinary), rows) for case, shape in columns}
    if oracle.is_lent(catalog):  # zeros have lost their sign when DuckDB opens its file again: see test_duckdb_files.py
        floats = [(case, shape) for case, shape in columns if case.kind == "float"]
        kept = done.theirs("inlined", floats)
        assert {key: _unsigned(values) for key, values in kept.items()} == {key: _unsigned(truth[key]) for key in kept}
        truth |= kept
    assert {key: (found, truth[key]) for key, found in ours.items() if found != truth[key]} == {}


def test_values_that_we_inline_are_read_by_duckdb(done: Operations, catalog: CatalogUnderTest) -> None:
    cases = _inlined(catalog)
    columns = [(case, "column") for case in cases]

    def values(case: Case) -> list[str]:  # rows with negative zeros go to files: see test_duckdb_files.py
        return [value for value in case.ordinary if value != "-0.0" or not oracle.is_lent(catalog)]

    rows = seed_rows(cases, values)
    done.session.execute("CALL lake.set_option('data_inlining_row_limit', 1000, schema => 'main')")
    done.session.load_seed("main", "small", _names(cases), rows)
    assert done.duck.execute("SELECT count(*) FROM ducklake_list_files('lake', 'small')").fetchone() == (0,)
    truth = {case.stored: expected(done.truth(case, values(case)), len(rows)) for case in cases}
    theirs = done.theirs("small", columns)
    assert {key: (found, truth[key[0]]) for key, found in theirs.items() if found != truth[key[0]]} == {}


def test_defaults_go_both_ways(done: Operations) -> None:
    cases = [case for case in CASES if case.has_default]
    done.duck.execute("CREATE TABLE by_duckdb AS SELECT 1 AS id")
    done.duck.execute("CREATE TABLE by_us AS SELECT 1 AS id")
    done.duck.execute("BEGIN")
    for case, number, _ in default_columns(cases):
        done.duck.execute(f"ALTER TABLE by_duckdb {add_default(case, number, 'duckdb')}")
    done.duck.execute("COMMIT")
    done.session.begin()
    for case, number, _ in default_columns(cases):
        done.session.execute(f"ALTER TABLE by_us {add_default(case, number, 'ours')}")
    done.session.commit()
    for read, leaf, table in ((_ours(done), spark_leaf, "by_duckdb"), (_theirs(done), duck_leaf, "by_us")):
        found = read_defaults(cases, table, leaf, read)
        assert found == {case.stored: done.truth(case, case.ordinary) for case in cases}, table


def test_statistics_and_partition_values_are_those_of_duckdb(done: Operations) -> None:
    """A row a file, written by PyArrow on our side."""
    cases = key_cases()
    keys = ", ".join(["id", *(column(case, "column") for case in cases)])
    rows = seed_rows(cases, key_values)
    defined = ", ".join(f"{column(case, 'column')} {our_type(case, 'column')}" for case in cases)
    done.session.execute(f"CREATE TABLE ours (id INT, {defined}) PARTITIONED BY ({keys})")
    done.session.execute("CALL lake.set_option('data_inlining_row_limit', 0, schema => 'main')")
    done.session.load_seed("main", "ours", _names(cases), rows, rebuild=False)
    done.duck.execute("CREATE TABLE theirs AS FROM ours LIMIT 0")
    done.duck.execute(f"ALTER TABLE theirs SET PARTITIONED BY ({keys})")
    done.duck.execute("INSERT INTO theirs FROM ours")
    assert partition_values(done.duck, "ours") == partition_values(done.duck, "theirs")
    ours, theirs = (_by_row(file_statistics(done.duck, table)) for table in ("ours", "theirs"))
    for case in cases:
        if case.stored not in ("timetz", "interval"):  # DuckDB counts none of them
            name = column(case, "column")
            pairs = [(_zero(a), _zero(b)) for a, b in zip(ours[name], theirs[name], strict=True)]
            wrong = [(a, b) for a, b in pairs if a != b and a[2:4] != (None, None)]
            assert wrong == [], case.stored


def _zero(statistics: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the sign of a zero: Parquet's bounds have both."""
    return tuple(_unsigned(statistics))


def _unsigned(values: Any) -> list[Any]:
    return ["0.0" if value == "-0.0" else value for value in values]


def _by_row(statistics: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Statistics of files of one row, by the rows' ids."""
    order = sorted(range(len(statistics["id"])), key=lambda place: int(statistics["id"][place][2]))
    return {name: [files[place] for place in order] for name, files in statistics.items()}


def _names(cases: Sequence[Case]) -> list[tuple[str, str]]:
    return [("id", "INT"), *((column(case, "column"), our_type(case, "column")) for case in cases)]


def _ours(done: Operations) -> Any:
    return lambda query: done.session.execute(query).fetch()


def _theirs(done: Operations) -> Any:
    return lambda query: done.duck.execute(query).fetchall()
