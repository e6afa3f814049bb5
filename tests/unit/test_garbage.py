"""Python's garbage collector does not search the modules of a dbt command."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from dbt.adapters.ducklake.garbage import importing


@pytest.mark.parametrize(
    ("program", "exempt"), [("/venv/bin/dbt", True), ("C:\\venv\\Scripts\\dbt.exe", sys.platform == "win32"), ("airflow", False)]
)
def test_the_modules_of_a_dbt_command_are_exempt(program: str, exempt: bool) -> None:
    script = f"import gc, sys; sys.argv[0] = {program!r}; import dbt.adapters.ducklake; print(gc.get_freeze_count())"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (int(found.stdout.strip().splitlines()[-1]) > 10_000) == exempt


def test_imports_collect_nothing_and_leave_the_collector_as_it_was() -> None:
    assert gc.isenabled()
    with importing():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with importing():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
