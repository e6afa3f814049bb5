"""The memory of encrypted reads and writes does not grow with the file, because rows pass in batches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.spark.encrypted_memory import BATCH_BYTES

SMALL, LARGE = 30, 300
"""Numbers of batches; the smaller file has several row groups too."""


def peak_bytes(action: str, folder: Path, batches: int) -> int:
    """Return the peak memory of a process that writes or reads a file."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.unit.spark.encrypted_memory", action, str(folder), str(batches)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.nightly
def test_a_file_of_ten_times_the_size_needs_no_more_memory(tmp_path: Path) -> None:
    for action in ("write", "read"):
        small = peak_bytes(action, tmp_path / "small", SMALL)
        large = peak_bytes(action, tmp_path / "large", LARGE)
        assert large - small < (LARGE - SMALL) * BATCH_BYTES / 3, f"{action}: {small} and {large} bytes"
