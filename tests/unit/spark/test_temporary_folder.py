"""A temporary folder is removed with the last process that uses it, even if that process is killed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.spark.session.temporary_folder import LOCK, PREFIX, TemporaryFolder, remove_unused

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no fcntl, with which the folders are locked")
OTHER_PROCESS = """
import subprocess, sys
from dbt.adapters.ducklake.spark.session.temporary_folder import TemporaryFolder

folder = TemporaryFolder()
(folder.path / "subfolder").mkdir()
if sys.argv[1:]:
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=folder.descriptors)
print(folder.path, flush=True)
sys.stdin.read()
"""


def refuse(*_path: object, **_options: object) -> None:
    raise PermissionError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def other_process(root: Path, *child: str) -> tuple[subprocess.Popen[str], Path]:
    """Start a process with a temporary folder and return both. `child` is the command of a child process that uses the folder too."""
    command, variables = [sys.executable, "-c", OTHER_PROCESS, *child], {**os.environ, "TMPDIR": str(root)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_removed_when_nothing_refers_to_it(root: Path) -> None:
    folder = TemporaryFolder()
    path = folder.path
    (path / "subfolder").mkdir()
    assert path.stat().st_mode & 0o777 == 0o700
    del folder
    gc.collect()
    assert list(root.iterdir()) == []


def test_the_end_of_a_process_removes_its_folder(root: Path) -> None:
    process, path = other_process(root)
    assert path.is_dir()
    process.communicate(timeout=60)
    assert list(root.iterdir()) == []


def test_creating_a_folder_removes_those_of_killed_processes(root: Path) -> None:
    process, path = other_process(root)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert (path / "subfolder").is_dir()
    with TemporaryFolder() as new:
        assert list(root.iterdir()) == [new]


def test_what_could_not_be_removed_is_removed_later(root: Path) -> None:
    """As after a process that is killed while it removes a folder, or if the JVM still writes."""
    from dbt.adapters.ducklake.spark.session import keeper  # Windows cannot import it

    folder = TemporaryFolder()
    (folder.path / "subfolder").mkdir()
    for remove in (partial(keeper.remove, str(folder.path)), folder.remove, remove_unused):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "rmdir", refuse)
            remove()
        assert {each.name for each in folder.path.iterdir()} == {LOCK, "subfolder"}
    remove_unused()
    assert list(root.iterdir()) == []


def test_a_file_that_cannot_be_removed_keeps_no_other(root: Path) -> None:
    from dbt.adapters.ducklake.spark.session import keeper  # Windows cannot import it

    unlink = os.unlink

    def refuse_busy(path: str, **options: Any) -> None:
        if os.path.basename(path) == "busy":
            raise PermissionError
        unlink(path, **options)

    for of_keeper in (True, False):
        folder = TemporaryFolder()
        for name in ("a", "busy", "c"):
            (folder.path / name).touch()
        (folder.path / "subfolder").mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "unlink", refuse_busy)
            keeper.remove(str(folder.path)) if of_keeper else folder.remove()
        assert {each.name for each in folder.path.iterdir()} == {LOCK, "busy"}
        keeper.remove(str(folder.path)) if of_keeper else remove_unused()
        assert list(root.iterdir()) == []


def test_a_keeper_removes_a_folder_without_its_lock(root: Path) -> None:
    from dbt.adapters.ducklake.spark.session import keeper  # Windows cannot import it

    folder = TemporaryFolder()
    (folder.path / LOCK).unlink()
    keeper.remove(str(folder.path))
    assert list(root.iterdir()) == []


def test_a_folder_that_another_process_uses_stays(root: Path) -> None:
    process, path = other_process(root)
    remove_unused()
    assert path.is_dir()
    process.communicate(timeout=60)


def test_a_child_process_keeps_the_folder_of_a_killed_process(root: Path) -> None:
    process, path = other_process(root, "cat")  # would end when the pipe from its parent is closed
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()) if sys.platform == "linux" else 0
    if not child:
        pytest.skip("only Linux lists the children of a process")
    os.kill(child, signal.SIGSTOP)  # so that it outlives its parent
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    remove_unused()
    assert path.is_dir()
    os.kill(child, signal.SIGKILL)
    while path.is_dir():  # until the child has ended
        remove_unused()
    process.communicate(timeout=60)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_remove_the_folder() -> None:
    folder = TemporaryFolder()
    child = os.fork()
    if child == 0:
        folder.remove()  # as the interpreter does when a process ends
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.is_dir()
    folder.remove()
    assert not folder.path.exists()


def test_folders_that_this_package_did_not_create_stay(root: Path) -> None:
    (root / f"{PREFIX}other").mkdir()  # without a lock file
    (root / "foreign").mkdir()
    (root / "foreign" / LOCK).touch()
    (root / f"{PREFIX}link").symlink_to(root / "foreign")
    TemporaryFolder().remove()
    assert sorted(path.name for path in root.iterdir()) == [f"{PREFIX}link", f"{PREFIX}other", "foreign"]
    assert (root / "foreign" / LOCK).exists()
