"""Which rows of a data file are deleted already and since when, and what becomes of that when more are.

Specification: "ducklake_delete_file": a delete file that takes the place of another holds all positions, each with its snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ...format.files import DataFile, DeleteFile
from ..files.deletes import positions_table
from .positions import ascending


@dataclass(frozen=True)
class DeletedRows:
    """The entries of a file's delete file: positions, ascending, and the snapshot that deleted each."""

    file: DataFile
    positions: pa.Array
    since: pa.Array

    def leave_nothing(self, to_delete: pa.Array) -> bool:
        """Whether the file can be ended when the rows at `to_delete` are deleted too: no row of it is left.

        Never if deletes of it are inlined: the change feed of the reference says of an ended file that those rows went with it.
        """
        if len(self.positions) + len(to_delete) < self.file.record_count:
            return False
        if self.file.inlined_deletes or self.file.rows_until_snapshot is not None:
            return False
        return len(ascending(pa.concat_arrays([self.positions, to_delete]))) >= self.file.record_count

    def with_more(self, to_delete: pa.Array, snapshot_id: int) -> tuple[pa.Array, pa.Array]:
        """All positions, strictly ascending, and the snapshot of each, when `snapshot_id` deletes those at `to_delete`."""
        positions = pa.concat_arrays([self.positions, to_delete])
        since = pa.concat_arrays([self.since, pa.repeat(pa.scalar(snapshot_id, pa.int64()), len(to_delete))])
        order = pc.array_sort_indices(positions)  # stable: of a row that was deleted before, the first time comes first
        positions, since = positions.take(order), since.take(order)
        is_new = pa.concat_arrays([pa.array([True]), pc.not_equal(positions.slice(1), positions.slice(0, len(positions) - 1))])
        return positions.filter(is_new), since.filter(is_new)


def deleted_rows(file: DataFile) -> DeletedRows:
    """What the delete file of a data file says."""
    if file.delete_file is None:
        return DeletedRows(file, pa.array([], pa.int64()), pa.array([], pa.int64()))
    return DeletedRows(file, *entries(file.delete_file))


def entries(file: DeleteFile) -> tuple[pa.Array, pa.Array]:
    """The positions in a delete file, ascending, and the snapshot that deleted each; one without a snapshot began with the file."""
    table = positions_table(file)
    positions = table.column(0).combine_chunks()
    known = table.column(1).combine_chunks() if table.num_columns == 2 else pa.nulls(len(positions), pa.int64())
    return positions, pc.fill_null(known, file.begin_snapshot)
