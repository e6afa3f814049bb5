"""Footers of written files: check and complete the field ids, read the statistics, remove files without rows.

Only footers are read, and geometry columns to compute their extents. Specification: the table `ducklake_file_column_stats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow.parquet as pq

from ...format.files import EMBEDDED_IDS, ROW_ID_FIELD_ID, ColumnStats, WrittenFile
from ...format.objects import Column
from . import storage
from .extents import with_extents
from .field_ids import Node, corrected, match_columns, read_schema
from .footer_bounds import without_bounds
from .footer_bytes import parse_footer, read_footer, replace_footer
from .footer_statistics import column_stats
from .variant_statistics import variant_stats

T = TypeVar("T")

_THREADS = 4
"""The number of files that are read at a time."""


@dataclass(frozen=True)
class FileToRead:
    """A new file, with its size and partition values, which its footer does not have."""

    path: str
    size_bytes: int
    partition_values: tuple[str | None, ...] = ()


def read_files(
    files: Sequence[FileToRead],
    columns: tuple[Column, ...],
    *,
    contains_nan: Mapping[int, bool] | None = None,
) -> list[WrittenFile]:
    """Read the footers of new files, and correct them; files without rows are removed and left out.

    Args:
        files: the files.
        columns: the fields of the files in order, including embedded ids, which get no statistics.
        contains_nan: column id → whether it contains NaN, for writers whose bounds ignore NaN; None: a NaN appears as a bound.

    Raises:
        DataError: a geometry is invalid.
        LakeError: a file does not have the expected fields.
    """
    found = in_parallel(lambda file: read_file(file, columns, contains_nan=contains_nan), files)
    storage.remove(file.path for file, written in zip(files, found, strict=True) if written is None)
    return [written for written in found if written is not None]


def in_parallel(read: Callable[[FileToRead], T], files: Sequence[FileToRead]) -> list[T]:
    """Call `read` for each file, and return the results in order. Threads help because most of the time is spent waiting for storage."""
    if len(files) < _THREADS:
        return [read(file) for file in files]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(read, files))


def read_file(
    file: FileToRead,
    columns: tuple[Column, ...],
    *,
    contains_nan: Mapping[int, bool] | None = None,
) -> WrittenFile | None:
    """Read the footer of one new file, complete its field ids and logical types, and remove bounds that leave out NaN.

    Args:
        file: the file, which is not removed.
        columns: as in `read_files`.
        contains_nan: as in `read_files`.

    Returns:
        The file; None if it has no rows.

    Raises:
        DataError: a geometry is invalid.
        LakeError: the file does not have the expected fields.
    """
    footer = read_footer(file.path, file.size_bytes)
    metadata = parse_footer(footer)
    if metadata.num_rows == 0:
        return None
    root = read_schema(footer)
    matched = match_columns(root, columns)
    # A column chunk is found by its number among the leaves, without the nested nodes.
    leaf_numbers = {node.index: number for number, node in enumerate(root.leaves())}
    size = file.size_bytes
    patched = corrected(footer, matched)
    if patched != footer:
        metadata = parse_footer(patched)  # a logical type decides the unit of bounds
    nans = contains_nan or {}
    patched = without_bounds(patched, [leaf_numbers[index] for index, (_, column) in matched.items() if nans.get(column.column_id)])
    if patched != footer:
        replace_footer(file.path, size, len(footer), patched)
        size += len(patched) - len(footer)
        footer = patched
    stats = _statistics(metadata, matched, leaf_numbers, contains_nan)
    return WrittenFile(
        path=file.path,
        record_count=metadata.num_rows,
        size_bytes=size,
        footer_size=len(footer),
        column_stats=with_extents(stats, file.path, columns),
        partition_values=file.partition_values,
        embedded_row_ids=any(column.column_id == ROW_ID_FIELD_ID for column in columns),
    )


def _statistics(
    metadata: pq.FileMetaData,
    matched: Mapping[int, tuple[Node, Column]],
    leaf_numbers: Mapping[int, int],
    contains_nan: Mapping[int, bool] | None,
) -> list[ColumnStats]:
    """Return the statistics of the leaves, without their extents. Embedded ids have none."""
    return [
        variant_stats(metadata, node, leaf_numbers, column.column_id)
        if column.type == "variant"
        else column_stats(metadata, leaf_numbers[index], column, contains_nan)
        for index, (node, column) in matched.items()
        if (index in leaf_numbers or column.type == "variant") and column.column_id not in EMBEDDED_IDS
    ]
