"""Folders for fast file access: in memory if the machine has such a file system with enough free space, else in the temporary directory.

As a pytest plug-in, it also places pytest's own temporary folders (`tmp_path`) in memory: SQLite and DuckDB wait for the disk at every
commit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY_FOLDER = "/dev/shm"
REQUIRED_BYTES = 2 << 30
"""Bytes that must be free for two servers, their logs and the files of lakes. Containers often have only 64 MB."""


def in_memory() -> bool:
    """Return whether this machine has an in-memory file system with enough free space."""
    return os.access(MEMORY_FOLDER, os.W_OK) and shutil.disk_usage(MEMORY_FOLDER).free > REQUIRED_BYTES


def fast_folder(prefix: str) -> Path:
    """Create a new folder, which the caller removes. Its path is short because some folders contain sockets."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY_FOLDER if in_memory() else None))


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Set the root of pytest's temporary folders before pytest reads it, unless the environment already sets it."""
    if in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY_FOLDER)
