"""Deletion vectors: the positions in a `-delete.puffin` file.

Specification: `ducklake_delete_file.format` = `puffin`. In format 1.0 the file is one Iceberg `deletion-vector-v1` blob: length of (magic
and vector) as 4 bytes big-endian, magic D1 D3 39 64, the vector, CRC-32 of (magic and vector) big-endian. The vector is the number of
32-bit bitmaps (8 bytes little-endian), then for each the high 32 bits (4 bytes) and a roaring bitmap in the portable format.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ..errors import LakeError

MAGIC = b"\xd1\xd3\x39\x64"
_COOKIE_RUNS = 12347
_COOKIE_PLAIN = 12346
_NO_OFFSETS_BELOW = 4
_ARRAY_LIMIT = 4096
_CONTAINER = 2**16


def read_deletion_vector(data: bytes) -> array[int]:
    """Return the positions, ascending, as 64-bit integers.

    Raises:
        LakeError: the file is not a deletion vector, or it is damaged.
    """
    if len(data) < 20 or data[4:8] != MAGIC:
        raise LakeError("a delete file of the format puffin is not a deletion vector of DuckLake 1.0")
    (length,) = struct.unpack_from(">I", data, 0)
    body = data[4 : 4 + length]
    if len(data) < 8 + length or struct.unpack_from(">I", data, 4 + length)[0] != zlib.crc32(body):
        raise LakeError("the deletion vector is damaged: its checksum does not match")
    try:
        return _vector(body)
    except (struct.error, IndexError) as error:
        raise LakeError("the deletion vector is damaged: it ends too early") from error


def encode_deletion_vector(positions: Sequence[int]) -> bytes:
    """Return the content of a deletion vector file with these positions.

    Args:
        positions: strictly ascending, not negative; a `memoryview` of 64-bit integers is not copied.
    """
    bitmaps = []
    for high, start, stop in _parts(positions, 32):
        bitmaps.append(struct.pack("<I", high) + _encode_bitmap(positions[start:stop]))
    body = MAGIC + struct.pack("<Q", len(bitmaps)) + b"".join(bitmaps)
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def _parts(positions: Sequence[int], bits: int) -> Iterator[tuple[int, int, int]]:
    """Yield (high bits, start, stop) of each run of positions that differ only in their last `bits` bits."""
    start = 0
    while start < len(positions):
        high = positions[start] >> bits
        stop = bisect_left(positions, (high + 1) << bits, start)
        yield high, start, stop
        start = stop


def _encode_bitmap(positions: Sequence[int]) -> bytes:
    """Encode a roaring bitmap in the portable format, with array and bitmap containers only."""
    headers, containers = [], []
    for key, start, stop in _parts(positions, 16):
        headers.append(struct.pack("<HH", key & 0xFFFF, stop - start - 1))
        containers.append(_encode_container(positions[start:stop]))
    offset = 8 + 8 * len(containers)
    offsets = []
    for container in containers:
        offsets.append(struct.pack("<I", offset))
        offset += len(container)
    return b"".join([struct.pack("<II", _COOKIE_PLAIN, len(containers)), *headers, *offsets, *containers])


def _encode_container(positions: Sequence[int]) -> bytes:
    if len(positions) <= _ARRAY_LIMIT:
        return struct.pack(f"<{len(positions)}H", *(position & 0xFFFF for position in positions))
    if len(positions) == _CONTAINER:
        return b"\xff" * (_CONTAINER // 8)
    bits = bytearray(_CONTAINER // 8)
    for position in positions:
        low = position & 0xFFFF
        bits[low >> 3] |= 1 << (low & 7)
    return bytes(bits)


def _vector(body: bytes) -> array[int]:
    (bitmaps,) = struct.unpack_from("<Q", body, 4)
    offset = 12
    positions = array("q")
    for _ in range(bitmaps):
        (high,) = struct.unpack_from("<I", body, offset)
        values, offset = _bitmap(body, offset + 4)
        positions.extend(values if high == 0 else [(high << 32) | value for value in values])
    return positions


def _bitmap(body: bytes, start: int) -> tuple[array[int], int]:
    """Return the values of one 32-bit roaring bitmap and the offset of its end."""
    (cookie,) = struct.unpack_from("<I", body, start)
    offset = start + 4
    if cookie & 0xFFFF == _COOKIE_RUNS:
        count = (cookie >> 16) + 1
        flags = body[offset : offset + (count + 7) // 8]
        offset += len(flags)
        runs = [bool(flags[index // 8] >> (index % 8) & 1) for index in range(count)]
    elif cookie == _COOKIE_PLAIN:
        (count,) = struct.unpack_from("<I", body, offset)
        offset += 4
        runs = [False] * count
    else:
        raise LakeError(f"the deletion vector is damaged: {cookie} is not the cookie of a roaring bitmap")
    headers = [struct.unpack_from("<HH", body, offset + 4 * index) for index in range(count)]
    offset += 4 * count
    if cookie == _COOKIE_PLAIN or count >= _NO_OFFSETS_BELOW:
        offset += 4 * count
    values = array("q")
    for (key, size), is_run in zip(headers, runs, strict=True):
        lows, offset = _container(body, offset, size + 1, is_run)
        values.extend([(key << 16) | low for low in lows])
    return values, offset


def _container(body: bytes, offset: int, cardinality: int, is_run: bool) -> tuple[list[int], int]:
    """Return the 16-bit values of one container and the offset of its end."""
    if is_run:
        (count,) = struct.unpack_from("<H", body, offset)
        pairs = struct.unpack_from(f"<{2 * count}H", body, offset + 2)
        runs = zip(pairs[::2], pairs[1::2], strict=True)
        return [low for first, more in runs for low in range(first, first + more + 1)], offset + 2 + 4 * count
    if cardinality > _ARRAY_LIMIT:
        bits = body[offset : offset + 8192]
        return [8 * index + bit for index, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1], offset + 8192
    return list(struct.unpack_from(f"<{cardinality}H", body, offset)), offset + 2 * cardinality
