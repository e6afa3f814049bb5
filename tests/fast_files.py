"""A folder for catalog databases whose commits shall cost nothing: in memory where the machine has such a place with room, else a temporary one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = "/dev/shm"
ROOM = 2 << 30
"""Bytes that must be free: two servers and their logs; in containers it is often 64 MB."""


def fast_folder(prefix: str) -> Path:
    """A new folder; its path is short, since sockets lie in some. Who asks for it removes it."""
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if roomy else None))
