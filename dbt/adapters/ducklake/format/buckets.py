"""The partition transform bucket(n): Murmur3 of a value, modulo n; and the hash by which Spark distributes rows.

Specification: "Partitioning" (bucket). We hash the same bytes as the reference implementation, which uses the value's text for unsigned
integers, int128, uuids and decimals of more than 18 digits.
"""

from __future__ import annotations

import struct
from itertools import count

import mmh3

from ..errors import StatementError
from .leaf_types import Encoding, leaf_type
from .partitioning import value_text
from .statistics import Value
from .types import decimal_parameters

_SPARK_SEED = 42


def spread_keys(partitions: int) -> list[int]:
    """Return a number for each of the partitions into which Spark divides rows by a column of long integers, so that each gets one."""
    keys: dict[int, int] = {}
    for key in count():
        keys.setdefault(mmh3.hash(struct.pack("<q", key), _SPARK_SEED) % partitions, key)
        if len(keys) == partitions:
            break
    return list(keys.values())


def bucket(value: Value, type_name: str, buckets: int) -> int:
    """Return the bucket of a value, 0 to `buckets` - 1.

    Raises:
        StatementError: the type cannot be bucketed.
    """
    return (mmh3.hash(hashed_bytes(value, type_name)) & 0x7FFFFFFF) % buckets


def is_reliable(type_name: str) -> bool:
    """Whether the bucket that the catalog stores for a file is that of its rows, whichever program wrote the file.

    DuckDB 1.5.5 hashes the text of unsigned integers, int128, uuids and decimals of more than 18 digits. For rows from an
    UPDATE or from a query with a filter, it may then hash the text of another row, and it writes the rows into files of wrong buckets.
    """
    leaf, parameters = leaf_type(type_name), decimal_parameters(type_name)
    is_wide = parameters is not None and parameters[0] > 18
    return not (leaf.unsigned or is_wide or leaf.encoding is Encoding.HUGE or leaf.name == "uuid")


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
