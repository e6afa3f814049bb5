"""Fetch the files and positions of a DataFrame's rows as Arrow arrays, and group, compare and combine them.

Ten million positions take 80 MB as an array and 1 GB as a list of Python integers, so this module never creates such a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ...format.files import LINEAGE_FILE, LINEAGE_POSITION
from ..files.deletes import POSITION_BITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PositionArray: TypeAlias = pa.Array
"""LINEAGE_POSITIONs of rows of one file: strictly ascending, int64."""
Positions: TypeAlias = Mapping[int, PositionArray]
"""LINEAGE_FILE → the positions of rows in it."""


def collect_positions(frame: DataFrame) -> dict[int, PositionArray]:
    """Fetch the positions of a frame's rows and return them by file, without duplicates. The frame must have lineage columns."""
    return positions_by_file(fetch_positions(frame))


def fetch_positions(frame: DataFrame) -> pa.Table:
    """Fetch and return the columns LINEAGE_FILE and LINEAGE_POSITION of a frame."""
    return frame.select(LINEAGE_FILE, LINEAGE_POSITION).toArrow()


def positions_by_file(rows: pa.Table) -> dict[int, PositionArray]:
    """Return the positions by file, without duplicates. The columns LINEAGE_FILE and LINEAGE_POSITION must contain no NULL."""
    keys, file_ids = keys_of(rows)
    del rows  # frees memory for the sort, if the caller has dropped its reference too
    return _split(_in_order(keys), file_ids)


def has_duplicates(rows: pa.Table) -> bool:
    """Whether `rows` has the same LINEAGE_FILE and LINEAGE_POSITION more than once."""
    keys = _in_order(keys_of(rows)[0])
    return len(keys) > 1 and bool(pc.any(pc.equal(keys.slice(1), keys.slice(0, len(keys) - 1))).as_py())


def union(parts: Iterable[Positions]) -> dict[int, PositionArray]:
    """Return the union of several sets of positions."""
    by_file: dict[int, list[PositionArray]] = {}
    for part in parts:
        for file_id, positions in part.items():
            by_file.setdefault(file_id, []).append(positions)
    return {file_id: arrays[0] if len(arrays) == 1 else ascending(pa.concat_arrays(arrays)) for file_id, arrays in by_file.items()}


def ascending(values: pa.Array) -> pa.Array:
    """Return the values sorted and without duplicates."""
    values = _in_order(values)
    if len(values) < 2:
        return values
    first = pa.array([True])
    is_new = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    return values.filter(pa.concat_arrays([first, is_new]))


def count(positions: Positions) -> int:
    """Return the number of positions in all files."""
    return sum(len(each) for each in positions.values())


def keys_of(rows: pa.Table) -> tuple[pa.Array, list[int]]:
    """Return a key for each row, `index of its file << POSITION_BITS | position`, and the LINEAGE_FILE for each index.

    Keys sort by file and position. The columns LINEAGE_FILE and LINEAGE_POSITION must contain no NULL.
    """
    files = rows.column(LINEAGE_FILE).combine_chunks().dictionary_encode()
    if rows.num_rows == 0:
        return pa.array([], pa.int64()), []
    positions = rows.column(LINEAGE_POSITION).combine_chunks()
    keys = pc.add(pc.shift_left(files.indices.cast(pa.int64()), POSITION_BITS), positions)
    return keys, files.dictionary.to_pylist()


def _in_order(values: pa.Array) -> pa.Array:
    """Return the values sorted; values that are in order already are not copied."""
    if len(values) > 1 and pc.any(pc.less(values.slice(1), values.slice(0, len(values) - 1))).as_py():
        return values.take(pc.array_sort_indices(values))
    return values


def _split(keys: pa.Array, file_ids: list[int]) -> dict[int, PositionArray]:
    """Return LINEAGE_FILE → positions, without duplicates, of keys made by `keys_of`."""
    keys = ascending(keys)
    counts = {each["values"]: each["counts"] for each in pc.value_counts(pc.shift_right(keys, POSITION_BITS)).to_pylist()}
    positions, start = {}, 0
    for index, file_id in enumerate(file_ids):
        size = counts.get(index, 0)
        positions[file_id] = pc.subtract(keys.slice(start, size), index << POSITION_BITS)
        start += size
    return positions
