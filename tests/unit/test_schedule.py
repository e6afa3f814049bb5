"""The scheduler of the tests (`tests/schedule.py`): a worker that crashes costs its test, and neither ends nor stops the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_the_files_of_a_crashed_worker_are_run_by_its_replacement(tmp_path: Path) -> None:
    """The scheduler of xdist gives the replacement the first file, whose tests are all done, and waits for its results for ever."""
    for name, text in {"first": THREE, "second": CRASH, "third": ONE, "fourth": ONE}.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    command = [sys.executable, "-m", "pytest", "-p", "tests.schedule", "-n", "1", "--dist", "loadfile", "-v", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False
    )
    assert "1 failed, 5 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("replacing crashed worker") == 1, "the test that crashed is not run again"
    assert "crashed while running 'test_second.py::test_crash'" in done.stdout
