"""Ending rows: turn the positions of rows to delete into delete files, ended files and ended inlined rows."""

from __future__ import annotations

from ..errors import LakeError
from ..format.files import INLINED_BASE, DataFile, ScanPlan, WrittenDeleteFile
from ..format.objects import Table
from ..spark.files.deletes import redated, write_delete_file, write_deletion_vector
from ..spark.files.storage import remove
from ..spark.rows.deleted import deleted_rows
from ..spark.rows.positions import PositionArray, Positions, count
from .context import Context


def end_rows(context: Context, table: Table, plan: ScanPlan, positions: Positions) -> int:
    """Stage the end of the rows at `positions`, as a scan of `plan` with lineage named them.

    A file that loses its last row is ended as a whole; any other gets one delete file with all positions ever deleted from it, each with
    the snapshot that deleted it once there is more than one (specification: "ducklake_delete_file").

    Returns:
        The number of rows ended. On an error no delete file is left behind.

    Raises:
        ConfigurationError, LakeError, StatementError: the lake cannot be changed, and nothing was written.
    """
    if positions:
        context.transaction.require_writable()
    files = {file.data_file_id: file for file in plan.files}
    vectors = bool(positions) and context.transaction.write_options(table).write_deletion_vectors
    delete_files: list[WrittenDeleteFile] = []
    ended: list[int] = []
    inlined: dict[str, list[int]] = {}
    try:
        for file_id, to_delete in positions.items():
            if file_id <= INLINED_BASE:
                inlined.setdefault(plan.inlined[INLINED_BASE - file_id].table_name, []).extend(to_delete.to_pylist())
                continue
            file = files.get(file_id)
            if file is None:
                raise LakeError(f"{plan.name}: a row of data file {file_id} was to be deleted, but the scan did not read that file")
            written = _delete_file(context, table, file, to_delete, vectors)
            if written is None:
                ended.append(file_id)
            else:
                delete_files.append(written)
    except BaseException:
        remove(written.path for written in delete_files)
        raise
    if delete_files or ended or inlined:
        context.transaction.rows.delete_rows(table, delete_files=delete_files, ended_files=ended, inlined=inlined, redate=redated)
    return count(positions)


def _delete_file(context: Context, table: Table, file: DataFile, to_delete: PositionArray, vectors: bool) -> WrittenDeleteFile | None:
    """The new delete file of `file`, or None if no row of it is left.

    One that takes the place of a committed one is never a deletion vector, which could not say when each row was deleted
    (`docs/decisions/0010`). It names the snapshot that follows; a commit that becomes a later one has it written again.
    """
    deleted = deleted_rows(file)
    if deleted.leave_nothing(to_delete):
        return None
    start = context.transaction.snapshot.snapshot_id
    positions, since = deleted.with_more(to_delete, start + 1)
    if file.delete_file is None or file.delete_file.begin_snapshot > start:  # all these rows are deleted by this transaction
        write = write_deletion_vector if vectors else write_delete_file
        return write(file.path, file.data_file_id, table.path, positions)
    return write_delete_file(file.path, file.data_file_id, table.path, positions, since)
