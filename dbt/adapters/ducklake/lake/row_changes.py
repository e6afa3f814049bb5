"""Turn the positions of rows to delete into delete files, ended data files and ended inlined rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ..errors import LakeError
from ..format.files import INLINED_BASE, DataFile, EarlierDeletes, ScanPlan, WriteOptions, WrittenDeleteFile
from ..format.objects import Table
from ..spark.files.deletes import with_snapshot, write_delete_file, write_deletion_vector
from ..spark.files.storage import THREADS, remove
from ..spark.rows.deleted import deleted_rows
from ..spark.rows.positions import PositionArray, Positions, count
from .context import Context

POSITIONS_AT_ONCE = 4_000_000
"""The maximum number of positions in the delete files that are written at the same time: each needs about 50 bytes. Threads help because
most of the time is spent waiting for storage."""


def stage_deletes(context: Context, table: Table, plan: ScanPlan, positions: Positions) -> int:
    """Stage the deletion of rows.

    A file that loses its last row is ended, unless it has inlined deletes or rows of later snapshots. Any other file gets one delete file
    with all deleted positions except the inlined ones; if several snapshots deleted them, it also has the snapshot of each position
    (specification: "ducklake_delete_file"). After an error no delete file is left.

    Args:
        context: the catalog and the transaction.
        table: the table.
        plan: a scan plan of the table.
        positions: LINEAGE_FILE → positions of the rows to delete, from a scan of `plan` with lineage; row ids for inlined rows.

    Returns:
        The number of deleted rows.

    Raises:
        ConfigurationError: the lake is read-only; nothing was written.
        LakeError: the lake has an older format version (nothing was written), or `positions` has a file that is not in `plan`.
        StatementError: the transaction cannot write; nothing was written.
    """
    if positions:
        context.transaction.require_writable()
    files = {file.data_file_id: file for file in plan.files}
    options = context.transaction.write_options(table) if positions else WriteOptions()
    in_files: list[tuple[DataFile, PositionArray]] = []
    inlined: dict[str, list[int]] = {}
    for file_id, to_delete in positions.items():
        if file_id <= INLINED_BASE:
            inlined.setdefault(plan.inlined[INLINED_BASE - file_id].table_name, []).extend(to_delete.to_pylist())
        elif file_id in files:
            in_files.append((files[file_id], to_delete))
        else:
            raise LakeError(f"{plan.name}: cannot delete a row of data file {file_id}, because the scan did not read that file")
    found = _delete_files(context, table, in_files, options)
    delete_files = [file for file in found if file is not None]
    ended = [file.data_file_id for (file, _), written in zip(in_files, found, strict=True) if written is None]
    if delete_files or ended or inlined:
        context.transaction.rows.delete_rows(
            table, delete_files=delete_files, ended_files=ended, inlined=inlined, rewrite_with_id=with_snapshot
        )
    return count(positions)


def _delete_files(
    context: Context, table: Table, to_delete: Sequence[tuple[DataFile, PositionArray]], options: WriteOptions
) -> list[WrittenDeleteFile | None]:
    """Write the new delete file of each data file; None for files that can be ended. After an error no delete file is left."""
    written: list[WrittenDeleteFile] = []

    def write(file: DataFile, positions: PositionArray) -> WrittenDeleteFile | None:
        found = _delete_file(context, table, file, positions, options)
        if found is None:
            return None
        written.append(found)
        return replace(found, earlier=_deletes_of(file))

    if not to_delete:
        return []
    largest = max(len(positions) + file.deleted_count for file, positions in to_delete)
    try:
        with ThreadPoolExecutor(max(1, min(THREADS, POSITIONS_AT_ONCE // largest))) as pool:
            return list(pool.map(write, *zip(*to_delete, strict=True)))
    except BaseException:
        remove(file.path for file in written)
        raise


def _delete_file(
    context: Context, table: Table, file: DataFile, to_delete: PositionArray, options: WriteOptions
) -> WrittenDeleteFile | None:
    """Write the new delete file of `file`, or return None if the file can be ended.

    A delete file that replaces a committed one contains the snapshot of each delete. The new deletes have the next snapshot id; a retry of
    the commit under a later id rewrites the file. Such a file is never a deletion vector, which cannot store snapshots
    (`docs/decisions/0010`). An encrypted lake has no deletion vectors, because the reference implementation does not encrypt them.
    """
    deleted = deleted_rows(file)
    if deleted.leave_nothing(to_delete):
        return None
    start = context.transaction.snapshot.snapshot_id
    positions, since = deleted.with_more(to_delete, start + 1)
    if file.delete_file is None or file.delete_file.begin_snapshot > start:  # all these rows are deleted by this transaction
        if options.write_deletion_vectors and not options.encrypted:
            return write_deletion_vector(file.data_file_id, table.path, positions)
        return write_delete_file(file.path, file.data_file_id, table.path, positions, encrypted=options.encrypted)
    return write_delete_file(file.path, file.data_file_id, table.path, positions, since, encrypted=options.encrypted)


def _deletes_of(file: DataFile) -> EarlierDeletes:
    return EarlierDeletes(None if file.delete_file is None else file.delete_file.delete_file_id, file.inlined_deletes)
