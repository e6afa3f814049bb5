"""Thrift's compact protocol, the subset that is needed to find and replace fields of a Parquet footer.

Values are slices of the buffer, so unchanged values are never decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FALSE = 2
BYTE = 3
I32 = 5
LIST = 9
STRUCT = 12
_BOOLEANS = (1, 2)


@dataclass(frozen=True)
class Field:
    """A field of a struct: its id, its type in the protocol, and the start and end of its value in the buffer."""

    id: int
    type: int
    start: int
    end: int


def read_varint(buffer: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned integer at `at`, and the position after it."""
    result = shift = 0
    while True:
        byte = buffer[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7


def write_varint(value: int) -> bytes:
    """Return the bytes of an unsigned integer."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> int:
    """Encode a signed integer as an unsigned one."""
    return (value << 1) ^ (value >> 63)


def unzigzag(value: int) -> int:
    """Decode the result of `zigzag`."""
    return (value >> 1) ^ -(value & 1)


def read_struct(buffer: bytes, at: int) -> tuple[list[Field], int]:
    """Return the fields of the struct at `at`, and the position after its stop byte.

    Raises:
        ValueError: the bytes do not follow the compact protocol.
    """
    fields: list[Field] = []
    field_id = 0
    while True:
        header = buffer[at]
        at += 1
        if header == 0:
            return fields, at
        delta = header >> 4
        if delta:
            field_id += delta
        else:
            number, at = read_varint(buffer, at)
            field_id = unzigzag(number)
        end = _skip(buffer, at, header & 15)
        fields.append(Field(field_id, header & 15, at, end))
        at = end


def fields_of(struct: bytes) -> dict[int, tuple[int, bytes]]:
    """Return the fields of an encoded struct: id → (type, encoded value), as `write_struct` takes them."""
    return {field.id: (field.type, struct[field.start : field.end]) for field in read_struct(struct, 0)[0]}


def structs_of(encoded: bytes) -> list[bytes]:
    """Return the encoded elements of an encoded list of structs."""
    count, _, at = read_list(encoded, 0)
    found = []
    for _ in range(count):
        end = read_struct(encoded, at)[1]
        found.append(encoded[at:end])
        at = end
    return found


def write_struct(fields: Mapping[int, tuple[int, bytes]]) -> bytes:
    """Return the bytes of a struct; `fields`: id → (type, bytes of the value)."""
    out = bytearray()
    last = 0
    for field_id in sorted(fields):
        type_, value = fields[field_id]
        delta = field_id - last
        out += bytes([delta << 4 | type_]) if delta <= 15 else bytes([type_]) + write_varint(zigzag(field_id))
        out += value
        last = field_id
    out.append(0)
    return bytes(out)


def read_list(buffer: bytes, at: int) -> tuple[int, int, int]:
    """Return (number of elements, their type, position of the first) of the list at `at`."""
    header = buffer[at]
    at += 1
    count, type_ = header >> 4, header & 15
    if count == 15:
        count, at = read_varint(buffer, at)
    return count, type_, at


def write_list(type_: int, elements: Sequence[bytes]) -> bytes:
    """Return the bytes of a list of encoded elements."""
    count = len(elements)
    header = bytes([count << 4 | type_]) if count < 15 else bytes([0xF0 | type_]) + write_varint(count)
    return header + b"".join(elements)


def _skip(buffer: bytes, at: int, type_: int) -> int:
    """Return the position after the value of that type at `at`."""
    if type_ in _BOOLEANS:
        return at
    if type_ == 3:
        return at + 1
    if type_ in (4, 5, 6):
        return read_varint(buffer, at)[1]
    if type_ == 7:
        return at + 8
    if type_ == 8:
        length, at = read_varint(buffer, at)
        return at + length
    if type_ in (9, 10):
        count, element, at = read_list(buffer, at)
        for _ in range(count):
            at = at + 1 if element in _BOOLEANS else _skip(buffer, at, element)
        return at
    if type_ == STRUCT:
        return read_struct(buffer, at)[1]
    raise ValueError(f"type {type_} of the compact protocol does not occur in Parquet footers")
