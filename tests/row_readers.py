"""Some tests read and write small tables with Spark, as large ones, so that both ways are tested with all statements.

In the full matrix these are half of the tests; in `make test` a quarter, and none of those of dbt, which does not know the difference.
"""

from __future__ import annotations

import zlib

import pytest

from tests.places import FULL_MATRIX

SHARE = 2 if FULL_MATRIX else 4


@pytest.fixture(autouse=True)
def reader_of_small_tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process read and write small tables, or Spark, by the name of the test; with the marker `local_rows`, as users have it."""
    excluded = ("tests/unit/",) if FULL_MATRIX else ("tests/unit/", "tests/functional/")
    if request.node.nodeid.startswith(excluded) or request.node.get_closest_marker("local_rows"):
        return
    if zlib.crc32(request.node.nodeid.encode()) % SHARE == 1:
        from dbt.adapters.ducklake.spark.read import local
        from dbt.adapters.ducklake.spark.write import few_rows

        monkeypatch.setattr(local, "MAX_ROWS", -1)
        monkeypatch.setattr(few_rows, "MAX_ROWS", -1)
