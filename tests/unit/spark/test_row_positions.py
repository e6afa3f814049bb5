"""Places of rows as Arrow arrays: each once, ascending, by file."""

from __future__ import annotations

import random

import pyarrow as pa

from dbt.adapters.ducklake.spark.row_positions import by_file, count, repeats, united
from dbt.adapters.ducklake.spec.files import INLINED_BASE, LINEAGE_FILE, LINEAGE_POSITION


def places(pairs: list[tuple[int, int]]) -> pa.Table:
    return pa.table(
        {LINEAGE_FILE: pa.array([file for file, _ in pairs], pa.int64()), LINEAGE_POSITION: pa.array([p for _, p in pairs], pa.int64())}
    )


def test_places_are_grouped_by_file_ascending_and_once_each() -> None:
    rng = random.Random(7)
    pairs = [(rng.choice([3, -1, 99, INLINED_BASE, INLINED_BASE - 1]), rng.randrange(50)) for _ in range(400)]
    found = by_file(places(pairs))
    assert {file: positions.to_pylist() for file, positions in found.items()} == {
        file: sorted({p for f, p in pairs if f == file}) for file in dict(pairs)
    }
    assert count(found) == len(set(pairs))
    assert repeats(places(pairs))
    assert not repeats(places(list(set(pairs))))


def test_no_rows_have_no_places() -> None:
    assert by_file(places([])) == {}
    assert not repeats(places([]))
    assert united([]) == {}


def test_sets_of_places_are_united() -> None:
    first, second = by_file(places([(1, 5), (2, 0)])), by_file(places([(1, 5), (1, 2)]))
    assert {file: positions.to_pylist() for file, positions in united([first, second]).items()} == {1: [2, 5], 2: [0]}
