"""The processors and memory that a process may use, with the limits of its container."""

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
    use_groups(own, files, tmp_path, monkeypatch)
    assert machine.available_memory() == expected
    assert SparkSettings().launch_config()["spark.driver.memory"] == f"{max(1024, expected // 4 // 2**20)}m"


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/", {"cpu.max": "max 100000"}, 64),
        ("0::/", {"cpu.max": "200000 100000"}, 2),
        ("0::/a/b", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "800000 100000"}, 2),
        ("0::/docker/4f", {"cpu.max": "10000 100000"}, 1),
        ("4:cpu,cpuacct:/\n3:memory:/", {"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ("4:cpu,cpuacct:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 64),
        ("", {}, 64),
    ],
)
def test_the_smallest_quota_is_the_number_of_processors(
    own: str, files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java counts them so, and Spark has as many threads; a shuffle must not have a partition for each processor of the machine."""
    use_groups(own, files, tmp_path, monkeypatch)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert machine.available_cores() == expected
    assert SparkSettings(master="local[*]").launch_config()["spark.sql.shuffle.partitions"] == str(expected)


def use_groups(own: str, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (tmp_path / "own").write_text(own + "\n")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "OWN_GROUP", tmp_path / "own")
