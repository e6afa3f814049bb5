"""Temporary folders that are removed after the processes that use them end, even if those are killed.

Each folder has a locked file. The lock ends with the last process that has the file open, so a later process can tell which folders are
unused, and removes them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where the folders of killed processes stay
    fcntl = None  # type: ignore[assignment]

PREFIX = "dbt-ducklake-"
LOCK = "lock"


class TemporaryFolder:
    """A folder that only this user can read. It is removed by `remove`, when nothing refers to this object, or when the process ends."""

    def __init__(self) -> None:
        remove_unused()
        self.path, self._lock = _new_folder()
        self._remove = weakref.finalize(self, _remove, self.path, self._lock, os.getpid())

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that a child process must inherit to use the folder as well."""
        return () if self._lock is None else (self._lock.fileno(),)

    def remove(self) -> None:
        """Remove the folder and its contents; do nothing if it was already removed."""
        self._remove()

    def hand_over(self) -> None:
        """Leave the folder to a child process that has inherited its lock."""
        self._remove.detach()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.remove()


def remove_unused() -> None:
    """Remove the folders of this user that no process uses. A folder that cannot be removed stays."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                with contextlib.suppress(OSError):
                    _remove_if_unused(entry)


def _remove_if_unused(folder: os.DirEntry[str]) -> None:
    if folder.is_dir(follow_symlinks=False) and folder.stat(follow_symlinks=False).st_uid == os.getuid():
        with open(os.open(os.path.join(folder.path, LOCK), os.O_RDWR | os.O_NOFOLLOW), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_contents_and_folder(folder.path)


def _remove_contents_and_folder(folder: Path | str) -> None:
    """Remove a folder, its lock last: without one no later process would remove what remains if this one is killed or files are in use."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != LOCK:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
        if set(os.listdir(folder)) <= {LOCK}:
            shutil.rmtree(folder, ignore_errors=True)


def _new_folder() -> tuple[Path, IO[str] | None]:
    """Return a new folder and its locked file; None if the file system has no locks, so that no other process removes the folder."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # with the mode 0700
        if fcntl is None:
            return folder, None
        path = folder / LOCK
        lock = path.open("x")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock.fileno()), os.stat(path)):
                return folder, lock
            lock.close()
        except (BlockingIOError, FileNotFoundError):  # another process has found the new folder before it was locked
            lock.close()
        except OSError:
            lock.close()
            return folder, None


def _remove(folder: Path, lock: IO[str] | None, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked process
        _remove_contents_and_folder(folder)
        if lock is not None:
            lock.close()
