"""A scan leaves out deleted rows whether this process or Spark reads the delete files, and however many there are."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.spark.read import local, positions
from tests.interop.conftest import Both
from tests.places import nightly

CATALOGS = ["sqlite"]
LIMITS = {"literals": (500, 0, 100_000), "bitmap": (0, 32_000_000, 100_000), "fetched": (0, 0, 100_000), "by Spark": (0, 0, 0)}
"""Name → (the number of positions up to which they are literals, the number of rows up to which they are a bitmap, the number of positions
up to which this process reads delete files)."""


@pytest.mark.parametrize("way", LIMITS)
@pytest.mark.parametrize("vectors", [True, *nightly(False)])
def test_delete_files_and_inlined_deletes_count(both: Both, monkeypatch: pytest.MonkeyPatch, way: str, vectors: bool) -> None:
    monkeypatch.setattr(local, "MAX_ROWS", -1)
    for name, limit in zip(("MAX_LITERALS", "MAX_BITS", "FETCH_LIMIT"), LIMITS[way], strict=True):
        monkeypatch.setattr(positions, name, limit)
    both.duckdb("CREATE TABLE t (i INTEGER)")
    both.duckdb(f"CALL lake.set_option('write_deletion_vectors', {str(vectors).lower()}, table_name => 't')")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 5)")
    both.duckdb("INSERT INTO t SELECT range FROM range(300)")
    both.duckdb("INSERT INTO t SELECT range FROM range(300, 600)")
    both.duckdb("DELETE FROM t WHERE i < 100")  # a delete file of the first data file
    both.duckdb("DELETE FROM t WHERE i IN (200, 201, 400)")  # inlined deletes of both
    inlined = both.duck.execute("SELECT count(*) FROM __ducklake_metadata_lake.ducklake_delete_file").fetchone()
    assert inlined == (1,)
    assert both.rows("SELECT count(*), sum(i) FROM t") == [(497, sum(range(600)) - sum(range(100)) - 801)]
    both.spark("UPDATE t SET i = i + 1000 WHERE i BETWEEN 199 AND 202 OR i = 99 OR i BETWEEN 400 AND 401")
    assert both.rows("SELECT i FROM t WHERE i >= 1000") == [(1199,), (1202,), (1401,)]
    both.check_history("t")


@pytest.mark.parametrize("by_spark", [False, True])
def test_the_columns_of_a_delete_file_may_have_other_names(both: Both, monkeypatch: pytest.MonkeyPatch, by_spark: bool) -> None:
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 0)")
    both.duckdb("CREATE TABLE t AS SELECT range::INTEGER AS i FROM range(9)")
    both.duckdb("DELETE FROM t WHERE i < 4")
    (path,) = (row[0] for row in both.duck.execute("SELECT delete_file FROM ducklake_list_files('lake', 't')").fetchall())
    Path(path).write_bytes(Path(path).read_bytes().replace(b"\x03pos", b"\x03row"))
    assert pq.read_schema(path).names == ["file_path", "row"]
    if not by_spark:
        assert both.rows("SELECT i FROM t WHERE i >= 0") == [(4,), (5,), (6,), (7,), (8,)]
        return
    monkeypatch.setattr(local, "MAX_ROWS", -1)
    for limit in ("MAX_LITERALS", "MAX_BITS", "FETCH_LIMIT"):
        monkeypatch.setattr(positions, limit, 0)
    with pytest.raises(DuckLakeError, match="calls them otherwise than pos"):  # Spark finds a column only by its name
        both.session.execute("SELECT i FROM t WHERE i >= 0").fetch()
