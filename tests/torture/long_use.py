"""Long use of one process: after the first part, nothing grows by more than a tenth, and nothing is left when the process has ended.

One process runs LONG_USE_TRANSACTIONS transactions, another one LONG_USE_COMMANDS times `dbt build`. The memory of the process of Java is only
printed, and the use of its heap is compared, because how much memory Java keeps depends on the garbage collector.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.long_use import Use, use

COUNTS = {
    "transactions": int(os.environ.get("LONG_USE_TRANSACTIONS", "1000")),
    "commands": int(os.environ.get("LONG_USE_COMMANDS", "50")),
}
SAMPLES = 10
COMPARED = {
    "views": 0,
    "persistent": 0,
    "listeners": 2,
    "pools": 0,
    "connections": 2,
    "other_threads": 4,
    "python_threads": 2,
    "java_objects": 50,
    "objects": 2,
    "files": 20,
    "heap": 8,
    "python_memory": 20,
}
"""The numbers that must not grow by more than a tenth, each with what it may grow anyway."""


def grown(found: Use) -> dict[str, tuple[int, int]]:
    """Return the numbers that have grown too much, from the first to the last sample."""
    pairs = {name: found.growth(name) for name in COMPARED}
    return {name: (first, last) for name, (first, last) in pairs.items() if last > first * 1.1 + COMPARED[name]}


@pytest.mark.parametrize("kind", COUNTS)
def test_nothing_grows(kind: str, tmp_path: Path) -> None:
    found = use(kind, COUNTS[kind], max(1, COUNTS[kind] // SAMPLES), tmp_path)
    print(found.table())
    assert grown(found) == {}
    assert found.left == []
