"""Every option affects the files that statements write, and sorted tables are written in order. PyArrow reads the footers."""

from __future__ import annotations

import glob
import itertools
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.session import LakeSession
from tests.catalog_objects import table_of
from tests.places import nightly

ROWS = "SELECT id AS a, cast(id * 7919 % 1000 AS int) AS b, md5(cast(id AS string)) AS s FROM range({})"


def files(lake: LakeSession, name: str = "t") -> list[str]:
    reader = lake.catalog.reader()
    return [file.path for file in reader.scan_plan(table_of(reader, name)).files]


def footer(path: str) -> pq.FileMetaData:
    return pq.ParquetFile(path).metadata


def column(path: str, name: str) -> list[Any]:
    return pq.read_table(path, partitioning=None).column(name).to_pylist()


def create(lake: LakeSession, options: dict[str, str], rows: int = 10_000, more: str = "") -> list[str]:
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    lake.execute(f"CREATE OR REPLACE TABLE t {more} TBLPROPERTIES ({listed}) AS {ROWS.format(rows)}")
    return files(lake)


@pytest.mark.parametrize("codec", ["uncompressed", "zstd", "lz4_raw", *nightly("snappy", "gzip")])
def test_codecs(lake: LakeSession, codec: str) -> None:
    (path,) = create(lake, {"parquet_compression": codec}, 1000)
    assert footer(path).row_group(0).column(0).compression == {"lz4_raw": "LZ4"}.get(codec, codec.upper())


@pytest.mark.nightly
def test_levels_versions_and_row_groups(lake: LakeSession) -> None:
    sizes = []
    for level in (1, 19):
        (path,) = create(lake, {"parquet_compression": "zstd", "parquet_compression_level": str(level)}, 50_000)
        sizes.append(Path(path).stat().st_size)
    assert sizes[1] < sizes[0]
    (path,) = create(lake, {"parquet_version": "2", "parquet_row_group_size": "2000"})
    assert [footer(path).row_group(i).num_rows for i in range(footer(path).num_row_groups)] == [2000] * 5
    (path,) = create(lake, {"parquet_row_group_size_bytes": "100KB", "parquet_row_group_size": "1000000"}, 50_000)
    assert footer(path).num_row_groups > 5


def test_files_approach_the_target_size_once_there_are_files_to_measure(lake: LakeSession) -> None:
    target = 1_000_000
    lake.execute("CREATE TABLE t (a BIGINT, b INT, s STRING) TBLPROPERTIES ('target_file_size' = '1MB', 'parquet_row_group_size' = '5000')")
    lake.execute(f"INSERT INTO t {ROWS.format(200_000)}")
    first = [Path(path).stat().st_size for path in files(lake)]
    lake.execute(f"INSERT OVERWRITE t {ROWS.format(200_000)}")
    second = [Path(path).stat().st_size for path in files(lake)]
    assert sum(second) > 5 * target, "the figures below mean nothing for a small result"
    assert all(size < 1.3 * target for size in second)
    assert all(size < 3 * target for size in first)
    assert len(second) <= sum(second) / target * 1.3 + 2


def test_small_results_are_one_file_and_partitions_one_each(lake: LakeSession) -> None:
    assert len(create(lake, {}, 20_000)) == 1
    lake.execute("CREATE OR REPLACE TABLE t PARTITIONED BY (k) AS SELECT id % 5 AS k, id FROM range(0, 20000, 1, 7)")
    assert len(files(lake)) == 5
    assert all("/k=" in path for path in files(lake))


def test_each_thread_writes_its_own_file_if_the_option_is_set(lake: LakeSession) -> None:
    lake.execute("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('per_thread_output' = 'true')")
    lake.execute("INSERT INTO t SELECT id FROM range(0, 20000, 1, 7)")
    assert len(files(lake)) == 7


def test_partition_directories_are_omitted_if_the_option_is_off(lake: LakeSession) -> None:
    lake.execute("CREATE TABLE t (k INT, v BIGINT) PARTITIONED BY (k) TBLPROPERTIES ('hive_file_pattern' = 'false')")
    lake.execute("INSERT INTO t SELECT id % 3, id FROM range(300)")
    paths = files(lake)
    assert len(paths) == 3
    assert not [path for path in paths if "k=" in path]
    assert not glob.glob(f"{Path(paths[0]).parent}/*/")


def test_a_commit_message_can_be_required(lake: LakeSession) -> None:
    lake.execute("CREATE TABLE t (a INT)")
    lake.execute("CALL lake.set_option('require_commit_message', true)")
    with pytest.raises(StatementError, match="set_commit_message"):
        lake.execute("INSERT INTO t VALUES (1)")
    lake.begin()
    lake.execute("INSERT INTO t VALUES (1)")
    lake.execute("CALL lake.set_commit_message('me', 'why')")
    assert lake.commit() is not None
    lake.execute("CALL lake.set_option('require_commit_message', false)")
    lake.execute("INSERT INTO t VALUES (2)")


class TestSorting:
    def test_inserts_updates_and_merges_are_written_in_order(self, lake: LakeSession) -> None:
        lake.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
        lake.execute("CREATE TABLE t (a BIGINT, b INT, s STRING) SORTED BY (b DESC, lower(s))")
        lake.execute(f"INSERT INTO t {ROWS.format(3000)}")
        lake.execute("UPDATE t SET s = upper(s) WHERE a < 500")
        lake.execute(
            f"MERGE INTO t USING (SELECT a + 2500 AS a, b, s FROM ({ROWS.format(1000)})) n ON t.a = n.a "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        paths = files(lake)
        assert len(paths) == 4
        for path in paths:
            rows = list(zip(column(path, "b"), column(path, "s"), strict=True))
            assert rows == sorted(rows, key=lambda row: (-row[0], row[1].lower()))

    def test_nulls_are_placed_as_the_table_specifies(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE t (a INT, b INT) SORTED BY (a, b DESC NULLS FIRST)")
        lake.execute("INSERT INTO t SELECT nullif(id % 3, 0), nullif(id % 4, 0) FROM range(60)")
        (path,) = files(lake)
        assert column(path, "a") == [1] * 20 + [2] * 20 + [None] * 20
        assert column(path, "b")[:20] == [None] * 5 + [3] * 5 + [2] * 5 + [1] * 5

    def test_files_of_a_large_result_contain_separate_ranges(self, lake: LakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dbt.adapters.ducklake.spark.write.sizes.SMALL_BYTES", 1000)
        lake.execute("CREATE TABLE t (a BIGINT, b INT, s STRING) SORTED BY (a DESC)")
        lake.execute("SET spark.sql.adaptive.coalescePartitions.enabled = false")
        lake.execute(f"INSERT INTO t {ROWS.format(40_000)}")
        ranges = sorted((min(values), max(values)) for values in (column(path, "a") for path in files(lake)))
        assert len(ranges) > 1
        assert all(one[1] < other[0] for one, other in itertools.pairwise(ranges))
        assert all(column(path, "a") == sorted(column(path, "a"), reverse=True) for path in files(lake))

    def test_rows_keep_their_order_if_the_option_is_off(self, lake: LakeSession) -> None:
        lake.execute("CREATE TABLE t (a BIGINT) SORTED BY (a DESC) TBLPROPERTIES ('sort_on_insert' = 'false')")
        lake.execute("INSERT INTO t SELECT id FROM range(0, 100, 1, 1)")
        assert column(files(lake)[0], "a") == list(range(100))
