"""The memory that a process may use, with the limits of its container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbt.adapters.ducklake.spark.session import machine
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

GIB = 1 << 30
ALL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/", {"memory.max": "max"}, ALL),
        ("0::/", {"memory.max": str(GIB)}, GIB),
        ("0::/system.slice/dbt.service", {"system.slice/memory.max": str(GIB), "system.slice/dbt.service/memory.max": str(2 * GIB)}, GIB),
        ("0::/docker/4f", {"memory.max": str(GIB)}, GIB),
        ("4:cpu,cpuacct:/\n3:memory:/docker/4f", {"memory/memory.limit_in_bytes": str(GIB)}, GIB),
        ("3:memory:/", {"memory/memory.limit_in_bytes": "9223372036854771712"}, ALL),
        ("", {}, ALL),
    ],
)
def test_the_smallest_limit_is_the_memory(
    own: str, files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (tmp_path / "own").write_text(own + "\n")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "OWN_GROUP", tmp_path / "own")
    assert machine.available_memory() == expected
    assert SparkSettings().launch_config()["spark.driver.memory"] == f"{max(1024, expected // 4 // 2**20)}m"
