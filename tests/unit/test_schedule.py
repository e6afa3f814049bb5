"""The scheduler of the tests (`tests/schedule.py`): a crashed worker fails only the test that it ran; the run neither ends early nor hangs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

THREE = """
def test_0(): pass
def test_1(): pass
def test_2(): pass
"""

CRASH = """
import os
def test_crash(): os._exit(9)
"""

ONE = "def test_0(): pass\n"


@pytest.mark.nightly
def test_the_files_of_a_crashed_worker_are_run_by_its_replacement(tmp_path: Path) -> None:
    """The scheduler of xdist gives the replacement only the first file, whose tests are all done, and waits forever for its results."""
    for name, text in {"first": THREE, "second": CRASH, "third": ONE, "fourth": ONE}.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    done = _run(tmp_path)
    assert "1 failed, 5 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("replacing crashed worker") == 1, "the test that crashed is not run again"
    assert "crashed while running 'test_second.py::test_crash'" in done.stdout


@pytest.mark.nightly
def test_the_longest_files_are_run_first(tmp_path: Path) -> None:
    """A file that was never measured counts as one that takes a minute."""
    for name in ("a", "b", "c", "new"):
        (tmp_path / f"test_{name}.py").write_text(ONE)
    known = {"test_a.py": 1.0, "test_b.py": 300.0, "test_c.py": 2.0}
    (tmp_path / "conftest.py").write_text(f"import tests.schedule\ntests.schedule.durations = lambda: {known}\n")
    done = _run(tmp_path)
    assert re.findall(r"PASSED test_(\w+)\.py", done.stdout) == ["b", "new", "c", "a"], done.stdout + done.stderr


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder with one worker."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    command = [sys.executable, "-m", "pytest", "-p", "tests.schedule", "-n", "1", "--dist", "loadfile", "-v", str(folder)]
    return subprocess.run(
        command, cwd=folder, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False
    )
