"""Deletion vectors: the positions in a `-delete.puffin` file.

Specification: `ducklake_delete_file.format` = `puffin`. In format 1.0 the file is one Iceberg `deletion-vector-v1` blob: length of (magic
and vector) as 4 bytes big-endian, magic D1 D3 39 64, the vector, CRC-32 of (magic and vector) big-endian. The vector is a 64-bit roaring
bitmap in the portable format.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterable

from pyroaring import BitMap64

from ..errors import LakeError

MAGIC = b"\xd1\xd3\x39\x64"


def read_deletion_vector(data: bytes) -> array[int]:
    """Return the positions, ascending, as unsigned 64-bit integers.

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
        return BitMap64.deserialize(body[len(MAGIC) :]).to_array()
    except (ValueError, IndexError) as error:  # IndexError: nothing follows the magic
        raise LakeError(f"the deletion vector is damaged: {error}") from error


def encode_deletion_vector(positions: Iterable[int]) -> bytes:
    """Return the content of a deletion vector file with these positions; an `array` of unsigned 64-bit integers is the fastest.

    The bytes are those of DuckDB, which does not store runs.
    """
    body = MAGIC + BitMap64(positions, optimize=False).serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
