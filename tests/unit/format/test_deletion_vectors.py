"""Deletion vectors: every kind of container, and damaged files."""

from __future__ import annotations

import struct
import zlib
from array import array

import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.deletion_vectors import encode_deletion_vector, read_deletion_vector


def blob(vector: bytes) -> bytes:
    content = bytes([0xD1, 0xD3, 0x39, 0x64]) + vector
    return struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))


def bitmap(high: int, containers: bytes) -> bytes:
    return struct.pack("<QI", 1, high) + containers


def test_an_array_container_has_its_values() -> None:
    container = struct.pack("<II", 12346, 1) + struct.pack("<HH", 0, 2) + struct.pack("<I", 16) + struct.pack("<3H", 1, 5, 9)
    assert list(read_deletion_vector(blob(bitmap(0, container)))) == [1, 5, 9]


def test_a_run_container_has_its_ranges_and_high_words_count() -> None:
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
    "positions",
    [
        [0],
        [5, 65535, 65536, 2**32 - 1, 2**32, 2**40 + 7],
        list(range(4096)),
        list(range(0, 4097 * 3, 3)),
        list(range(65536 * 2 + 9)),
        [],
    ],
    ids=["one", "distant", "full array", "bitmap", "full containers", "none"],
)
def test_written_vectors_are_read_back(positions: list[int]) -> None:
    assert list(read_deletion_vector(encode_deletion_vector(positions))) == positions
    assert list(read_deletion_vector(encode_deletion_vector(memoryview(array("q", positions))))) == positions
