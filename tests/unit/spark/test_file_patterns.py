"""Patterns for the paths of added files find the files that DuckDB finds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.spark.files.patterns import find_files

FILES = ("x1", "y1", "^1", "-1", "]1", "!1", "b1", "x12", "sub/x1", "sub/deep/x1")
PATTERNS = (
    *("*.parquet", "?1.parquet", "**/x1.parquet", "s*/**/x1.parquet", "**.parquet", "**", "sub/**", "sub**/x1.parquet"),
    *(
        "l*/*.parquet",
        "*/x1.parquet",
        "*/above/x1.parquet",
        "**/above/y1.parquet",
        "*/deep/*.parquet",
        "l*/**/x1.parquet",
        "**/deep/*",
        "**/*.parquet",
        "*/**",
    ),
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
    (tmp_path / "sub" / "above").symlink_to("..")
    (tmp_path / "linked").symlink_to("sub")
    (tmp_path / "alias.parquet").symlink_to("x1.parquet")
    (tmp_path / "circle.parquet").symlink_to("circle.parquet")
    (tmp_path / "nowhere.parquet").symlink_to("missing")
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_the_files_that_duckdb_finds(folder: Path, pattern: str) -> None:
    theirs = {row[0] for row in duckdb.execute("SELECT file FROM glob(?)", [f"{folder}/{pattern}"]).fetchall()}
    if theirs:
        assert {file.path for file in find_files([f"{folder}/{pattern}"])} == theirs
    else:
        with pytest.raises(LakeError, match="no file is called"):
            find_files([f"{folder}/{pattern}"])


def test_a_pattern_may_begin_in_the_first_directory(folder: Path) -> None:
    _, first, *rest = folder.parts
    path = "/".join(("", *rest, "x1.parquet"))
    assert [file.path for file in find_files([f"/{first[:-1]}?{path}"])] == [f"/{first}{path}"]
    assert [file.path for file in find_files([f"file:///{first[:-1]}?{path}"])] == [f"file:///{first}{path}"]


@pytest.mark.parametrize(("pattern", "read"), [("*.parquet", 1), ("s*/*.parquet", 2), ("**/x1.parquet", 3)])
def test_only_the_directories_that_a_pattern_can_match_are_read(
    folder: Path, pattern: str, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories: list[str] = []
    scandir = os.scandir

    def counted(directory: str) -> Any:
        directories.append(directory)
        return scandir(directory)

    monkeypatch.setattr(os, "scandir", counted)
    find_files([f"{folder}/{pattern}"])
    assert len(directories) == read, directories
