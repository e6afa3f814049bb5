"""The partition transform bucket(n): Murmur3 of a value, modulo n.

Specification: "Partitioning" (bucket). We hash the same bytes as the reference implementation, which uses the value's text for unsigned
integers, int128, uuids and decimals of more than 18 digits.
"""

from __future__ import annotations

import struct

import mmh3

from ..errors import StatementError
from .partitioning import value_text
from .statistics import FLOATS, Value
from .types import decimal_parameters

_SIGNED = frozenset({"boolean", "int8", "int16", "int32", "int64", "date"})
_UNIT_NANOS = {
    "time": 1000,
    "timestamp": 1000,
    "timestamptz": 1000,
    "timestamp_s": 1_000_000_000,
    "timestamp_ms": 1_000_000,
    "timestamp_ns": 1,
}


def bucket(value: Value, type_name: str, count: int) -> int:
    """Return the bucket of a value, 0 to `count` - 1.

    Raises:
        StatementError: the type cannot be bucketed.
    """
    return (mmh3.hash(hashed_bytes(value, type_name)) & 0x7FFFFFFF) % count


def hashed_bytes(value: Value, type_name: str) -> bytes:
    """Return the bytes of a value that are hashed.

    Raises:
        StatementError: the type cannot be bucketed.
    """
    parameters = decimal_parameters(type_name)
    if isinstance(value, bytes) and type_name in {"varchar", "json", "blob", "uuid"}:
        return value
    if isinstance(value, float) and type_name in FLOATS:
        return struct.pack("<d", value + 0.0)
    if isinstance(value, int):
        if type_name in _SIGNED or (parameters is not None and parameters[0] <= 18):
            return struct.pack("<q", int(value))
        if type_name in _UNIT_NANOS:
            return struct.pack("<q", value // _UNIT_NANOS[type_name])
        text = str(value) if type_name in {"int128", "uint128"} else value_text(type_name, value)
        if text is not None:
            return text.encode()
    raise StatementError(f"a table cannot be partitioned by the bucket of a {type_name}")
