"""The partition transform bucket(n): Murmur3 of a value, modulo n.

Specification: "Partitioning" (bucket). We hash the same bytes as the reference implementation, which uses the value's text for unsigned
integers, int128, uuids and decimals of more than 18 digits.
"""

from __future__ import annotations

import struct

from ..errors import StatementError
from .leaf_types import Encoding, leaf_type
from .partitioning import value_text
from .statistics import Value
from .types import decimal_parameters

_MASK = 0xFFFFFFFF


def bucket(value: Value, type_name: str, count: int) -> int:
    """Return the bucket of a value, 0 to `count` - 1.

    Raises:
        StatementError: the type cannot be bucketed.
    """
    return (murmur3(hashed_bytes(value, type_name)) & 0x7FFFFFFF) % count


def hashed_bytes(value: Value, type_name: str) -> bytes:
    """Return the bytes of a value that are hashed.

    Raises:
        StatementError: the type cannot be bucketed.
    """
    leaf, parameters = leaf_type(type_name), decimal_parameters(type_name)
    match leaf.encoding, value:
        case Encoding.TEXT | Encoding.BLOB, bytes():
            return value
        case Encoding.FLOAT, float():
            return struct.pack("<d", value + 0.0)
        case Encoding.BOOLEAN | Encoding.DATE, int():
            return struct.pack("<q", int(value))
        case Encoding.INTEGER, int() if not leaf.unsigned:
            return struct.pack("<q", int(value))
        case Encoding.DECIMAL, int() if parameters is not None and parameters[0] <= 18:
            return struct.pack("<q", int(value))
        case Encoding.TIME | Encoding.TIMESTAMP, int():
            return struct.pack("<q", value // leaf.unit_nanos)
        case _, int():
            text = value_text(type_name, value)
            if text is not None:
                return text.encode()
    raise StatementError(f"a table cannot be partitioned by the bucket of a {type_name}")


def murmur3(data: bytes) -> int:
    """Return the unsigned 32-bit x86 Murmur3 hash with seed 0."""
    state = 0
    whole = len(data) // 4 * 4
    for (block,) in struct.iter_unpack("<I", data[:whole]):
        state = (_rotate(state ^ _mix(block), 13) * 5 + 0xE6546B64) & _MASK
    if len(data) > whole:
        state ^= _mix(int.from_bytes(data[whole:], "little"))
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    return state ^ state >> 16


def _mix(block: int) -> int:
    return _rotate(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
