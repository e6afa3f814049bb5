"""The deleted rows of a data file with the snapshots that deleted them, and how more deletes are added to them.

Specification: "ducklake_delete_file": a delete file that replaces another contains all positions, each with its snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ...format.files import DataFile, DeleteFile
from ..files.deletes import deleted_keys, positions_table
from .positions import ascending, keys_of


@dataclass(frozen=True)
class DeletedRows:
    """The entries of a data file's delete file: ascending positions, and in `since` the snapshot that deleted each."""

    file: DataFile
    positions: pa.Array
    since: pa.Array

    def leave_nothing(self, to_delete: pa.Array) -> bool:
        """Whether no row is left after deleting the rows at `to_delete`, so that the data file can be ended.

        False if the file has inlined deletes: the reference implementation's change feed would report
        those rows as deleted when the file ends.
        """
        if len(self.positions) + len(to_delete) < self.file.record_count:
            return False
        if self.file.inlined_deletes or self.file.rows_until_snapshot is not None:
            return False
        return len(ascending(pa.concat_arrays([self.positions, to_delete]))) >= self.file.record_count

    def with_more(self, to_delete: pa.Array, snapshot_id: int) -> tuple[pa.Array, pa.Array]:
        """Return all positions, strictly ascending, and the snapshot of each, after `snapshot_id` deletes the rows at `to_delete`."""
        positions = pa.concat_arrays([self.positions, to_delete])
        since = pa.concat_arrays([self.since, pa.repeat(pa.scalar(snapshot_id, pa.int64()), len(to_delete))])
        order = pc.array_sort_indices(positions)  # a stable sort: for a row that was deleted before, its earlier snapshot comes first
        positions, since = positions.take(order), since.take(order)
        is_new = pa.concat_arrays([pa.array([True]), pc.not_equal(positions.slice(1), positions.slice(0, len(positions) - 1))])
        return positions.filter(is_new), since.filter(is_new)


def deleted_rows(file: DataFile) -> DeletedRows:
    """Read the delete file of a data file."""
    if file.delete_file is None:
        return DeletedRows(file, pa.array([], pa.int64()), pa.array([], pa.int64()))
    return DeletedRows(file, *entries(file.delete_file))


def entries(file: DeleteFile) -> tuple[pa.Array, pa.Array]:
    """Return the ascending positions in a delete file, and the snapshot that deleted each: by default the file's first."""
    table = positions_table(file)
    positions = table.column(0).combine_chunks()
    known = table.column(1).combine_chunks() if table.num_columns == 2 else pa.nulls(len(positions), pa.int64())
    return positions, pc.fill_null(known, file.begin_snapshot)


def drop_deleted(rows: pa.Table, files: Iterable[DataFile]) -> pa.Table:
    """Return the fetched rows of a scan without the deleted rows, which the scan also read.

    Args:
        rows: rows with LINEAGE_FILE and LINEAGE_POSITION.
        files: the data files of the scan. A delete file is read only if `rows` has a row of its data file.
    """
    with_deletes = {file.data_file_id: file for file in files if file.has_deletes}
    keys, file_ids = keys_of(rows)
    found = [(index, with_deletes[file_id]) for index, file_id in enumerate(file_ids) if file_id in with_deletes]
    if not found:
        return rows
    return rows.filter(pc.invert(pc.is_in(keys, value_set=deleted_keys(found))))
