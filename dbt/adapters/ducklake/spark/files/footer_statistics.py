"""Column statistics of one file, from the row groups of its footer.

Specification: "ducklake_file_column_stats". Values are counted as in the reference implementation: an empty list counts as one NULL of its
element.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.parquet as pq

from ...format.files import ColumnStats
from ...format.float_literals import prunable_bounds
from ...format.leaf_types import leaf_type
from ...format.objects import Column
from ...format.statistics import encode_bounds

_UNIT_NANOS = {"milliseconds": 1_000_000, "microseconds": 1000, "nanoseconds": 1}


def column_stats(metadata: pq.FileMetaData, number: int, column: Column, contains_nan: Mapping[int, bool] | None = None) -> ColumnStats:
    """Return the statistics of a leaf column, without bounds that DuckDB cannot prune by.

    Args:
        metadata: the footer.
        number: the index of the leaf among the file's columns.
        column: the leaf column of the table.
        contains_nan: column id → whether it contains NaN, for writers whose bounds ignore NaN; None: a NaN appears as a bound.
    """
    stats = leaf_stats(metadata, number, column.column_id, column.type)
    least, greatest = prunable_bounds(column.type, (stats.min_value, stats.max_value))
    nan = stats.contains_nan
    if contains_nan is not None and leaf_type(column.type).is_float:
        nan = contains_nan.get(column.column_id)
    return replace(stats, min_value=least, max_value=greatest, contains_nan=nan)


def leaf_stats(metadata: pq.FileMetaData, number: int, column_id: int, type_name: str) -> ColumnStats:
    """Return the statistics of a leaf column of a file. A NaN must appear as a bound.

    Args:
        metadata: the footer.
        number: the index of the leaf among the file's columns.
        column_id: the column id for the result.
        type_name: the DuckLake type of the leaf, for its bounds.
    """
    leaf, unit = leaf_type(type_name), _unit(metadata, number)
    running = _Running()
    for group in range(metadata.num_row_groups):
        running.add(metadata.row_group(group).column(number), unit)
    bounds: tuple[str | None, str | None] = (None, None)
    if not running.unknown and leaf.has_bounds:
        bounds = encode_bounds(type_name, running.least, running.greatest)
    nan = None if running.unknown and not running.nan else running.nan
    return ColumnStats(
        column_id=column_id,
        size_bytes=running.size,
        value_count=None if running.nulls is None else running.num_values - running.nulls,
        null_count=running.nulls,
        min_value=bounds[0],
        max_value=bounds[1],
        contains_nan=nan if leaf.is_float else None,
        is_rounded=leaf.is_timestamp and any(bound is not None and bound % leaf.unit_nanos for bound in (running.least, running.greatest)),
    )


@dataclass
class _Running:
    """The statistics of a column, accumulated over row groups."""

    size: int = 0
    num_values: int = 0
    nulls: int | None = 0
    least: Any = None
    greatest: Any = None
    unknown: bool = False
    nan: bool = False

    def add(self, chunk: pq.ColumnChunkMetaData, unit: _Unit) -> None:
        self.size += chunk.total_compressed_size
        self.num_values += chunk.num_values
        statistics = chunk.statistics
        nulls = statistics.null_count if statistics is not None and statistics.has_null_count else None
        self.nulls = None if self.nulls is None or nulls is None else self.nulls + nulls
        if nulls is not None and nulls == chunk.num_values:
            return
        if statistics is None or not statistics.has_min_max:
            self.unknown = True
            return
        least, greatest = unit.value(statistics.min_raw), unit.value(statistics.max_raw)
        if (isinstance(least, float) and least != least) or (isinstance(greatest, float) and greatest != greatest):
            self.nan = self.unknown = True
            return
        if least > greatest:  # PyArrow before version 18 reports a string that is too long for the footer as empty
            self.unknown = True
            return
        if self.least is None or least < self.least:
            self.least = least
        if self.greatest is None or greatest > self.greatest:
            self.greatest = greatest


@dataclass(frozen=True)
class _Unit:
    """Converts the physical values of a file's column to the values of `format.statistics`."""

    nanos: int = 0
    """Nanoseconds per unit of a time or timestamp; 0 for other types."""
    is_decimal: bool = False
    unsigned_bits: int = 0

    def value(self, raw: Any) -> Any:
        if self.nanos:
            return int(raw) * self.nanos
        if self.is_decimal and isinstance(raw, bytes):
            return int.from_bytes(raw, "big", signed=True)
        if self.unsigned_bits and isinstance(raw, int) and raw < 0:
            return raw + (1 << self.unsigned_bits)
        return 0.0 if isinstance(raw, float) and raw == 0 else raw  # Parquet has -0.0 for a minimum of 0.0; DuckDB stores 0.0


def _unit(metadata: pq.FileMetaData, number: int) -> _Unit:
    logical = json.loads(metadata.schema.column(number).logical_type.to_json())
    match logical:
        case {"Type": "Timestamp" | "Time", "timeUnit": unit}:
            return _Unit(nanos=_UNIT_NANOS[unit])
        case {"Type": "Decimal"}:
            return _Unit(is_decimal=True)
        case {"Type": "Int", "isSigned": False, "bitWidth": bits}:
            return _Unit(unsigned_bits=64 if bits == 64 else 32)
    return _Unit()
