"""Half of the tests read and write small tables with Spark, as large ones, so that both ways are tested with all statements."""

from __future__ import annotations

import zlib

import pytest


@pytest.fixture(autouse=True)
def reader_of_small_tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process read and write small tables, or Spark, by the name of the test; with the marker `local_rows`, as users have it."""
    if "tests/unit/" in request.node.nodeid or request.node.get_closest_marker("local_rows"):
        return
    if zlib.crc32(request.node.nodeid.encode()) % 2:
        from dbt.adapters.ducklake.spark.read import local
        from dbt.adapters.ducklake.spark.write import few_rows

        monkeypatch.setattr(local, "MAX_ROWS", -1)
        monkeypatch.setattr(few_rows, "MAX_ROWS", -1)
