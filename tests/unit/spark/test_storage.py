"""File systems: which one a path belongs to, and its operations."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from dbt.adapters.ducklake.spark.files import storage


def test_plain_paths_and_file_urls_are_local_and_unchanged(tmp_path: Path) -> None:
    odd = f"{tmp_path}/a b%20ü#?[x]"
    storage.make_directory(odd)
    Path(odd, "f").write_bytes(b"123")
    assert storage.size(f"{odd}/f") == 3
    assert storage.size(f"file:{odd}/f") == 3
    assert storage.size(f"file://{odd}/f") == 3
    assert storage.size(f"file://localhost{odd}/f") == 3
    assert storage.list_files(odd + "/") == [(f"{odd}/f", 3)]
    assert storage.is_local(odd)


def test_a_url_has_a_scheme_and_a_windows_drive_is_not_one() -> None:
    assert storage.scheme_of("s3a://bucket/x") == "s3a"
    assert storage.scheme_of("file:/x") == "file"
    assert storage.scheme_of("/x/y:z") == ""
    assert not storage.is_local("gs://bucket/x")


def test_files_are_removed_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove, both = storage._remove_one, Barrier(2, timeout=60)
    paths = [f"{tmp_path}/{name}" for name in ("a", "b")]
    for path in paths:
        Path(path).write_bytes(b"1")

    def remove_with_the_other(path: str) -> None:
        both.wait()
        remove(path)
        if path.endswith("b"):
            raise OSError("refused")

    monkeypatch.setattr(storage, "_remove_one", remove_with_the_other)
    assert storage.remove_each(paths) == {paths[1]: "refused"}
    assert list(tmp_path.iterdir()) == []


def test_files_are_moved_and_removed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    storage.move(f"{tmp_path}/a", f"{tmp_path}/new/dir/b")
    assert storage.list_files(str(tmp_path)) == [(f"{tmp_path}/new/dir/b", 1)]
    os.symlink("../never", f"{tmp_path}/new/dangling")
    storage.remove([f"{tmp_path}/new/dir/b", f"{tmp_path}/never", f"{tmp_path}/new/dangling"])
    assert not os.path.lexists(f"{tmp_path}/new/dangling")
    storage.remove_tree(f"{tmp_path}/new/")
    storage.remove_tree(f"{tmp_path}/never")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        storage.size(f"{tmp_path}/never")


def test_a_file_gets_a_second_name_by_a_link_or_by_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, linked, copied = (f"{tmp_path}/{name}" for name in ("a", "new/b", "other/c"))
    Path(first).write_bytes(b"123")
    os.utime(first, (0, 0))
    storage.link_or_copy(first, linked)
    assert os.path.samefile(first, linked)
    assert os.stat(linked).st_mtime > time.time() - 60  # so that it is not removed as an old orphan

    os.symlink("../a", f"{tmp_path}/new/symbolic")
    storage.link_or_copy(f"{tmp_path}/new/symbolic", f"{tmp_path}/deep/er/d")
    assert os.path.samefile(first, f"{tmp_path}/deep/er/d")

    def refused(*_: Any) -> None:
        raise OSError("Invalid cross-device link")

    monkeypatch.setattr(os, "link", refused)
    storage.link_or_copy(first, copied)
    assert (Path(copied).read_bytes(), os.path.samefile(first, copied)) == (b"123", False)
    monkeypatch.undo()
    for missing in ("link_or_copy", "copy"):
        with pytest.raises(FileNotFoundError):
            getattr(storage, missing)(f"{tmp_path}/never", f"{tmp_path}/new/d")
    assert not Path(f"{tmp_path}/new/d").exists()
