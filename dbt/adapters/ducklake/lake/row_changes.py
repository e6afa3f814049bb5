"""Ending rows: turn the positions of doomed rows into delete files, ended files and ended inlined rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import LakeError
from ..spark.deletes import read_positions, write_delete_file
from ..spark.storage import remove
from ..spec.files import INLINED_BASE, DataFile, ScanPlan, WrittenDeleteFile
from ..spec.objects import Table
from .context import Context

Positions = Mapping[int, Sequence[int]]
"""LINEAGE_FILE → LINEAGE_POSITIONs, each once, in any order."""


def end_rows(context: Context, table: Table, plan: ScanPlan, positions: Positions) -> int:
    """Stage the end of the rows at `positions`, as a scan of `plan` with lineage named them.

    A file that loses its last row is ended as a whole; any other gets one delete file with all positions ever deleted from it, each with
    the snapshot that deleted it once there is more than one (specification: "ducklake_delete_file").

    Returns:
        The number of rows ended. On an error no delete file is left behind.
    """
    files = {file.data_file_id: file for file in plan.files}
    delete_files: list[WrittenDeleteFile] = []
    ended: list[int] = []
    inlined: dict[str, list[int]] = {}
    try:
        for file_id, doomed in positions.items():
            if file_id <= INLINED_BASE:
                inlined.setdefault(plan.inlined[INLINED_BASE - file_id].table_name, []).extend(doomed)
                continue
            file = files.get(file_id)
            if file is None:
                raise LakeError(f"{plan.name}: a row of data file {file_id} was to be deleted, but the scan did not read that file")
            written = _delete_file(context, table, file, doomed)
            if written is None:
                ended.append(file_id)
            else:
                delete_files.append(written)
    except BaseException:
        remove(written.path for written in delete_files)
        raise
    if delete_files or ended or inlined:
        context.transaction.delete_rows(table, delete_files=delete_files, ended_files=ended, inlined=inlined)
    return sum(len(doomed) for doomed in positions.values())


def _delete_file(context: Context, table: Table, file: DataFile, doomed: Sequence[int]) -> WrittenDeleteFile | None:
    """The new delete file of `file`, or None if no row of it is left."""
    earlier: list[tuple[int, int | None]] = list(read_positions(file.delete_file)) if file.delete_file else []
    gone = {position for position, _ in earlier} | set(file.inlined_deletes) | set(doomed)
    if len(gone) >= file.record_count and file.rows_until_snapshot is None:
        return None
    if file.delete_file is None:
        return write_delete_file(file.path, file.data_file_id, table.path, sorted(doomed), None)
    this_snapshot = context.transaction.snapshot.snapshot_id + 1
    since = {position: snapshot if snapshot is not None else file.delete_file.begin_snapshot for position, snapshot in earlier}
    since.update((position, this_snapshot) for position in doomed if position not in since)
    ordered = sorted(since)
    return write_delete_file(file.path, file.data_file_id, table.path, ordered, [since[position] for position in ordered])
