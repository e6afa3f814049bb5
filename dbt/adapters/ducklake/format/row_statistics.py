"""Column statistics of rows in the driver, equal to those of a Parquet file with these rows.

Specification: the page "ducklake_table_column_stats". Bounds follow the rules of `statistics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .files import ColumnStats
from .leaf_types import Encoding, leaf_type
from .objects import Column
from .statistics import Value, decode, encode_bounds, plain_value
from .types import decimal_parameters


def stats_of_rows(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> tuple[ColumnStats, ...]:
    """Return the statistics of each leaf column; values are those of `files.InlinedRows`."""
    return tuple(
        _stats(leaf, values) for index, column in enumerate(columns) for leaf, values in _leaves(column, [row[index] for row in rows])
    )


def _leaves(column: Column, values: list[Any]) -> Iterator[tuple[Column, list[Any]]]:
    """Yield each leaf with its values; a NULL or empty list or map counts as one NULL element, as in a Parquet file."""
    match column.type, column.children:
        case "list", (element,):
            yield from _leaves(element, [item for value in values for item in value or [None]])
        case "map", (key, entry):
            pairs = [pair for value in values for pair in value or [(None, None)]]
            yield from _leaves(key, [pair[0] for pair in pairs])
            yield from _leaves(entry, [pair[1] for pair in pairs])
        case "struct", children:
            for child in children:
                yield from _leaves(child, [None if value is None else value.get(child.name) for value in values])
        case _:
            yield column, values


def _stats(leaf: Column, values: list[Any]) -> ColumnStats:
    present = [value for value in values if value is not None]
    is_float = leaf_type(leaf.type).is_float
    numbers = [value for value in present if not (is_float and value != value)]
    bounds: tuple[str | None, str | None] = (None, None)
    if numbers and leaf_type(leaf.type).has_bounds:
        plain = [_plain(value, leaf.type) for value in numbers]
        if None not in plain:  # one value that cannot be compared leaves the column without bounds
            bounds = encode_bounds(leaf.type, min(plain), max(plain))  # type: ignore[type-var]
    return ColumnStats(
        leaf.column_id,
        0,
        len(present),
        len(values) - len(present),
        bounds[0],
        bounds[1],
        len(numbers) < len(present) if is_float else None,
    )


def _plain(value: Any, type_name: str) -> Value | None:
    """Return the value to compare for the bounds; None if a cell cannot be compared, such as `infinity`.

    Values that Python types cannot represent are strings; see `files.InlinedRows`.
    """
    if isinstance(value, str) and leaf_type(type_name).encoding is not Encoding.TEXT:
        number = decode(type_name, value)
        return number if isinstance(number, int) and decimal_parameters(type_name) is None else None
    return plain_value(value, type_name)
