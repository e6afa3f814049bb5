"""Long use of one process: after the first part, nothing grows by more than a tenth, and nothing is left when the process has ended.

One process runs LONG_USE_TRANSACTIONS transactions, another one LONG_USE_COMMANDS times `dbt build`.
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
    "java_threads": 20,
    "other_threads": 4,
    "python_threads": 2,
    "java_objects": 50,
    "objects": 2,
    "files": 20,
    "heap": 8,
    "python_memory": 20,
}
"""The numbers that must not grow by more than a tenth, each with what it may grow anyway."""
COMPARED_FROM_THE_MIDDLE = {"java_memory": 20, "metaspace": 10}
"""Numbers that grow after the first part too, because Java still loads classes."""


def grown(found: Use) -> dict[str, tuple[int, int]]:
    """Return the numbers that have grown too much, from the first or the middle sample to the last."""
    middle = len(found.samples) // 2 - 1
    pairs = {name: found.growth(name) for name in COMPARED} | {name: found.growth(name, middle) for name in COMPARED_FROM_THE_MIDDLE}
    tolerated = COMPARED | COMPARED_FROM_THE_MIDDLE
    return {name: (first, last) for name, (first, last) in pairs.items() if last > first * 1.1 + tolerated[name]}


@pytest.mark.parametrize("kind", COUNTS)
def test_nothing_grows(kind: str, tmp_path: Path) -> None:
    found = use(kind, COUNTS[kind], max(1, COUNTS[kind] // SAMPLES), tmp_path, LONG_USE_AT_REST="1")
    print(found.table())
    assert grown(found) == {}
    assert found.left == []
