"""Write inlined values: convert Python values to the strings, numbers and bytes that DuckDB reads from an inlined-data table.

Specification: the page "Data Inlining". `files.InlinedRows` lists the Python types. Each dialect decides which types its database stores
natively; `text_cell` is for databases that have only numbers, strings and blobs, or that cast strings to the column's type.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from .inlined import base_type, decode
from .leaf_types import Cell, leaf_type
from .nested_text import format_nested
from .objects import Column
from .statistics import decimal_text, encode, float_text
from .types import NESTED, decimal_parameters


def text_cell(value: Any, column: Column) -> Any:
    """Convert a value to an int, a str, bytes, or None.

    Raises:
        ValueError: no string reads back as the value.
    """
    if value is None:
        return None
    match leaf_type(base_type(column.type)).cell:
        case Cell.NUMBER:
            return int(value)
        case Cell.BLOB:
            return bytes(value)
    return value_text(value, column)


def value_text(value: Any, column: Column) -> str:
    """Convert a value of any type, except NULL, to a string.

    Raises:
        ValueError: no string reads back as the value.
    """
    if base_type(column.type) in NESTED:
        return format_nested(value, column, scalar_text)
    return scalar_text(value, column.type)


def scalar_text(value: Any, stored: str) -> str:
    """Convert a value that is not nested to DuckDB's string for it.

    Args:
        value: the value, not None.
        stored: its DuckLake type.

    Raises:
        ValueError: the value is not of the type.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray):
        return "".join(_BLOB_TEXT[byte] for byte in value)
    name = base_type(stored)
    if isinstance(value, float):
        return float_text(value, name) or "nan"
    if isinstance(value, Decimal | int):
        parameters = decimal_parameters(stored)
        if parameters is None:
            return str(int(value))
        sign, digits, exponent = Decimal(value).as_tuple()
        unscaled = int("".join(map(str, digits)))
        shift = int(exponent) + parameters[1]
        unscaled = unscaled * 10**shift if shift >= 0 else unscaled // 10**-shift
        return decimal_text(-unscaled if sign else unscaled, *parameters)
    text = encode(value, "timestamp" if name == "timestamp_us" else name)
    if text is None:
        raise ValueError(f"{value!r} is not of the type {stored}")
    return text


def has_negative_zero(value: Any) -> bool:
    """Whether a value is a negative zero or contains one at any depth."""
    match value:
        case float():
            return value == 0 and math.copysign(1, value) < 0
        case dict():
            return any(map(has_negative_zero, value.values()))
        case list() | tuple():
            return any(map(has_negative_zero, value))
    return False


def converted(value: Any, old: Column, new: Column) -> Any:
    """Convert a value from an old definition of a column to a new one: fields match by id, other values are cast as strings.

    Raises:
        LakeError: the new type cannot represent the value.
    """
    if value is None:
        return None
    match new.type, new.children:
        case "list", (element,):
            return [converted(item, old.children[0], element) for item in value]
        case "map", (key, entry):
            return [(converted(k, old.children[0], key), converted(v, old.children[1], entry)) for k, v in value]
        case "struct", children:
            old_children = {child.column_id: child for child in old.children}
            return {
                child.name: converted(value.get(old_children[child.column_id].name), old_children[child.column_id], child)
                if child.column_id in old_children
                else initial_value(child)
                for child in children
            }
    if new.type == old.type:
        return value
    leaf = leaf_type(base_type(new.type))
    if isinstance(value, bool | float) and (leaf.is_integer or leaf.is_float):  # casting the string may fail or change the number
        return decode(float(value) if isinstance(value, float) else int(value), new)
    return decode(scalar_text(value, old.type), new)


def initial_value(column: Column) -> Any:
    """Return the value that a column has in rows written before the column existed."""
    return None if column.initial_default is None else decode(column.initial_default, column)


def _blob_character(byte: int) -> str:
    character = chr(byte)
    return character if 32 <= byte < 127 and character not in "\\'\"" else f"\\x{byte:02X}"


_BLOB_TEXT = tuple(_blob_character(byte) for byte in range(256))
