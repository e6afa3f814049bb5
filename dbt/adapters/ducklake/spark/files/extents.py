"""The extents of geometries in new files, read from the columns because Spark's footers do not contain them.

Specification: `extra_stats` of "ducklake_file_column_stats". This also checks every geometry, because DuckDB could not read a table with an
invalid one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import DataError
from ...format.files import ColumnStats
from ...format.geometry import Extent, extent_of
from ...format.objects import Column
from . import storage


def with_extents(stats: Sequence[ColumnStats], path: str, columns: Sequence[Column]) -> tuple[ColumnStats, ...]:
    """Add the extents of geometry columns to the statistics of a file.

    Raises:
        DataError: a value is not a geometry; the message names the value and the column.
    """
    spatial = [column for column in columns if any(node.type == "geometry" for node in column.walk())]
    if not spatial:
        return tuple(stats)
    extents = _extents(path, spatial)
    return tuple(replace(each, extra_stats=extents.get(each.column_id, each.extra_stats)) for each in stats)


def _extents(path: str, columns: Sequence[Column]) -> dict[int, str | None]:
    files, inner = storage.filesystem(path)
    found: dict[int, Extent] = {}
    with files.open_input_file(inner) as source:
        parquet = pq.ParquetFile(source)
        for group in range(parquet.num_row_groups):
            table = parquet.read_row_group(group, columns=[column.name for column in columns])
            for column in columns:
                for leaf, values in _geometries(column, table.column(column.name)):
                    known = found.get(leaf.column_id, Extent())
                    found[leaf.column_id] = known.union(_extent(leaf, column, values))
    return {column_id: extent.to_json() for column_id, extent in found.items()}


def _extent(leaf: Column, column: Column, values: Any) -> Extent:
    try:
        return extent_of(values.to_pylist())
    except ValueError as error:
        where = column.name if leaf is column else f"{column.name} ({leaf.name})"
        raise DataError(f"column {where}: {error}") from error


def _geometries(column: Column, data: Any) -> Iterator[tuple[Column, Any]]:
    """Yield each geometry field of a column, the column itself or a nested field, with its values in each chunk."""
    if isinstance(data, pa.ChunkedArray):  # more than 2 GiB of values do not fit one array
        for chunk in data.chunks:
            yield from _geometries(column, chunk)
        return
    if isinstance(data, pa.ExtensionArray):
        data = data.storage
    match column.type, column.children:
        case "list", (element,):
            yield from _geometries(element, data.flatten())
        case "map", (key, value):
            yield from _geometries(key, data.keys)
            yield from _geometries(value, data.items)
        case "struct", children:
            for child, array in zip(children, data.flatten(), strict=True):
                yield from _geometries(child, array)
        case "geometry", _:
            yield column, data
