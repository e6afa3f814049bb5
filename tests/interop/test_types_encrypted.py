"""Every DuckLake type in the files of an encrypted lake: the tests of `test_types_matrix.py` on such a lake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle, test_types_matrix
from tests.interop.test_types_matrix import (  # noqa: F401 -- the tests and their fixtures
    in_files,
    inserted,
    loaded,
    rewritten,
    statistics,
    test_column_statistics_are_those_of_duckdb,
    test_duckdb_reads_what_our_insert_writes,
    test_duckdb_reads_what_pyarrow_writes,
    test_we_read_what_duckdb_writes_to_files,
    with_defaults,
)
from tests.interop.types.operations import Operations


def nightly_copy(test: Callable[..., Any]) -> FunctionType:
    """Copy a test for the nightly run; a mark of the test itself would also hold in its own module."""
    assert isinstance(test, FunctionType)
    copy = FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    copy.__dict__.update(test.__dict__)
    copy.pytestmark = [*getattr(test, "pytestmark", []), pytest.mark.nightly.mark]
    return copy


# These read and write as the other tests do.
test_a_row_that_we_rewrite_keeps_its_values = nightly_copy(test_types_matrix.test_a_row_that_we_rewrite_keeps_its_values)
test_old_rows_have_the_default_of_a_new_column = nightly_copy(test_types_matrix.test_old_rows_have_the_default_of_a_new_column)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, runtime: SparkRuntime) -> Iterator[Operations]:
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
