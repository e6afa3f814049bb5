"""Writes inlined rows as data files: every version of every row, with its row id and the snapshot that began it.

Specification: "Flush Inlined Data". The rows that ended are in a delete file, each with the snapshot that ended it, so that every
snapshot shows the rows that it showed before. DuckDB's change feed knows one end per row id and file: a row that ended more than once
has its later ends in another file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from ...format.files import ROW_ID, SNAPSHOT_ID, FlushedFile, InlinedDeletes, InlinedVersions, WriteOptions, WrittenDeleteFile
from ...format.inlined_cells import initial_value
from ...format.objects import Column, Table
from ...format.partitioning import directory as partition_directory
from ...format.partitioning import key_columns, key_names
from ...format.paths import data_file_name, with_separator
from ..files import storage
from ..files.deletes import write_delete_file
from ..rows.deleted import entries
from .partitions import split
from .sorting import in_order
from .types import arrow_schema
from .write import arrow_table, pieces, write_piece

_END = Column(-1, "", "int64")


def write_flushed(versions: InlinedVersions, table: Table, options: WriteOptions) -> list[FlushedFile]:
    """Write all versions of the rows of an inlined-data table, in the columns that it has; at least a file for each partition.

    Args:
        table: says where the files go and how rows are partitioned now. A key that the rows do not have yet is at its initial default.

    Raises:
        DataError: a value that no file can hold.
        StatementError: a column that PyArrow cannot write.
    """
    fields = table.partitioning.fields if table.partitioning else ()
    layout = versions.columns
    there = {column.column_id for column in layout}
    later = tuple(column for column in key_columns(table.columns, fields) if column.column_id not in there)
    columns = (*layout, *later, ROW_ID, SNAPSHOT_ID, _END)
    defaults = tuple(initial_value(column) for column in later)
    lives = zip(versions.row_ids, versions.begin_snapshots, versions.end_snapshots, strict=True)
    data = arrow_table(((*row, *defaults, *life) for row, life in zip(versions.rows, lives, strict=True)), columns)
    data = in_order(data, _named_as_now(columns, table), [key for key in table.sorting if key.dialect == "duckdb"])
    names = key_names(key_columns(columns, fields), fields)
    written: list[FlushedFile] = []
    try:
        for generation in _generations(data):
            for values, part in split(data.take(generation), columns, fields):
                home = with_separator(table.path)
                if fields and options.hive_file_pattern:
                    home += partition_directory(names, values)
                for piece in pieces(part, options.target_file_size):
                    written.append(_file(piece, layout, table.path, home + data_file_name(), options, values))
    except BaseException:
        remove(written, ())
        raise
    return written


def write_deletes(deletes: Iterable[InlinedDeletes], directory: str) -> tuple[WrittenDeleteFile, ...]:
    """Write the deletes that the catalog held as delete files, one for each data file, with those of the earlier delete file."""
    written: list[WrittenDeleteFile] = []
    try:
        for each in deletes:
            written.append(_write_deletes(each, directory))
    except BaseException:
        remove((), written)
        raise
    return tuple(written)


def _write_deletes(deletes: InlinedDeletes, directory: str) -> WrittenDeleteFile:
    since = dict(deletes.snapshots)
    if deletes.delete_file is not None:
        for position, snapshot in zip(*(each.to_pylist() for each in entries(deletes.delete_file)), strict=True):
            since[position] = min(snapshot, since.get(position, snapshot))
    ordered = sorted(since)
    return write_delete_file(deletes.path, deletes.data_file_id, directory, ordered, [since[position] for position in ordered])


def remove(files: Iterable[FlushedFile], delete_files: Iterable[WrittenDeleteFile]) -> None:
    """Remove files that were written and will not be registered."""
    for flushed in files:
        storage.remove([flushed.file.path] if flushed.delete_file is None else [flushed.file.path, flushed.delete_file.path])
    storage.remove(file.path for file in delete_files)


def _named_as_now(columns: tuple[Column, ...], table: Table) -> list[Column]:
    names = {column.column_id: column.name for column in table.columns}
    return [replace(column, name=names.get(column.column_id, "")) for column in columns]


def _generations(data: pa.Table) -> list[list[int]]:
    """The places of the versions: all but those that are at least the second end of their row; the second ends; the third; …"""
    ends: Counter[int] = Counter()
    found: dict[int, list[int]] = {}
    row_ids, ended = (data.column(data.num_columns - place).to_pylist() for place in (3, 1))
    for place, (row_id, end) in enumerate(zip(row_ids, ended, strict=True)):
        found.setdefault(ends[row_id] if end is not None else 0, []).append(place)
        ends[row_id] += end is not None
    return [found[generation] for generation in sorted(found)]


def _file(
    piece: pa.Table, layout: tuple[Column, ...], directory: str, path: str, options: WriteOptions, values: tuple[str | None, ...]
) -> FlushedFile:
    columns = (*layout, SNAPSHOT_ID, ROW_ID)
    row_ids, begins, ends = (piece.column(piece.num_columns - place) for place in (3, 2, 1))
    schema = arrow_schema(columns)
    data = pa.Table.from_arrays([*piece.columns[: len(layout)], begins, row_ids], schema=schema)
    file = write_piece(data, columns, path, options, values)
    try:
        ended: Mapping[int, int] = {place: end for place, end in enumerate(ends.to_pylist()) if end is not None}
        delete_file = write_delete_file(path, 0, directory, list(ended), list(ended.values())) if ended else None
    except BaseException:
        storage.remove([path])
        raise
    snapshots = begins.to_pylist()
    return FlushedFile(file, min(snapshots), max(snapshots), min(row_ids.to_pylist()), delete_file)
