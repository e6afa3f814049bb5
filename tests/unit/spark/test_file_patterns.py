"""Patterns for the paths of added files find the files that DuckDB finds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.spark.arrow.foreign_files import find_files

FILES = ("x1", "y1", "^1", "-1", "]1", "!1", "b1", "x12", "sub/x1", "sub/deep/x1")
PATTERNS = (
    *("*.parquet", "?1.parquet", "**/x1.parquet", "s*/**/x1.parquet", "**.parquet", "**", "sub/**", "sub**/x1.parquet"),
    *("[xy]1.parquet", "[!x]*.parquet", "[^x]*.parquet", "[a-c]*.parquet", "[!a-c]*.parquet", "[z-a]*.parquet", "[x-]1.parquet"),
    *(
        "[]x]1.parquet",
        "[!]x]1.parquet",
        "[!^]1.parquet",
        "[\\]1.parquet",
        "[*]1.parquet",
        "sub[!a]x1.parquet",
        "[!x]**/x1.parquet",
        "[xb][1-3]*.parquet",
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_the_files_that_duckdb_finds(folder: Path, pattern: str) -> None:
    theirs = {row[0] for row in duckdb.execute("SELECT file FROM glob(?)", [f"{folder}/{pattern}"]).fetchall()}
    if theirs:
        assert {file.path for file in find_files([f"{folder}/{pattern}"])} == theirs
    else:
        with pytest.raises(LakeError, match="no file is called"):
            find_files([f"{folder}/{pattern}"])
