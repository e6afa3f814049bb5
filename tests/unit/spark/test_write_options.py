"""A lake's options as options of the two Parquet writers."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.format.files import WriteOptions
from dbt.adapters.ducklake.spark.files.write_options import arrow_options, ignored_option, spark_options


def test_options_of_the_lake_are_passed_on_to_spark() -> None:
    options = WriteOptions(compression="ZSTD", compression_level=7, parquet_version=2, row_group_size=1000, row_group_size_bytes=5_000_000)
    found = spark_options(options, local=True)
    assert found["compression"] == "zstd"
    assert found["parquet.compression.codec.zstd.level"] == "7"
    assert found["parquet.writer.version"] == "v2"
    assert found["parquet.block.row.count.limit"] == "1000"
    assert found["parquet.block.size"] == "5000000"
    assert found["fs.file.impl"].endswith("RawLocalFileSystem")
    assert "fs.file.impl" not in spark_options(options, local=False)


def test_row_groups_have_the_size_that_suits_each_writer_if_the_lake_sets_none() -> None:
    assert spark_options(WriteOptions(), local=True)["parquet.block.row.count.limit"] == "524288"
    assert arrow_options(WriteOptions())["row_group_size"] == 122880  # as DuckDB's


def test_lz4_is_the_raw_format_as_in_duckdb() -> None:
    assert spark_options(WriteOptions(compression="lz4"), local=True)["compression"] == "lz4_raw"
    assert arrow_options(WriteOptions(compression="lz4"))["compression"] == "lz4_raw"


def test_levels_of_gzip_have_hadoops_names() -> None:
    assert spark_options(WriteOptions(compression="gzip", compression_level=9), local=True)["zlib.compress.level"] == "BEST_COMPRESSION"
    assert arrow_options(WriteOptions(compression="gzip", compression_level=9))["compression_level"] == 9
    assert arrow_options(WriteOptions(compression="gzip", compression_level=12))["compression_level"] == 9


def test_a_level_is_at_most_the_highest_of_its_codec_and_ignored_above_all() -> None:
    assert arrow_options(WriteOptions(compression="brotli", compression_level=22))["compression_level"] == 11
    for codec in ("zstd", "gzip", "brotli"):
        stored = WriteOptions(compression=codec, compression_level=99999)
        assert spark_options(stored, local=True) == spark_options(WriteOptions(compression=codec), local=True)
        assert arrow_options(stored) == arrow_options(WriteOptions(compression=codec))


def test_extra_options_have_precedence() -> None:
    assert spark_options(WriteOptions(extra={"parquet.writer.version": "v2"}), local=True)["parquet.writer.version"] == "v2"


@pytest.mark.parametrize(("size", "spark", "warns"), [(1000, "4.0.5", True), (None, "4.0.5", False), (1000, "4.1.0", False)])
def test_a_spark_that_ignores_the_row_limit_of_row_groups_causes_a_warning(size: int | None, spark: str, warns: bool) -> None:
    message = ignored_option(WriteOptions(row_group_size=size), lambda: spark)
    assert (message is not None) == warns
    if message is not None:
        assert message.startswith("parquet_row_group_size is 1000, and Spark 4.0.5 ignores it: install pyspark 4.1 or newer")


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="parquet_compression is 'lzo': set it to one of"):
        spark_options(WriteOptions(compression="lzo"), local=True)


def test_the_size_of_row_groups_in_bytes_limits_their_rows_for_pyarrow() -> None:
    options = WriteOptions(row_group_size=1000, row_group_size_bytes=8000)
    assert arrow_options(options, row_bytes=80)["row_group_size"] == 100
    assert arrow_options(options, row_bytes=1)["row_group_size"] == 1000
