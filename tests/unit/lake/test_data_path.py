"""Marks of data paths, in a local folder and in a store without links: PyArrow's file system in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.lake.data_path import MARK_FILE, Owners, owner_of, require_own_mark, require_own_path
from dbt.adapters.ducklake.session import Lake, LakeSettings
from dbt.adapters.ducklake.spark.files.storage import filesystem, write_small


@pytest.fixture
def data_path() -> str:
    """A data path with a table's file, and the folder of a nested lake."""
    path = f"mock://{uuid4().hex}/lake/"
    files, inner = filesystem(path)
    for folder in ("main/t", "nested/main/t"):
        files.create_dir(inner + folder)
    write_small(path + "main/t/a.parquet", b"x")
    return path


def test_the_nearest_mark_decides(data_path: str) -> None:
    ours, nested = data_path + "main/t/a.parquet", data_path + "nested/main/t/a.parquet"
    assert (Owners(data_path, {"1"}).foreign_mark(ours), Owners(data_path, {"1"}).is_unmarked()) == (None, True)
    write_small(data_path + MARK_FILE, b'{"lake": "1"}')
    write_small(data_path + "nested/" + MARK_FILE, b'{"lake": "2"}')
    assert (Owners(data_path, {"1"}).foreign_mark(ours), Owners(data_path, {"1"}).is_unmarked()) == (None, False)
    assert Owners(data_path, {"1"}).foreign_mark(nested) == data_path + "nested/" + MARK_FILE
    assert Owners(data_path, {"3"}).foreign_mark(ours) == data_path + MARK_FILE
    assert Owners(data_path + "nested/", {"2"}).foreign_mark(nested) is None


@pytest.mark.parametrize("content", [b"", b"[]", b'{"lake": 1}', b"\xff"])
def test_a_mark_that_cannot_be_read_is_anothers(data_path: str, content: bytes) -> None:
    write_small(data_path + MARK_FILE, content)
    assert Owners(data_path, {"1"}).foreign_mark(data_path + "main/t/a.parquet") == data_path + MARK_FILE


def test_only_a_path_without_files_of_a_lake_is_free(data_path: str) -> None:
    assert owner_of(data_path) is None
    with pytest.raises(ConfigurationError, match="already has files of another lake"):
        require_own_path(data_path)
    require_own_path(data_path + "elsewhere/")
    files, inner = filesystem(data_path)
    files.delete_dir(inner + "main")
    require_own_path(data_path)
    write_small(data_path + MARK_FILE, b'{"lake": "1"}')
    with pytest.raises(ConfigurationError, match="already has files of another lake"):
        require_own_path(data_path)  # a lake with other schemas
    files.delete_dir(inner + "nested")
    with pytest.raises(ConfigurationError, match=f"remove these files and {MARK_FILE} if no lake needs them"):
        require_own_path(data_path)  # a lake of which all rows are inlined
    files.delete_file(inner + MARK_FILE)
    require_own_path(data_path)


def test_a_corrected_data_path_takes_the_mark_along(tmp_path: Path) -> None:
    warnings: list[str] = []

    def settings(folder: str) -> LakeSettings:
        return LakeSettings(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/{folder}/")

    with Lake.open(settings("one")):
        assert owner_of(f"{tmp_path}/one/") is not None
    with Lake.open(settings("two"), warn=warnings.append):
        assert [f"its data path is now {tmp_path}/two/ instead of {tmp_path}/one/" in each for each in warnings] == [True]
    assert owner_of(f"{tmp_path}/one/") is None, "another lake can use it"
    assert owner_of(f"{tmp_path}/two/") is not None
    (tmp_path / "three" / "main" / "t").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="already has files of another lake"):
        Lake.open(settings("three"))
    with Lake.open(settings("two")) as lake:
        assert lake.catalog.data_path == f"{tmp_path}/two/"


@pytest.mark.parametrize("place", ["folder", "store"])
def test_a_lake_in_the_data_path_of_another_is_opened_with_a_warning(place: str, tmp_path: Path) -> None:
    """An object store is not asked each time that a lake is opened."""
    data_path = f"{tmp_path}/files/" if place == "folder" else f"mock://{uuid4().hex}/files/"
    one, two = (LakeSettings(f"ducklake:sqlite:{tmp_path}/{name}.sqlite", data_path) for name in ("one", "two"))
    warnings: list[str] = []
    with Lake.open(one) as lake:
        (owner,) = lake.catalog.identities()
    with LakeCatalog.open(two) as catalog:  # as DuckDB creates it, which does not look for a mark
        (other,) = catalog.identities()
    for settings in (one, two):
        Lake.open(settings, warn=warnings.append).close()
    message = f"its mark {MARK_FILE} names the lake {owner}, and this is the lake {other}."
    assert [message in each for each in warnings] == ([True] if place == "folder" else [])
    both = LakeSettings(f"{tmp_path}/three.sqlite", f"{tmp_path}/three/", attached=(replace(two, database="other"),))
    with Lake.open(both, warn=warnings.append) as lake:
        lake.catalog_of("other")
        lake.catalog_of("other")
    assert len(warnings) == (2 if place == "folder" else 0), "an attached lake has its own warning"


def test_a_mark_that_cannot_be_read_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    with caplog.at_level("WARNING"):
        require_own_mark(f"{tmp_path}/file/files/", ["1"])
    assert f"the mark of the data path {tmp_path}/file/files/ could not be read" in caplog.text
