"""A data file of an earlier snapshot under another name, and the rows of it that were not there then.

The rows are never read. A file whose rows say with which snapshot they began would say so again, and the change feed would tell them at
those snapshots once more; of such a file the footer is written again, in which that column has an id that no reader asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import LakeError, MissingFileError
from ...format.files import LINEAGE_ROW_ID, SNAPSHOT_ID_FIELD_ID, DataFile, WriteOptions, WrittenFile
from ...format.objects import SortField, Table
from ...format.paths import data_file_name, with_separator
from ..files import storage
from ..files.field_ids import read_schema, renumbered
from ..files.footers import read_footer, replace_footer
from ..rows.deleted import entries
from ..rows.positions import ascending
from .write import arrow_table, write_arrow

_FORMER_SNAPSHOT_ID = SNAPSHOT_ID_FIELD_ID - 1


def new_name(path: str, table_path: str) -> str:
    """A name for the file in the same place below the table's path; of a file from elsewhere the directories of Hive's keys stay."""
    directory = path.rpartition("/")[0] + "/"
    home = with_separator(table_path)
    if directory.startswith(home):
        return directory + data_file_name()
    keys = [part for part in directory.split("/") if "=" in part]
    return home + "".join(f"{key}/" for key in keys) + data_file_name()


def require_file(file: DataFile) -> None:
    """Raise unless storage has the file as the catalog knows it.

    Raises:
        LakeError: it is gone, or another.
    """
    try:
        size = storage.size(file.path)
    except FileNotFoundError:
        raise _lost(file) from None
    if size != file.size_bytes:
        raise LakeError(f"the data file {file.path} has {size} bytes where the catalog says {file.size_bytes}; restore it from a backup")


def bring_back(file: DataFile, path: str, *, has_snapshot_ids: bool) -> tuple[int, int]:
    """Give the file another name beside its own.

    Returns:
        Its size, and the length of its footer.

    Raises:
        LakeError: the file is gone.
    """
    try:
        if not has_snapshot_ids:
            storage.link_or_copy(file.path, path)
            return file.size_bytes, file.footer_size or len(read_footer(path, file.size_bytes))
        storage.copy(file.path, path)  # a link would change with the footer
    except FileNotFoundError:
        raise _lost(file) from None
    footer = read_footer(path, file.size_bytes)
    other = renumbered(footer, SNAPSHOT_ID_FIELD_ID, _FORMER_SNAPSHOT_ID)
    replace_footer(path, file.size_bytes, len(footer), other)
    return file.size_bytes + len(other) - len(footer), len(other)


def write_rows(
    rows: Sequence[Sequence[Any]], row_ids: Sequence[int], table: Table, options: WriteOptions, order: Sequence[SortField]
) -> list[WrittenFile]:
    """Write rows of the table's columns, with the row ids that they had, as data files that it is to have."""
    data = arrow_table(rows, table.columns).append_column(LINEAGE_ROW_ID, pa.array(row_ids, pa.int64()))
    fields = table.partitioning.fields if table.partitioning else ()
    return write_arrow(data, table.columns, table.path, options, row_ids=True, partition_fields=fields, order=order)


def absent_rows(file: DataFile) -> pa.Array:
    """The positions, ascending, of the rows that a scan of the file leaves out: deleted ones, and such as began later."""
    parts = [pa.array(file.inlined_deletes, pa.int64())]
    if file.delete_file is not None:
        parts.append(entries(file.delete_file)[0])
    if file.rows_until_snapshot is not None:
        parts.append(_younger(file, file.rows_until_snapshot))
    return ascending(pa.concat_arrays(parts))


def _younger(file: DataFile, snapshot_id: int) -> pa.Array:
    """The positions of the rows that began after a snapshot."""
    try:
        schema = read_schema(read_footer(file.path, file.size_bytes))
    except FileNotFoundError:
        raise _lost(file) from None
    name = next((node.name for node in schema.children if node.field_id == SNAPSHOT_ID_FIELD_ID), None)
    if name is None:
        raise LakeError(f"the data file {file.path} does not say with which snapshots its rows began; the lake is damaged")
    files, inner = storage.filesystem(file.path)
    with pq.ParquetFile(inner, filesystem=files) as parquet:
        begun = parquet.read(columns=[name]).column(0).combine_chunks()
    return pc.indices_nonzero(pc.greater(begun, snapshot_id)).cast(pa.int64())


def _lost(file: DataFile) -> MissingFileError:
    return MissingFileError(
        f"the data file {file.path}, which the snapshot reads, does not exist: the lake has lost a file. "
        "Nothing was changed; restore it from a backup",
        file.path,
    )
