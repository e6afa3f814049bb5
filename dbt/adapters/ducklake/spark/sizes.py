"""How many files a write makes: few, without moving rows that need not move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..spec.objects import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SMALL_BYTES = 16 * 1024 * 1024
"""Results that Spark estimates to be smaller than this become one file."""

_ESTIMATE = re.compile(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) ([KMGTPE]?i?B)")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "EiB": 2**60}
_WIDTHS = {
    **dict.fromkeys(("boolean", "int8", "uint8"), 1),
    **dict.fromkeys(("int16", "uint16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "date"), 4),
    **dict.fromkeys(("varchar", "json", "blob", "variant", "geometry", "uuid", "interval", "timetz"), 24),
}
"""Bytes of a value, about; 8 for every other type."""
_ELEMENTS = 8
_COMPRESSION = 3
"""How much smaller a file is than its values, about."""


def few_files(rows: DataFrame) -> DataFrame:
    """The rows in one partition if the result is small; else as they are: the adaptive planner has joined small
    partitions.

    A plan that runs Python is left alone: its work may be large where its rows are few.
    """
    size, plan = _plan(rows)
    if size is None or size > SMALL_BYTES or "Python" in plan or "MapIn" in plan:
        return rows
    return rows.coalesce(1)


def rows_per_file(columns: Sequence[Column], target_file_size: int) -> int:
    """About how many rows make a file of the size wanted, in bytes; at least 1000."""
    width = sum(_width(column) for column in columns)
    return max(1000, target_file_size * _COMPRESSION // max(1, width))


def _width(column: Column) -> int:
    if column.type in {"list", "map"}:
        return _ELEMENTS * sum(_width(child) for child in column.children)
    if column.type == "struct":
        return sum(_width(child) for child in column.children)
    return _WIDTHS.get(column.type, 8)


def _plan(rows: DataFrame) -> tuple[int | None, str]:
    """Spark's estimate of the size of the result in bytes, None if it has none, and the text of the plan."""
    frame: Any = rows
    if not _is_connect(rows):
        plan = frame._jdf.queryExecution().optimizedPlan()
        return int(str(plan.stats().sizeInBytes())), str(plan.toString())
    text: str = frame._explain_string(mode="cost")
    match = _ESTIMATE.search(text)
    return (int(float(match[1]) * _UNITS[match[2]]) if match else None), text


def _is_connect(rows: DataFrame) -> bool:
    return type(rows).__module__.startswith("pyspark.sql.connect")
