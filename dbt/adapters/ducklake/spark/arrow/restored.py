"""Restore the rows of an earlier snapshot: link or copy its data files under new names, and find the positions to leave out.

A file is copied without decoding its rows; at most its column of snapshot ids is read. If a file contains the snapshot id of each row,
the change feed would report its rows again at those snapshots. So the footer of the copy is rewritten: the column gets a field id that no
reader requests. `write_rows` writes former inlined rows that the catalog database cannot store again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import LakeError, MissingFileError
from ...format.files import LINEAGE_ROW_ID, SNAPSHOT_ID_FIELD_ID, DataFile, MappedField, WriteOptions, WrittenFile
from ...format.objects import SortField, Table
from ...format.paths import data_file_name, with_separator
from ...format.types import json_as_text
from ..files import storage
from ..files.encrypted_files import read_columns
from ..files.field_ids import read_schema, renumbered
from ..files.footer_bytes import read_footer, replace_footer, stored_footer
from ..files.locations import hive_directory
from ..rows.deleted import entries
from ..rows.positions import ascending
from .write import arrow_table, write_arrow

_FORMER_SNAPSHOT_ID = SNAPSHOT_ID_FIELD_ID - 1

Place = tuple[str, tuple[MappedField, ...] | None]
"""The path and the name mapping of a copy of a data file."""


def new_place(file: DataFile, table_path: str) -> Place:
    """Return the place of a copy of a data file.

    It is in the same directory if that is below the table's path, otherwise below the table's path in the same Hive directories.
    Readers take the first directory with a key, so a key that the table's path has already gets another name.
    """
    directory = file.path.rpartition("/")[0] + "/"
    table_directory = with_separator(table_path)
    if directory.startswith(table_directory):
        return directory + data_file_name(), file.mapping
    if not any(field.is_partition for field in file.mapping or ()):
        keys = [part for part in directory.split("/") if "=" in part]
        return table_directory + "".join(f"{key}/" for key in keys) + data_file_name(), file.mapping
    fields: list[MappedField] = []
    for field in file.mapping or ():
        if field.is_partition:
            _, value = hive_directory(file.path, field.source_name)
            key = field.source_name
            while hive_directory(table_directory, key)[0] is not None:
                key = f"_{key}"
            table_directory += "" if value is None else f"{key}={value}/"
            fields.append(replace(field, source_name=key))
        else:
            fields.append(field)
    return table_directory + data_file_name(), tuple(fields)


def require_file(file: DataFile) -> None:
    """Check that storage has the file with the size in the catalog.

    Raises:
        LakeError: the file is missing or has another size.
    """
    try:
        size = storage.size(file.path)
    except FileNotFoundError:
        raise _missing_file(file) from None
    if size != file.size_bytes:
        raise LakeError(f"the data file {file.path} has {size} bytes, but {file.size_bytes} in the catalog; restore it from a backup")


def restore_file(file: DataFile, path: str, *, has_snapshot_ids: bool) -> tuple[int, int]:
    """Link or copy the file to `path`.

    Args:
        file: the data file.
        path: the path of the new file.
        has_snapshot_ids: whether the file contains a snapshot id for each row.

    Returns:
        The size of the new file and the length of its footer, in bytes.

    Raises:
        LakeError: the file is missing.
    """
    try:
        if not has_snapshot_ids:
            storage.link_or_copy(file.path, path)
            return file.size_bytes, file.footer_size or len(stored_footer(path, file.size_bytes, file.encryption_key))
        storage.copy(file.path, path)  # with a link, the old file's footer would change too
    except FileNotFoundError:
        raise _missing_file(file) from None
    key = file.encryption_key
    before = len(stored_footer(path, file.size_bytes, key))
    footer = renumbered(read_footer(path, file.size_bytes, key), SNAPSHOT_ID_FIELD_ID, _FORMER_SNAPSHOT_ID)
    after = replace_footer(path, file.size_bytes, before, footer, key)
    return file.size_bytes + after - before, after


def write_rows(
    rows: Sequence[Sequence[Any]], row_ids: Sequence[int], table: Table, options: WriteOptions, order: Sequence[SortField]
) -> list[WrittenFile]:
    """Write rows of the table's columns, with their row ids, as new data files.

    Args:
        rows: Python values as in `arrow_table`, in the order of the table's columns.
        row_ids: the row id of each row.
        table: the table, with the columns of the rows; the files are below its path.
        options: the lake's options.
        order: the sort keys, in DuckDB's dialect.
    """
    data = arrow_table(rows, [json_as_text(column) for column in table.columns])
    data = data.append_column(LINEAGE_ROW_ID, pa.array(row_ids, pa.int64()))
    fields = table.partition_fields
    return write_arrow(data, table.columns, table.path, options, row_ids=True, partition_fields=fields, order=order)


def excluded_positions(file: DataFile) -> pa.Array:
    """Return the ascending positions of the rows that a scan leaves out: deleted rows, and rows of later snapshots."""
    parts = [pa.array(file.inlined_deletes, pa.int64())]
    if file.delete_file is not None:
        parts.append(entries(file.delete_file)[0])
    if file.rows_until_snapshot is not None:
        parts.append(_later_rows(file, file.rows_until_snapshot))
    return ascending(pa.concat_arrays(parts))


def _later_rows(file: DataFile, snapshot_id: int) -> pa.Array:
    """Return the positions of the rows that began after a snapshot."""
    try:
        schema = read_schema(read_footer(file.path, file.size_bytes, file.encryption_key))
    except FileNotFoundError:
        raise _missing_file(file) from None
    name = next((node.name for node in schema.children if node.field_id == SNAPSHOT_ID_FIELD_ID), None)
    if name is None:
        raise LakeError(f"the data file {file.path} has no snapshot ids, which the catalog requires; the lake is damaged")
    if file.encryption_key is not None:
        begun = read_columns(file.path, file.encryption_key, {name: pa.int64()}).column(0).combine_chunks()
    else:
        files, inner = storage.filesystem(file.path)
        with pq.ParquetFile(inner, filesystem=files) as parquet:
            begun = parquet.read(columns=[name]).column(0).combine_chunks()
    return pc.indices_nonzero(pc.greater(begun, snapshot_id)).cast(pa.int64())


def _missing_file(file: DataFile) -> MissingFileError:
    return MissingFileError(
        f"the data file {file.path}, which the snapshot reads, does not exist: the lake has lost it. "
        "Nothing was changed; restore it from a backup",
        file.path,
    )
