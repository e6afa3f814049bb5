"""Write rows in the driver to data files with PyArrow, so that seeds and small sets of rows need no JVM.

Specification: "Data files", "Field identifiers". Files have the same names as DuckDB's, and ids on every node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import DataError
from ...format.files import LINEAGE_ROW_ID, ROW_ID, WriteOptions, WrittenFile
from ...format.leaf_types import leaf_type
from ...format.objects import Column, PartitionField, SortField
from ...format.partitioning import directory as partition_directory
from ...format.partitioning import key_columns, key_names
from ...format.paths import data_file_name, with_separator
from ..files import storage
from ..files.encrypted_files import write_table
from ..files.footers import FileToRead, read_file
from ..files.write_options import arrow_options
from ..values.arrow_types import arrow_schema
from ..values.stats_checks import check_stats, null_message
from .partitions import split
from .sorting import in_order
from .values import InZone, array_of

_CHUNK_ROWS = 65_536


def arrow_table(rows: Iterable[Sequence[Any]], columns: Sequence[Column], in_zone: InZone | None = None) -> pa.Table:
    """Convert rows of Python values, in the order of `columns`, to an Arrow table with exactly their types.

    Values have the column's type or are strings: ISO dates and times, digits, `true`/`false`/`t`/`f`/`yes`/`no`/`1`/`0`, JSON for nested
    types. For `in_zone` see `values.converter`.

    Raises:
        DataError: a value does not fit its column, and the message names both and the row; or a row has the wrong number of values.
    """
    batch = [tuple(row) for row in rows]
    for number, row in enumerate(batch, 1):
        if len(row) != len(columns):
            raise DataError(f"row {number} has {len(row)} values, the table has {len(columns)} columns")
    values = list(zip(*batch, strict=True)) if batch else [()] * len(columns)
    arrays = [array_of(column_values, column, in_zone) for column_values, column in zip(values, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(columns))


def write_arrow(
    table: pa.Table,
    columns: tuple[Column, ...],
    directory: str,
    options: WriteOptions,
    *,
    row_ids: bool = False,
    partition_fields: tuple[PartitionField, ...] = (),
    order: Sequence[SortField] = (),
) -> list[WrittenFile]:
    """Write a table to data files below `directory`, without registering them.

    Args:
        table: the columns by position, of types that can be cast without loss; with `row_ids` also LINEAGE_ROW_ID, by name.
        columns: the table's columns.
        directory: the table's path.
        options: the lake's options.
        row_ids: the rows are new versions of existing rows, and their row ids are written to the files.
        partition_fields: the table's partition keys; each partition gets its own file.
        order: the sort keys, in DuckDB's dialect.

    Returns:
        The files, all with rows.

    Raises:
        DataError: a NOT NULL column contains NULL, or a value does not fit.
        StatementError: PyArrow cannot write a column's type.
    """
    table = _fitted(table, columns, row_ids)
    written_columns = (*columns, ROW_ID) if row_ids else columns
    _require_not_null(table, columns)
    table = in_order(table, columns, order)
    names = key_names(key_columns(columns, partition_fields), partition_fields)
    files: list[WrittenFile] = []
    paths: list[str] = []
    try:
        for values, part in split(table, columns, partition_fields):
            target = with_separator(directory)
            if partition_fields and options.hive_file_pattern:
                target += partition_directory(names, values)
            for piece in pieces(part, options.target_file_size):
                paths.append(target + data_file_name())
                files.append(write_piece(piece, written_columns, paths[-1], options, values))
        check_stats(files, columns)
    except BaseException:
        for path in paths:
            with suppress(OSError):  # the error of the write counts
                storage.remove([path])
        raise
    return files


def _require_not_null(table: pa.Table, columns: Sequence[Column]) -> None:
    for column, data in zip(columns, table.columns, strict=False):
        if not column.nullable and data.null_count:
            raise DataError(null_message(column))


def write_piece(
    table: pa.Table,
    columns: tuple[Column, ...],
    path: str,
    options: WriteOptions,
    values: tuple[str | None, ...],
) -> WrittenFile:
    """Write an Arrow table as one file.

    Args:
        table: the rows.
        columns: the columns of the file.
        path: the path of the file.
        options: the options for writing.
        values: the file's partition values; empty if the table is not partitioned.
    """
    if options.encrypted:
        return replace(write_table(table, columns, path, options), partition_values=values)
    with storage.written_locally(path) as local:
        pq.write_table(table, local, **arrow_options(options, table.nbytes / table.num_rows))
        written = read_file(FileToRead(local, storage.size(local), values), columns, contains_nan=_nans(table, columns))
    assert written is not None
    return replace(written, path=path)


def _fitted(table: pa.Table, columns: tuple[Column, ...], row_ids: bool) -> pa.Table:
    """Return the table with exactly the types, names and ids of the file."""
    schema = arrow_schema((*columns, ROW_ID) if row_ids else columns)
    arrays = [table.column(i) for i, name in enumerate(table.column_names) if not (row_ids and name == LINEAGE_ROW_ID)]
    if row_ids:
        arrays.append(table.column(LINEAGE_ROW_ID))
    if len(arrays) != len(schema):
        raise DataError(f"the rows have {len(arrays)} columns, the table has {len(schema)}: give one value for each column of the table")
    cast: list[pa.ChunkedArray] = []
    for data, field in zip(arrays, schema, strict=True):
        try:
            cast.append(data if data.type.equals(field.type, check_metadata=True) else data.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"column {field.name}: {error}") from error
    return pa.Table.from_arrays(cast, schema=schema)


def pieces(table: pa.Table, target_file_size: int) -> list[pa.Table]:
    """Split the table into slices for files of about the target size in bytes; an empty table has no slices."""
    if table.num_rows == 0:
        return []
    rows = max(_CHUNK_ROWS, int(table.num_rows * target_file_size / max(1, table.nbytes)))
    return [table.slice(start, rows) for start in range(0, table.num_rows, rows)]


def _nans(table: pa.Table, columns: Sequence[Column]) -> dict[int, bool]:
    """Return column id → whether it contains NaN, for all float leaves, because PyArrow's footer bounds ignore NaN."""
    found = {node.column_id: False for column in columns for node in column.walk() if leaf_type(node.type).is_float}
    for column, data in zip(columns, table.columns, strict=True):
        if any(node.column_id in found for node in column.walk()):
            for chunk in data.chunks:
                _leaf_nans(column, chunk, found)
    return found


def _leaf_nans(column: Column, data: pa.Array, found: dict[int, bool]) -> None:
    match column.type, column.children:
        case "list", (element,):
            _leaf_nans(element, data.flatten(), found)
        case "map", (key, value):
            _leaf_nans(key, data.keys, found)
            _leaf_nans(value, data.items, found)
        case "struct", children:
            for child, array in zip(children, data.flatten(), strict=True):
                _leaf_nans(child, array, found)
        case name, _ if leaf_type(name).is_float:
            found[column.column_id] |= bool(pc.any(pc.is_nan(data)).as_py())
