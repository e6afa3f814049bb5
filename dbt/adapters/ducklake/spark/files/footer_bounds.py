"""Remove the bounds of columns from a Parquet footer.

A reader may skip a row group by its bounds. PyArrow leaves NaN out of them, but for Spark and DuckDB NaN is the greatest value, so they
would lose its rows. Only the serialized footer changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .thrift import LIST, STRUCT, fields_of, structs_of, write_list, write_struct

# Field ids in the structs of parquet.thrift.
_ROW_GROUPS, _COLUMNS, _METADATA, _STATISTICS = 4, 1, 3, 12
_COLUMN_INDEX = (6, 7)
_BOUNDS = (1, 2, 5, 6, 7, 8)


def without_bounds(footer: bytes, leaves: Collection[int]) -> bytes:
    """Return the footer without the bounds of some leaf columns in all row groups; their counts stay.

    Args:
        footer: the serialized footer.
        leaves: the indexes of the leaves among the file's columns.
    """
    if not leaves:
        return footer
    metadata = fields_of(footer)
    groups = [_group_without_bounds(group, leaves) for group in structs_of(metadata[_ROW_GROUPS][1])]
    metadata[_ROW_GROUPS] = (LIST, write_list(STRUCT, groups))
    return write_struct(metadata)


def _group_without_bounds(group: bytes, leaves: Collection[int]) -> bytes:
    fields = fields_of(group)
    chunks = structs_of(fields[_COLUMNS][1])
    for leaf in leaves:
        chunk = fields_of(chunks[leaf])
        metadata = fields_of(chunk[_METADATA][1])
        if _STATISTICS in metadata:
            metadata[_STATISTICS] = (STRUCT, _without(fields_of(metadata[_STATISTICS][1]), _BOUNDS))
        chunk[_METADATA] = (STRUCT, write_struct(metadata))
        chunks[leaf] = _without(chunk, _COLUMN_INDEX)
    fields[_COLUMNS] = (LIST, write_list(STRUCT, chunks))
    return write_struct(fields)


def _without(fields: Mapping[int, tuple[int, bytes]], ids: Collection[int]) -> bytes:
    return write_struct({key: value for key, value in fields.items() if key not in ids})
