"""Options: the narrowest scope wins, and unknown keys are kept."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.files import WriteOptions
from dbt.adapters.ducklake.format.options import Options, StoredOption


def test_table_overrides_schema_overrides_lake_overrides_default() -> None:
    options = Options.of(
        [
            StoredOption("parquet_compression", "zstd"),
            StoredOption("parquet_compression", "gzip", "schema", 3),
            StoredOption("parquet_compression", "lz4", "table", 3),
        ]
    )
    assert options.get("parquet_compression") == "zstd"
    assert options.get("parquet_compression", schema_id=3) == "gzip"
    assert options.get("PARQUET_COMPRESSION", schema_id=3, table_id=3) == "lz4"
    assert options.get("parquet_compression", schema_id=4, table_id=4) == "zstd"
    assert Options.of([]).get("data_inlining_row_limit") == "10"
    assert Options.of([]).get("unheard_of") is None


def test_write_options_have_the_defaults_of_duckdb() -> None:
    assert Options.of([]).write_options() == WriteOptions()


def test_stored_values_are_understood() -> None:
    values = {
        "parquet_compression": "ZSTD",
        "parquet_compression_level": "7",
        "parquet_version": "V2",
        "parquet_row_group_size": "1000",
        "parquet_row_group_size_bytes": "64000000",
        "target_file_size": "1073741824",
        "hive_file_pattern": "false",
        "sort_on_insert": "0",
        "dbt_ducklake.note": "ours",
        "version": "1.0",
    }
    options = Options.of(StoredOption(key, value) for key, value in values.items())
    assert options.write_options() == WriteOptions(
        "zstd", 7, 2, 1000, 64000000, 1073741824, False, False, extra={"dbt_ducklake.note": "ours"}
    )


def test_sizes_without_a_limit_fit_sparks_writers() -> None:
    keys = ("target_file_size", "parquet_row_group_size", "parquet_row_group_size_bytes")
    found = Options.of(StoredOption(key, str(2**64 - 1)) for key in keys).write_options()
    assert (found.target_file_size, found.row_group_size, found.row_group_size_bytes) == (2**53, 2**31 - 1, None)


@pytest.mark.parametrize("value", ["-1", "nan", "2", "half"])
def test_a_share_outside_its_range_is_refused_when_it_is_read(value: str) -> None:
    with pytest.raises(LakeError, match=rf"rewrite_delete_threshold.*'{value}'.*set it again"):
        Options.of([StoredOption("rewrite_delete_threshold", value)]).rewrite_threshold()


NUMBERS = ("target_file_size", "parquet_compression_level", "parquet_row_group_size", "parquet_row_group_size_bytes")


@pytest.mark.parametrize(
    ("key", "value"),
    [("target_file_size", "16MB"), ("target_file_size", "²"), ("parquet_version", "V3"), *((key, "-1") for key in NUMBERS)],
)
def test_the_error_names_an_invalid_stored_value(key: str, value: str) -> None:
    with pytest.raises(LakeError, match=rf"{key}.*'{value}'.*set it again"):
        Options.of([StoredOption(key, value)]).write_options()


@pytest.mark.parametrize("value", ["-1", "ten", "²"])
def test_an_invalid_limit_of_inlined_rows_is_refused_when_it_is_read(value: str) -> None:
    with pytest.raises(LakeError, match=rf"data_inlining_row_limit.*'{value}'.*set it again"):
        Options.of([StoredOption("data_inlining_row_limit", value)]).inlining_row_limit(10)
