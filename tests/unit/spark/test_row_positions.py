"""Positions of rows as Arrow arrays: unique, ascending, by file."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from dbt.adapters.ducklake.format.files import INLINED_BASE, LINEAGE_FILE, LINEAGE_POSITION, DataFile, DeleteFile
from dbt.adapters.ducklake.spark.files.deletes import write_delete_file, write_deletion_vector
from dbt.adapters.ducklake.spark.rows.deleted import deleted_rows
from dbt.adapters.ducklake.spark.rows.positions import (
    _BITS,
    _COUNT,
    _WORD,
    count,
    has_duplicates,
    has_repeated,
    positions_by_file,
    positions_in,
    union,
)


def places(pairs: list[tuple[int, int]]) -> pa.Table:
    return pa.table(
        {LINEAGE_FILE: pa.array([file for file, _ in pairs], pa.int64()), LINEAGE_POSITION: pa.array([p for _, p in pairs], pa.int64())}
    )


def test_positions_are_grouped_by_file_ascending_and_unique() -> None:
    rng = random.Random(7)
    pairs = [(rng.choice([3, -1, 99, INLINED_BASE, INLINED_BASE - 1]), rng.randrange(50)) for _ in range(400)]
    found = positions_by_file(places(pairs))
    assert {file: positions.to_pylist() for file, positions in found.items()} == {
        file: sorted({p for f, p in pairs if f == file}) for file in dict(pairs)
    }
    assert count(found) == len(set(pairs))
    assert has_duplicates(places(pairs))
    assert not has_duplicates(places(list(set(pairs))))


def bitmaps(pairs: list[tuple[int, int]], partitions: int) -> pa.Table:
    """Return what `fetch_bitmaps` returns for rows in some partitions."""
    words: dict[tuple[int, int, int], tuple[int, int]] = {}
    for number, (file, position) in enumerate(pairs):
        key = (number % partitions, file, position >> 6)
        bits, rows = words.get(key, (0, 0))
        words[key] = bits | 1 << (position & 63), rows + 1
    signed = [bits - (1 << 64) if bits >> 63 else bits for bits, _ in words.values()]
    columns = [[file for _, file, _ in words], [word for _, _, word in words], signed, [rows for _, rows in words.values()]]
    return pa.table([pa.array(each, pa.int64()) for each in columns], [LINEAGE_FILE, _WORD, _BITS, _COUNT])


@pytest.mark.parametrize("partitions", [1, 3])
def test_positions_in_bitmaps(monkeypatch: pytest.MonkeyPatch, partitions: int) -> None:
    monkeypatch.setattr("dbt.adapters.ducklake.spark.rows.positions._WORDS_AT_ONCE", 3)
    rng = random.Random(11)
    pairs = list(
        {(rng.choice([3, 99, INLINED_BASE]), rng.choice([rng.randrange(700), 63, (1 << 38) + rng.randrange(99)])) for _ in range(900)}
    )
    expected = {file: positions.to_pylist() for file, positions in positions_by_file(places(pairs)).items()}
    assert {file: positions.to_pylist() for file, positions in positions_in(bitmaps(pairs, partitions)).items()} == expected
    repeated = bitmaps([*pairs, pairs[17]], partitions)
    assert not has_repeated(bitmaps(pairs, partitions), [positions_in(bitmaps(pairs, partitions))])
    assert has_repeated(repeated, [positions_in(repeated)])
    assert positions_in(bitmaps([], 1)) == {}
    assert not has_repeated(bitmaps([], 1), [])


def test_no_rows_have_no_positions() -> None:
    assert positions_by_file(places([])) == {}
    assert not has_duplicates(places([]))
    assert union([]) == {}


def test_the_union_of_positions() -> None:
    first, second = positions_by_file(places([(1, 5), (2, 0)])), positions_by_file(places([(1, 5), (1, 2)]))
    assert {file: positions.to_pylist() for file, positions in union([first, second]).items()} == {1: [2, 5], 2: [0]}


def test_the_first_delete_of_a_row_counts(tmp_path: Path) -> None:
    written = write_delete_file("/lake/x.parquet", 7, str(tmp_path), [1, 5, 9], [4, 6, 5])
    delete_file = DeleteFile(1, written.path, "parquet", 3, written.size_bytes, None, 4, 2**62)
    deleted = deleted_rows(DataFile(7, "/lake/x.parquet", 6, 1, None, 0, 1, delete_file))
    positions, since = deleted.with_more(pa.array([2, 5]), 8)
    assert dict(zip(positions.to_pylist(), since.to_pylist(), strict=True)) == {1: 4, 2: 8, 5: 6, 9: 5}
    assert not deleted.leave_nothing(pa.array([0, 2, 5]))
    assert deleted.leave_nothing(pa.array([0, 2, 3]))


def test_a_file_with_inlined_deletes_is_never_ended() -> None:
    deleted = deleted_rows(DataFile(7, "/lake/x.parquet", 3, 1, None, 0, 1, None, inlined_deletes=(0,)))
    assert not deleted.leave_nothing(pa.array([1, 2]))
    assert not deleted.leave_nothing(pa.array([0, 1, 2]))


def test_a_delete_file_without_snapshots_begins_with_its_first_one(tmp_path: Path) -> None:
    written = write_deletion_vector(7, str(tmp_path), [3, 70000])
    delete_file = DeleteFile(1, written.path, written.format, 2, written.size_bytes, None, 4, 2**62)
    deleted = deleted_rows(DataFile(7, "/lake/x.parquet", 100000, 1, None, 0, 1, delete_file))
    assert (deleted.positions.to_pylist(), deleted.since.to_pylist()) == ([3, 70000], [4, 4])
