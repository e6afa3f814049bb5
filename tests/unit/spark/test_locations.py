"""The forms of a file's path."""

from __future__ import annotations

import os

import pytest

from dbt.adapters.ducklake.spark.files.locations import hive_value, manifest_path, metadata_path, reader_path, spark_path


@pytest.mark.parametrize(
    ("path", "manifest", "metadata"),
    [
        ("/d/a.parquet", "file:///d/a.parquet", "file:/d/a.parquet"),
        ("/d/a b%20#?.parquet", "file:///d/a%20b%2520%23%3F.parquet", "file:/d/a%20b%2520%23%3F.parquet"),
        ("/d/ü[1]'.parquet", "file:///d/ü%5B1%5D'.parquet", "file:/d/ü%5B1%5D'.parquet"),
        ("s3://bucket/k=1 2/a.parquet", "s3a://bucket/k=1%202/a.parquet", "s3a://bucket/k=1%202/a.parquet"),
        ("abfss://c@acct.dfs.core.windows.net/x", "abfss://c@acct.dfs.core.windows.net/x", "abfss://c@acct.dfs.core.windows.net/x"),
        ("file:/d/a.parquet", "file:///d/a.parquet", "file:/d/a.parquet"),
        ("file:///d/a.parquet", "file:///d/a.parquet", "file:/d/a.parquet"),
        ("file://localhost/d/a.parquet", "file:///d/a.parquet", "file:/d/a.parquet"),
    ],
)
def test_spellings(path: str, manifest: str, metadata: str) -> None:
    assert manifest_path(path) == manifest
    assert metadata_path(path) == metadata


def test_relative_paths_start_at_the_working_directory() -> None:
    assert spark_path("x/a.parquet") == f"file://{os.getcwd()}/x/a.parquet"


def test_paths_are_escaped_because_the_reader_accepts_patterns() -> None:
    assert reader_path("/d/a[1]{2}*?.parquet") == r"file:///d/a\[1\]\{2\}\*\?.parquet"


@pytest.mark.parametrize(
    ("part", "value"), [("p=a%20b%2Fc", "a b/c"), ("P=1", "1"), ("p=__HIVE_DEFAULT_PARTITION__", None), ("p=", ""), ("q=1", None)]
)
def test_values_of_partition_directories(part: str, value: str | None) -> None:
    assert hive_value(f"/d/{part}/f.parquet", "p") == value
