"""Fetch the files and positions of a DataFrame's rows as Arrow arrays, and group, compare and combine them.

Ten million positions take 80 MB as an array and 1 GB as a list of Python integers, so this module never creates such a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from ...format.files import LINEAGE_FILE, LINEAGE_POSITION
from ..files.deletes import POSITION_BITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MANY_ROWS = 20_000_000
"""Positions in scans of more rows than this are fetched as bitmaps: as rows they would need 16 bytes each, and several times that in the
driver. Bitmaps need a shuffle, which takes 0.2 s for a few rows and 0.5 s for 240,000."""
_WORD = "_ducklake_word"
"""A position without its last six bits."""
_BITS = "_ducklake_bits"
"""The last six bits of the positions with one _WORD, as a bitmap of 64 bits."""
_COUNT = "_ducklake_count"
_WORDS_AT_ONCE = 1 << 16
PositionArray: TypeAlias = pa.Array
"""LINEAGE_POSITIONs of rows of one file: strictly ascending, int64."""
Positions: TypeAlias = Mapping[int, PositionArray]
"""LINEAGE_FILE → the positions of rows in it."""


def are_many(rows: int) -> bool:
    """Whether the positions of a number of rows are fetched as bitmaps."""
    return rows > MANY_ROWS


def collect_positions(frame: DataFrame, at_most: int) -> dict[int, PositionArray]:
    """Fetch the positions of a frame's rows and return them by file, without duplicates.

    Args:
        frame: rows with lineage columns.
        at_most: the maximum number of rows that the frame can have.
    """
    return positions_in(fetch_bitmaps(frame)) if are_many(at_most) else positions_by_file(fetch_positions(frame))


def fetch_bitmaps(frame: DataFrame, *by: str) -> pa.Table:
    """Fetch the positions of a frame as bitmaps of 64 rows of a file: for many rows, a hundredth of what `fetch_positions` fetches.

    Args:
        frame: rows with lineage columns.
        by: names of columns by which the bitmaps are grouped as well.

    Returns:
        The bitmaps, for `positions_in`, with the columns `by`.
    """
    bit = f"shiftleft(1L, CAST({LINEAGE_POSITION} & 63 AS INT))"
    words = frame.selectExpr(*by, LINEAGE_FILE, f"shiftright({LINEAGE_POSITION}, 6) AS {_WORD}", f"{bit} AS {_BITS}")
    grouped = words.groupBy(*by, LINEAGE_FILE, _WORD)
    return grouped.agg(F.bit_or(_BITS).alias(_BITS), F.count("*").alias(_COUNT)).toArrow()


def positions_in(bitmaps: pa.Table) -> dict[int, PositionArray]:
    """Return the positions in bitmaps of `fetch_bitmaps` by file. A file may have several bitmaps for the same rows."""
    bitmaps = bitmaps.select([LINEAGE_FILE, _WORD, _BITS]).sort_by([(LINEAGE_FILE, "ascending"), (_WORD, "ascending")]).combine_chunks()
    found, start = {}, 0
    for each in pc.value_counts(bitmaps.column(LINEAGE_FILE)).to_pylist():
        words = bitmaps.slice(start, each["counts"])
        parts = [_in_words(words.slice(at, _WORDS_AT_ONCE)) for at in range(0, words.num_rows, _WORDS_AT_ONCE)]
        found[each["values"]] = ascending(pa.concat_arrays(parts))
        start += each["counts"]
    return found


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


def has_repeated(bitmaps: pa.Table, found: Iterable[Positions]) -> bool:
    """Whether bitmaps of `fetch_bitmaps` were made of rows of which two have the same file and position; `found`: the positions in them."""
    rows = pc.sum(bitmaps.column(_COUNT)).as_py() or 0
    return bool(rows != count(union(found)))


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


def _in_words(words: pa.Table) -> pa.Array:
    """Return the positions in some bitmaps of one file, in their order."""
    bits = pa.concat_arrays(words.column(_BITS).chunks).cast(pa.int64())
    flags = pa.Array.from_buffers(pa.bool_(), 64 * len(bits), [None, bits.buffers()[1]], offset=64 * bits.offset)
    set_bits = pc.indices_nonzero(flags).cast(pa.int64())
    base = pc.shift_left(words.column(_WORD).combine_chunks().cast(pa.int64()), 6)
    return pc.add(base.take(pc.shift_right(set_bits, 6)), pc.bit_wise_and(set_bits, 63))
