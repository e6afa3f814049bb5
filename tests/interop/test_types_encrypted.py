"""Every DuckLake type in the files of an encrypted lake: the tests of `test_types_matrix.py` on such a lake."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.test_types_matrix import (  # noqa: F401 -- the tests and their fixtures
    in_files,
    inserted,
    loaded,
    rewritten,
    statistics,
    test_a_row_that_we_rewrite_keeps_its_values,
    test_column_statistics_are_those_of_duckdb,
    test_duckdb_reads_what_our_insert_writes,
    test_duckdb_reads_what_pyarrow_writes,
    test_old_rows_have_the_default_of_a_new_column,
    test_we_read_what_duckdb_writes_to_files,
    with_defaults,
)
from tests.interop.types.operations import Operations

pytestmark = pytest.mark.nightly  # `test_encryption.py` has what does not depend on the type


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory, runtime: SparkRuntime) -> Iterator[Operations]:
    """Both sides of one encrypted lake."""
    directory = tmp_path_factory.mktemp("matrix")
    place = CatalogUnderTest("sqlite", f"ducklake:sqlite:{directory}/lake.sqlite", f"{directory}/files/")
    opened = place.open(runtime, encrypted=True)
    duck = oracle.connect(place)
    duck.execute("USE lake")
    with opened.session() as session:
        yield Operations(session, duck, directory)
    duck.close()
    opened.catalog.close()
