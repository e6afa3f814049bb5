"""Deletion vectors: every kind of container, the bytes of DuckDB, and damaged files."""

from __future__ import annotations

import random
import struct
import zlib
from array import array
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.deletion_vectors import encode_deletion_vector, read_deletion_vector
from tests.duckdb_instances import open_duckdb


def blob(vector: bytes) -> bytes:
    content = bytes([0xD1, 0xD3, 0x39, 0x64]) + vector
    return struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))


def bitmap(high: int, containers: bytes) -> bytes:
    return struct.pack("<QI", 1, high) + containers


def test_an_array_container_has_its_values() -> None:
    container = struct.pack("<II", 12346, 1) + struct.pack("<HH", 0, 2) + struct.pack("<I", 16) + struct.pack("<3H", 1, 5, 9)
    assert list(read_deletion_vector(blob(bitmap(0, container)))) == [1, 5, 9]


def test_a_run_container_has_its_ranges_also_above_32_bits() -> None:
    container = struct.pack("<I", 12347) + b"\x01" + struct.pack("<HH", 1, 4) + struct.pack("<H", 2) + struct.pack("<4H", 0, 2, 10, 1)
    base = (1 << 32) + (1 << 16)
    assert list(read_deletion_vector(blob(bitmap(1, container)))) == [base + v for v in (0, 1, 2, 10, 11)]


def test_a_bitset_container_has_its_bits() -> None:
    values = list(range(0, 65536, 13))
    bits = bytearray(8192)
    for value in values:
        bits[value // 8] |= 1 << value % 8
    container = struct.pack("<II", 12346, 1) + struct.pack("<HH", 0, len(values) - 1) + struct.pack("<I", 16) + bytes(bits)
    assert list(read_deletion_vector(blob(bitmap(0, container)))) == values


def test_damage_is_an_error() -> None:
    whole = blob(bitmap(0, struct.pack("<II", 12346, 0)))
    with pytest.raises(LakeError, match="damaged"):
        read_deletion_vector(whole[:-1] + b"\x00")
    with pytest.raises(LakeError, match="not a deletion vector"):
        read_deletion_vector(whole[:6])


@pytest.mark.parametrize(
    "vector",
    [
        struct.pack("<Q", 1),
        bitmap(0, struct.pack("<II", 1, 0)),
        bitmap(0, struct.pack("<II", 12346, 1) + struct.pack("<HHI", 0, 2, 16) + b"\x01"),
        struct.pack("<Q", 2) + bitmap(0, struct.pack("<II", 12346, 0))[8:],
    ],
    ids=["no bitmap", "no cookie", "short container", "missing bitmap"],
)
def test_a_wrong_vector_with_a_right_checksum_is_an_error(vector: bytes) -> None:
    with pytest.raises(LakeError, match="the deletion vector is damaged"):
        read_deletion_vector(blob(vector) + bytes(8))


@pytest.mark.parametrize(
    "positions",
    [
        [0],
        [5, 65535, 65536, 2**32 - 1, 2**32, 2**40 + 7],
        list(range(4096)),
        list(range(0, 4097 * 3, 3)),
        list(range(65536 * 2 + 9)),
        [],
    ],
    ids=["one", "distant", "full array", "bitset", "full containers", "none"],
)
def test_written_vectors_are_read_back(positions: list[int]) -> None:
    assert list(read_deletion_vector(encode_deletion_vector(positions))) == positions
    assert encode_deletion_vector(array("Q", positions)) == encode_deletion_vector(positions)


def test_the_written_bytes_follow_the_format() -> None:
    array_container = (
        struct.pack("<II", 12346, 2) + struct.pack("<4H", 0, 0, 1, 1) + struct.pack("<2I", 24, 26) + struct.pack("<3H", 7, 0, 9)
    )
    full_containers = struct.pack("<II", 12346, 1) + struct.pack("<2H", 0xFFFF, 0xFFFF) + struct.pack("<I", 16) + b"\xff" * 8192
    vector = struct.pack("<QI", 2, 0) + array_container + struct.pack("<I", 5) + full_containers
    positions = [7, 65536, 65545, *range((6 << 32) - 65536, 6 << 32)]
    assert encode_deletion_vector(positions) == blob(vector)


def test_the_written_bytes_are_those_of_duckdb(tmp_path: Path) -> None:
    rng = random.Random(7)
    sets = [set(rng.sample(range(200_000), size)) for size in (1, 300, 9000, 100_000)]
    sets += [set(range(70_000, 140_000)), sets[1] | set(range(4096)), sets[2] | set(range(65_535, 131_073))]
    with open_duckdb("ducklake") as duck:
        duck.execute(f"ATTACH 'ducklake:{tmp_path}/lake.ducklake' AS lake (DATA_PATH '{tmp_path}/files', DATA_INLINING_ROW_LIMIT 0)")
        duck.execute("USE lake")
        duck.execute("CALL lake.set_option('write_deletion_vectors', true)")
        for number, positions in enumerate(sets):
            duck.execute(f"CREATE TABLE t{number} AS SELECT range AS a FROM range(200_000)")
            duck.execute(f"DELETE FROM t{number} WHERE a IN (SELECT unnest(?))", [sorted(positions)])
            (file,) = (tmp_path / "files" / "main" / f"t{number}").glob("*.puffin")
            assert file.read_bytes() == encode_deletion_vector(sorted(positions))
            assert list(read_deletion_vector(file.read_bytes())) == sorted(positions)
