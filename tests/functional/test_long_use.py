"""What a process has does not grow with what it has done, and it leaves no temporary files; `tests/torture/long_use.py` runs for longer."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.long_use import WITHOUT_ARCHIVE, Use, use

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
FAST = {"LONG_USE_FAST_START": "1"}
KILLED = """
import sys
from dbt.adapters.ducklake.session import connect

with connect("sqlite:///lake.sqlite", "data/") as lake:
    lake.execute("CREATE TABLE t AS SELECT id FROM range(100)")
    lake.execute("SELECT count(*), id % 7 FROM t GROUP BY 2").fetch()
    print("ready", flush=True)
    sys.stdin.read()
"""


def assert_no_growth(found: Use, **tolerated: int) -> None:
    for name, more in tolerated.items():
        first, last = found.growth(name)
        assert last <= first + more, f"{name}\n{found.table()}"
    assert found.left == []


def test_transactions_leave_nothing(tmp_path: Path) -> None:
    found = use("transactions", 60, 20, tmp_path, **FAST)
    assert_no_growth(found, persistent=0, listeners=1, pools=0, connections=1, other_threads=3, objects=1)
    assert found.samples[-1].files <= found.samples[0].files + 2, found.table()


def test_commands_leave_nothing(tmp_path: Path) -> None:
    found = use("commands", 4, 2, tmp_path, **FAST)
    assert_no_growth(found, views=0, persistent=0, listeners=1, pools=0, connections=1, other_threads=3, objects=1, files=2)


def test_the_next_start_removes_the_files_of_killed_processes(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), **WITHOUT_ARCHIVE}

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    killed = start()
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    assert list(temporary.iterdir())
    (tmp_path / "lake.sqlite").unlink()
    shutil.rmtree(tmp_path / "data")
    last = start()
    last.communicate(timeout=60)
    assert last.returncode == 0
    assert list(temporary.iterdir()) == []
