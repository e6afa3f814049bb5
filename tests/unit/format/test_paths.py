"""Paths: the directories of schemas and tables, and which paths are stored as relative."""

from __future__ import annotations

import os
import uuid

import pytest

from dbt.adapters.ducklake.format import paths


@pytest.mark.parametrize("name", ["orders", "Order_Items-2", "42"])
def test_plain_names_are_their_own_directory(name: str) -> None:
    assert paths.directory_name(name, "u-u-i-d") == name + "/"


@pytest.mark.parametrize("name", ["order items", "größe", "a/b", "..", "", "a.b", "x\n"])
def test_other_names_use_the_uuid(name: str) -> None:
    assert paths.directory_name(name, "u-u-i-d") == "u-u-i-d/"


def test_relative_and_absolute_paths_are_unchanged_by_storing() -> None:
    for path in ("/lake/main/t/x.parquet", "s3://other/x.parquet", "/elsewhere/x.parquet"):
        stored, is_relative = paths.relative_to("/lake/main/t/", path)
        assert paths.resolve("/lake/main/t/", stored, is_relative) == path
    assert paths.relative_to("/lake/main/t/", "/lake/main/t/k=1/x.parquet") == ("k=1/x.parquet", True)
    assert paths.relative_to("/lake/main/t/", "/lake/main/t2/x.parquet") == ("/lake/main/t2/x.parquet", False)


def test_absolute_files_of_a_lake_with_a_relative_data_path_stay_relative() -> None:
    assert paths.relative_to("files/main/t/", os.getcwd() + "/files/main/t/x.parquet") == ("x.parquet", True)
    assert paths.relative_to("s3://b/t/", "s3://b/t/x.parquet") == ("x.parquet", True)


def test_a_missing_path_is_that_of_the_parent() -> None:
    assert paths.resolve("/lake/", None, None) == "/lake/"


def test_data_paths_become_absolute_and_end_in_a_slash() -> None:
    assert paths.absolute("files") == os.getcwd() + "/files/"
    assert paths.absolute("s3://bucket/lake") == "s3://bucket/lake/"
    assert paths.absolute("/lake/") == "/lake/"


def test_uuids_have_version_7_and_ascend_with_time() -> None:
    made = [paths.new_uuid() for _ in range(3)]
    assert {uuid.UUID(each).version for each in made} == {7}
    assert {uuid.UUID(each).variant for each in made} == {uuid.RFC_4122}
    assert [each[:8] for each in made] == sorted(each[:8] for each in made)


def test_file_names_distinguish_data_files_from_delete_files() -> None:
    assert paths.data_file_name().startswith("ducklake-")
    assert paths.delete_file_name().endswith("-delete.parquet")


def test_paths_of_one_file_have_one_canonical_form() -> None:
    assert {paths.normalize(path) for path in ("/a/b", "/a/./b", "/a/c/../b", "file:/a/b", "file:///a//b", "file://localhost/a/b")} == {
        "/a/b"
    }
    assert {paths.normalize(path) for path in ("s3://x/a/b", "s3a://x/a//b", "S3N://x/./a/b")} == {"s3://x/a/b"}
    assert paths.normalize("s3://x/a b") != paths.normalize("s3://y/a b")
    assert paths.normalize("gs://x/a%20b") == "gs://x/a%20b"
