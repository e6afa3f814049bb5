"""Ending rows: turn the positions of doomed rows into delete files, ended files and ended inlined rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import LakeError
from ..spark.deletes import positions_table, write_delete_file, write_deletion_vector
from ..spark.row_positions import Positions, ascending, count
from ..spark.storage import remove
from ..spec.files import INLINED_BASE, DataFile, ScanPlan, WrittenDeleteFile
from ..spec.objects import Table
from .context import Context


def end_rows(context: Context, table: Table, plan: ScanPlan, positions: Positions) -> int:
    """Stage the end of the rows at `positions`, as a scan of `plan` with lineage named them.

    A file that loses its last row is ended as a whole; any other gets one delete file with all positions ever deleted from it, each with
    the snapshot that deleted it once there is more than one (specification: "ducklake_delete_file").

    Returns:
        The number of rows ended. On an error no delete file is left behind.
    """
    files = {file.data_file_id: file for file in plan.files}
    vectors = bool(positions) and context.catalog.write_options(table).write_deletion_vectors
    delete_files: list[WrittenDeleteFile] = []
    ended: list[int] = []
    inlined: dict[str, list[int]] = {}
    try:
        for file_id, doomed in positions.items():
            if file_id <= INLINED_BASE:
                inlined.setdefault(plan.inlined[INLINED_BASE - file_id].table_name, []).extend(doomed.to_pylist())
                continue
            file = files.get(file_id)
            if file is None:
                raise LakeError(f"{plan.name}: a row of data file {file_id} was to be deleted, but the scan did not read that file")
            written = _delete_file(context, table, file, doomed, vectors)
            if written is None:
                ended.append(file_id)
            else:
                delete_files.append(written)
    except BaseException:
        remove(written.path for written in delete_files)
        raise
    if delete_files or ended or inlined:
        context.transaction.delete_rows(table, delete_files=delete_files, ended_files=ended, inlined=inlined)
    return count(positions)


def _delete_file(context: Context, table: Table, file: DataFile, doomed: pa.Array, vectors: bool) -> WrittenDeleteFile | None:
    """The new delete file of `file`, or None if no row of it is left.

    One that takes the place of another is never a deletion vector, which could not say when each row was deleted
    (`docs/decisions/0010`).
    """
    earlier = positions_table(file.delete_file) if file.delete_file else pa.table({"pos": pa.array([], pa.int64())})
    before = earlier.column("pos").combine_chunks()
    if len(before) + len(file.inlined_deletes) + len(doomed) >= file.record_count and file.rows_until_snapshot is None:
        gone = ascending(pa.concat_arrays([before, pa.array(file.inlined_deletes, pa.int64()), doomed]))
        if len(gone) >= file.record_count:
            return None
    if file.delete_file is None:
        write = write_deletion_vector if vectors else write_delete_file
        return write(file.path, file.data_file_id, table.path, doomed)
    known = earlier.column(1).combine_chunks() if earlier.num_columns == 2 else pa.nulls(len(before), pa.int64())
    since = pa.concat_arrays(
        [
            pc.fill_null(known, file.delete_file.begin_snapshot),
            pa.repeat(pa.scalar(context.transaction.snapshot.snapshot_id + 1, pa.int64()), len(doomed)),
        ]
    )
    everything = pa.concat_arrays([before, doomed])
    order = pc.array_sort_indices(everything)  # stable: of a row that was deleted before, the first time comes first
    everything, since = everything.take(order), since.take(order)
    is_new = pa.concat_arrays([pa.array([True]), pc.not_equal(everything.slice(1), everything.slice(0, len(everything) - 1))])
    return write_delete_file(file.path, file.data_file_id, table.path, everything.filter(is_new), since.filter(is_new))
