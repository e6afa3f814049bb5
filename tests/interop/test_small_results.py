"""The result of a query that Spark knows to be small gives the same table whether this process or Spark writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import DataError
from dbt.adapters.ducklake.spark.write import few_rows
from tests.interop.conftest import Both
from tests.places import nightly

pytestmark = pytest.mark.local_rows
CATALOGS = ["sqlite"]
COLUMNS = """
SELECT CAST(id AS INT) AS id, IF(id % 3 = 0, 'a', IF(id % 3 = 1, 'b b', NULL)) AS part, CAST(id / 4 AS DECIMAL(10, 2)) AS amount,
    date_add(DATE '1500-01-01', CAST(id AS INT)) AS day, timestamp_seconds(id * 86400 - 1e10) AS at, IF(id = 4, -0.0D, DOUBLE(id)) AS zero,
    CAST(timestamp_seconds(id * 3600) AS TIMESTAMP_NTZ) AS wall, IF(id % 5 = 0, DOUBLE('NaN'), id / 7) AS f, FLOAT(id / 3) AS small,
    CAST(string(id) AS BINARY) AS raw, id % 2 = 0 AS flag, CAST(id AS DECIMAL(38, 0)) * 10000000000 AS big, CAST(id AS TINYINT) AS tiny
FROM range(20)
"""
LAYOUTS = ["", *nightly("PARTITIONED BY (bucket(3, id), year(day))", "SORTED BY (amount DESC)", "PARTITIONED BY (part)")]
STATEMENTS = [
    "INSERT INTO {table} SELECT * FROM source WHERE id > 3",
    "INSERT INTO {table} (id, part) SELECT s.id + 100, t.part FROM source s JOIN source t ON t.id = s.id + 1",
    "INSERT OVERWRITE {table} SELECT * FROM source WHERE id < 15",
    "INSERT INTO {table} REPLACE WHERE id < 5 SELECT * FROM source WHERE id < 3",
    "INSERT INTO {table} SELECT * FROM source WHERE id < 0",
]


def writers(folder: Path) -> set[str]:
    """Return who wrote the Parquet files below a folder."""
    found = [pq.read_metadata(path).created_by for path in folder.rglob("*.parquet") if "delete" not in path.name]
    return {created_by.split()[0] for created_by in found}


def play(both: Both, table: str, layout: str, folder: Path) -> list[Any]:
    """Create a table of the source, change it, and return its rows, their statistics and who wrote its files.

    Bounds of floats are left out: Spark writes none beside NaN, and -0.0 as 0.0.
    """
    clause = "" if "SORTED" in layout else layout
    both.spark(f"CREATE TABLE {table} {clause} AS SELECT * FROM source")
    if "SORTED" in layout:
        both.spark(f"ALTER TABLE {table} SET {layout}")
    counts = [both.session.execute(text.format(table=table)).rowcount for text in STATEMENTS]
    rows = both.rows(f"SELECT * FROM {table}")
    both.check_history(table)
    statistics = both.duck.execute(f"""
        SELECT f.begin_snapshot - t.begin_snapshot, f.record_count, s.column_id, s.value_count, s.null_count,
            CASE WHEN s.contains_nan IS NULL THEN (s.min_value, s.max_value) END, s.contains_nan, list_sort(list(DISTINCT (p.partition_key_index, p.partition_value)) FILTER (p.data_file_id IS NOT NULL))
        FROM __ducklake_metadata_lake.ducklake_table t JOIN __ducklake_metadata_lake.ducklake_data_file f USING (table_id)
        JOIN __ducklake_metadata_lake.ducklake_file_column_stats s USING (data_file_id)
        LEFT JOIN __ducklake_metadata_lake.ducklake_file_partition_value p USING (data_file_id)
        WHERE t.table_name = '{table}' GROUP BY ALL ORDER BY ALL""").fetchall()
    return [counts, repr(rows), statistics, writers(folder / "main" / table)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_writers_are_equal(both: Both, monkeypatch: pytest.MonkeyPatch, layout: str, tmp_path: Path) -> None:
    both.spark(f"CREATE TABLE source AS {COLUMNS}")
    *in_process, writer = play(both, "in_process", layout, tmp_path / "lake_files")
    assert writer == {"parquet-cpp-arrow"}
    monkeypatch.setattr(few_rows, "MAX_ROWS", -1)
    *by_spark, writer = play(both, "by_spark", layout, tmp_path / "lake_files")
    assert writer == {"parquet-mr"}
    assert in_process == by_spark


QUERIES = [
    ("SELECT id FROM large LIMIT 7", "parquet-cpp-arrow"),
    ("SELECT * FROM (SELECT id FROM large ORDER BY id LIMIT 7) AS first", "parquet-cpp-arrow"),
    ("SELECT id FROM large WHERE id < 7 LIMIT 5000", "parquet-cpp-arrow"),
    ("SELECT id, string(id) AS name FROM large WHERE id < 7 LIMIT 4000", "parquet-cpp-arrow"),
    ("SELECT id, string(id) AS name FROM large WHERE id < 7 LIMIT 5000", "parquet-mr"),
    ("SELECT id FROM large WHERE id < 7", "parquet-mr"),
    ("SELECT a.id FROM source a LEFT JOIN source b ON a.id = b.id WHERE a.id < 7", "parquet-cpp-arrow"),
    ("SELECT a.id FROM source a JOIN large b ON a.id = b.id WHERE a.id < 7", "parquet-mr"),
    (
        "SELECT a.id FROM source a JOIN source b USING (id) JOIN source c USING (id) JOIN source d USING (id) LIMIT 7",
        "parquet-cpp-arrow",
    ),
    (
        "SELECT id FROM source a JOIN source b USING (id) JOIN source c USING (id) JOIN source d USING (id) WHERE a.small + d.small < 4.4",
        "parquet-mr",
    ),
    ("SELECT explode(sequence(0, id)) AS id FROM source WHERE id = 6", "parquet-mr"),
    ("SELECT id, array(id) AS ids FROM source WHERE id < 7", "parquet-mr"),
]
"""Queries with seven rows, and who writes their results. The size of a string that a LIMIT selects is unknown, so only few are fetched."""


@pytest.mark.nightly
def test_only_a_result_with_a_bound_is_fetched(both: Both, tmp_path: Path) -> None:
    both.spark("CREATE TABLE large AS SELECT id FROM range(200000)")
    both.spark(f"CREATE TABLE source AS {COLUMNS}")
    for number, (query, writer) in enumerate(QUERIES):
        both.spark(f"CREATE TABLE t{number} AS {query}")
        assert len(both.rows(f"SELECT * FROM t{number}")) == 7, query
        assert writers(tmp_path / "lake_files" / "main" / f"t{number}") == {writer}, query


@pytest.mark.parametrize("most", [few_rows.MAX_ROWS, -1])
def test_a_failed_statement_leaves_nothing(both: Both, monkeypatch: pytest.MonkeyPatch, most: int, tmp_path: Path) -> None:
    monkeypatch.setattr(few_rows, "MAX_ROWS", most)
    both.spark(f"CREATE TABLE source AS {COLUMNS}")
    both.spark("CREATE TABLE t (id TINYINT NOT NULL)")
    for query, error, text in (
        ("SELECT id + 120 FROM source", DataError, "id: 128 does not fit"),
        ("SELECT nullif(id, 3) FROM source", DataError, "id is NOT NULL"),
        ("SELECT CAST(part AS INT) FROM source", DataError, "CAST_INVALID_INPUT"),
    ):
        with pytest.raises(error, match=text):
            both.spark(f"INSERT INTO t {query}")
    assert both.rows("SELECT * FROM t") == []
    assert not list((tmp_path / "lake_files").glob("main/t/*"))
