"""Write inlined rows to data files: versions of rows, each with its row id and the snapshot that began it.

Specification: "Flush Inlined Data". A delete file contains the deleted versions, each with the snapshot that deleted it, so that the rows
of every snapshot stay the same. DuckDB's change feed supports one delete per row id and file, so later deletes of the same row id go to
another file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa

from ...format.files import ROW_ID, SNAPSHOT_ID, FlushedFile, InlinedDeletes, InlinedVersions, WriteOptions, WrittenDeleteFile
from ...format.inlined_cells import initial_value
from ...format.objects import Column, Table
from ...format.partitioning import directory as partition_directory
from ...format.partitioning import key_columns, key_names
from ...format.paths import data_file_name, with_separator
from ...format.types import json_as_text
from ..files import storage
from ..files.deletes import write_delete_file
from ..files.storage import THREADS
from ..rows.deleted import entries
from ..values.arrow_types import arrow_schema
from .partitions import split
from .sorting import in_order
from .write import arrow_table, pieces, write_piece

_END = Column(-1, "", "int64")


def write_flushed(versions: InlinedVersions, table: Table, options: WriteOptions) -> list[FlushedFile]:
    """Write row versions of an inlined-data table, with the columns of that table; at least one file for each partition.

    Args:
        versions: the row versions. A partition key that they do not have gets its initial default.
        table: the table, with its present path.
        options: the lake's options.

    Raises:
        DataError: a value cannot be stored in a file.
        StatementError: PyArrow cannot write a column's type.
    """
    partitioning, layout = versions.partitioning, versions.columns
    fields = () if partitioning is None else partitioning.fields
    missing = {field.column_id for field in fields} - {column.column_id for column in layout}
    later = tuple(column for column in table.columns if column.column_id in missing)
    columns = (*layout, *later, ROW_ID, SNAPSHOT_ID, _END)
    defaults = tuple(initial_value(column) for column in later)
    ids = zip(versions.row_ids, versions.begin_snapshots, versions.end_snapshots, strict=True)
    rows = ((*row, *defaults, *each) for row, each in zip(versions.rows, ids, strict=True))
    data = arrow_table(rows, [json_as_text(column) for column in columns])
    data = in_order(data, _with_present_names(columns, table), [key for key in table.sorting if key.dialect == "duckdb"])
    names = key_names(key_columns(columns, fields), fields)
    parts = [
        (values, piece)
        for generation in _generations(data)
        for values, part in split(data.take(generation), columns, fields)
        for piece in pieces(part, options.target_file_size)
    ]
    written: list[FlushedFile] = []

    def write(part: tuple[tuple[str | None, ...], pa.Table]) -> FlushedFile:
        values, piece = part
        directory = with_separator(table.path)
        if fields and options.hive_file_pattern:
            directory += partition_directory(names, values)
        file = _file(piece, layout, table.path, directory + data_file_name(), options, values)
        flushed = replace(file, partition_id=partitioning.partition_id if partitioning and values else None)
        written.append(flushed)
        return flushed

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(write, parts))
    except BaseException:
        remove(written, ())
        raise


def write_deletes(deletes: Iterable[InlinedDeletes], directory: str, *, encrypted: bool = False) -> tuple[WrittenDeleteFile, ...]:
    """Write inlined deletes to delete files, one for each data file, together with those of its earlier delete file."""
    written: list[WrittenDeleteFile] = []

    def write(each: InlinedDeletes) -> WrittenDeleteFile:
        file = _write_deletes(each, directory, encrypted)
        written.append(file)
        return file

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return tuple(pool.map(write, deletes))
    except BaseException:
        remove((), written)
        raise


def _write_deletes(deletes: InlinedDeletes, directory: str, encrypted: bool) -> WrittenDeleteFile:
    since = dict(deletes.snapshots)
    if deletes.delete_file is not None:
        for position, snapshot in zip(*(each.to_pylist() for each in entries(deletes.delete_file)), strict=True):
            since[position] = min(snapshot, since.get(position, snapshot))
    ordered = sorted(since)
    snapshots = [since[position] for position in ordered]
    return write_delete_file(deletes.path, deletes.data_file_id, directory, ordered, snapshots, encrypted=encrypted)


def remove(files: Iterable[FlushedFile], delete_files: Iterable[WrittenDeleteFile]) -> None:
    """Remove written files that will not be registered."""
    paths = [file.path for flushed in files for file in (flushed.file, flushed.delete_file) if file is not None]
    storage.remove([*paths, *(file.path for file in delete_files)])


def _with_present_names(columns: tuple[Column, ...], table: Table) -> list[Column]:
    names = {column.column_id: column.name for column in table.columns}
    return [replace(column, name=names.get(column.column_id, "")) for column in columns]


def _generations(data: pa.Table) -> list[list[int]]:
    """Group the indices of the versions so that each group has at most one deleted version per row id.

    Versions that are not deleted are in the first group.
    """
    ends: Counter[int] = Counter()
    found: dict[int, list[int]] = {}
    row_ids, ended = (data.column(data.num_columns - offset).to_pylist() for offset in (3, 1))
    for index, (row_id, end) in enumerate(zip(row_ids, ended, strict=True)):
        found.setdefault(ends[row_id] if end is not None else 0, []).append(index)
        ends[row_id] += end is not None
    return [found[generation] for generation in sorted(found)]


def _file(
    piece: pa.Table, layout: tuple[Column, ...], directory: str, path: str, options: WriteOptions, values: tuple[str | None, ...]
) -> FlushedFile:
    columns = (*layout, SNAPSHOT_ID, ROW_ID)
    row_ids, begins, ends = (piece.column(piece.num_columns - offset) for offset in (3, 2, 1))
    schema = arrow_schema(columns)
    data = pa.Table.from_arrays([*piece.columns[: len(layout)], begins, row_ids], schema=schema)
    file = write_piece(data, columns, path, options, values)
    try:
        ended: Mapping[int, int] = {position: end for position, end in enumerate(ends.to_pylist()) if end is not None}
        delete_file = None
        if ended:
            delete_file = write_delete_file(path, 0, directory, list(ended), list(ended.values()), encrypted=options.encrypted)
    except BaseException:
        storage.remove([path])
        raise
    snapshots = begins.to_pylist()
    return FlushedFile(file, min(snapshots), max(snapshots), min(row_ids.to_pylist()), delete_file, layout)
