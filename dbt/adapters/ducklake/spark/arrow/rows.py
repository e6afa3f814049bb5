"""Convert an Arrow table to rows of Python values, as `files.InlinedRows` needs them for the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ...format.inlined import decode
from ...format.objects import Column
from ...format.timestamps import INFINITY_MICROS, date_text, time_text, timestamp_text

_UNIT_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}


def python_rows(table: pa.Table, columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    """Return the rows of an Arrow table with the columns of a lake's table, in any physical form that files have."""
    values = [_values(data.combine_chunks(), column) for data, column in zip(table.columns, columns, strict=True)]
    return list(zip(*values, strict=True))


def _values(data: Any, column: Column) -> list[Any]:
    """Convert an array; timestamps are converted as integers because Python has no year 0, year 10000 or infinity."""
    if isinstance(data, pa.ChunkedArray):
        data = data.chunk(0) if data.num_chunks else pa.array([], data.type)
    type_ = data.type
    match column.type, column.children:
        case "list", (element,):
            return _sliced(data, list(zip(_values(data.values, element), strict=True)), lambda items: [item[0] for item in items])
        case "map", (key, entry):
            pairs = list(zip(_values(data.keys, key), _values(data.items, entry), strict=True))
            return _sliced(data, pairs, list)
        case "struct", children:
            fields = [_values(data.field(index), child) for index, child in enumerate(children)]
            names = [child.name for child in children]
            return [
                dict(zip(names, row, strict=True)) if valid else None
                for valid, row in zip(data.is_valid().to_pylist(), zip(*fields, strict=True), strict=True)
            ]
    if column.type == "timestamp_ns" and pa.types.is_integer(type_):  # as Spark writes it to files
        data = data.cast(pa.timestamp("ns"))
        type_ = data.type
    if pa.types.is_date(type_):
        return [None if days is None else decode(date_text(days), column) for days in data.cast(pa.int32()).to_pylist()]
    if pa.types.is_time(type_) or pa.types.is_timestamp(type_):
        unit = _UNIT_NANOS[type_.unit]
        text = time_text if pa.types.is_time(type_) else timestamp_text
        zone = "+00" if column.type == "timestamptz" else ""
        counts = data.cast(pa.int32() if type_.bit_width == 32 else pa.int64()).to_pylist()
        nanos = (None if count is None else _scaled_infinity(count) if unit == 1 else count * unit for count in counts)
        return [None if count is None else decode(_zoned(text(count), zone), column) for count in nanos]
    return [None if value is None else decode(value, column) for value in data.to_pylist()]


def _scaled_infinity(nanos: int) -> int:
    """Return the number that `timestamp_text` shows as infinity for an infinity of timestamp_ns; other numbers are unchanged."""
    return nanos * 1000 if abs(nanos) >= INFINITY_MICROS else nanos


def _zoned(text: str, zone: str) -> str:
    return text if text.endswith("infinity") else text + zone


def _sliced(data: Any, items: list[Any], convert: Any) -> list[Any]:
    """Return the converted slice of `items` for each list or map in the array, None for NULL."""
    offsets = data.offsets.to_pylist()
    return [
        convert(items[start:end]) if valid else None
        for valid, start, end in zip(data.is_valid().to_pylist(), offsets[:-1], offsets[1:], strict=True)
    ]
