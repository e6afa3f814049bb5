"""Folders for files whose writing shall cost nothing: in memory where the machine has such a place with room, else temporary ones.

As a plug-in, it puts pytest's own temporary folders there (`tmp_path`): SQLite and DuckDB wait for the disk at every commit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY = "/dev/shm"
ROOM = 2 << 30
"""Bytes that must be free: two servers, their logs and the files of lakes; in containers it is often 64 MB."""


def in_memory() -> bool:
    """Whether this machine has a file system in memory with room."""
    return os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM


def fast_folder(prefix: str) -> Path:
    """A new folder; its path is short, since sockets lie in some. Who asks for it removes it."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if in_memory() else None))


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Before pytest looks where its temporary folders go; who has said where is obeyed."""
    if in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)
