"""Plan a scan of a table in a transaction: the rows of the snapshot with the staged changes applied."""

from __future__ import annotations

from dataclasses import replace

from ...errors import ConflictError
from ...format.files import NO_LIMIT, DataFile, DeleteFile, Filters, InlinedRows, ScanPlan
from ...format.objects import Table
from ..staged import RowChanges, StagedDeleteFile, StagedFile, StagedRows
from .column_history import EMPTY_HISTORY
from .reader import SnapshotReader
from .scan_plan import CommittedRows


def staged_scan_plan(base: SnapshotReader, table: Table, changes: RowChanges, filters: Filters, next_row_id: int) -> ScanPlan:
    """Return the scan plan of a table with the staged changes to its rows.

    Args:
        base: the reader of the snapshot to which the transaction is pinned.
        table: the table, which may itself be staged.
        changes: the staged changes to its rows.
        filters: the filters of the query; committed files in which no row can pass them are left out.
        next_row_id: the row id of the first staged row, if no concurrent writer inserts.

    Raises:
        ConflictError: rows that the transaction deletes have moved, or their files have deletes that its staged delete files lack.
    """
    rows, history = CommittedRows((), ()), EMPTY_HISTORY
    if table.table_id >= 0:
        rows, history = base.committed_rows(table, filters)
    if changes.truncated:
        rows = CommittedRows((), ())
    elif _has_moved_rows(base, table, rows, changes):
        raise rows_moved(table)
    begin = base.snapshot.snapshot_id + 1
    files = [_with_staged_deletes(each, changes, begin) for each in rows.files if each.data_file_id not in changes.ended_files]
    files += [_with_staged_deletes(_data_file(each, begin, next_row_id), changes, begin) for each in changes.files]
    inlined = [_without_ended(each, changes) for each in rows.inlined]
    inlined += [_inlined_rows(each, begin, next_row_id) for each in changes.inlined]
    return replace(
        history.with_layouts(changes.layouts()).plan(table),
        files=tuple(files),
        inlined=tuple(each for each in inlined if each.row_ids),
        pruned_files=rows.pruned_files,
    )


def rows_moved(table: Table) -> ConflictError:
    """Return the error for rows to delete that are no longer where the transaction found them."""
    return ConflictError(
        f"rows of {table.schema_name}.{table.name} that this transaction deletes were moved or deleted by a concurrent transaction; "
        "nothing was written, so run it again"
    )


def _has_moved_rows(base: SnapshotReader, table: Table, rows: CommittedRows, changes: RowChanges) -> bool:
    """Return whether rows that the transaction deletes have moved, or whether their files have deletes that its delete files lack.

    Merging files and flushing inlined rows move rows at every snapshot, so the staged deletes would miss the moved rows.
    """
    if changes.delete_files and any(_has_other_deletes(base, each, changes) for each in rows.files):
        return True
    changed_files = {file_id for file_id in changes.delete_files if file_id >= 0} | changes.ended_files
    # If the transaction changed no file, there is no loop over the table's files, which may be many.
    missing = changed_files and changed_files.difference(each.data_file_id for each in rows.files)
    if missing and not (rows.pruned_files and base.has_files(table, missing)):
        return True
    inlined = {each.table_name: each.row_ids for each in rows.inlined}
    return any(not row_ids.issubset(inlined.get(name, ())) for name, row_ids in changes.ended_inlined.items())


def _has_other_deletes(base: SnapshotReader, file: DataFile, changes: RowChanges) -> bool:
    """Return whether a file has deleted rows that its staged delete file does not contain. Committing it would make those rows live again.

    A concurrent flush may have moved inlined deletes to a delete file. With `publish: run`, another node may have staged the delete file at
    an earlier snapshot than ours. A delete file that is newer than our snapshot adds no deletes to this snapshot.
    """
    staged = changes.delete_files.get(file.data_file_id)
    if staged is None or staged.file.earlier is None:
        return False
    earlier, current = staged.file.earlier, file.delete_file
    is_other = current is not None and earlier.delete_file_id != current.delete_file_id < base.snapshot.next_file_id
    return is_other or not set(earlier.inlined).issubset(file.inlined_deletes)


def _data_file(staged: StagedFile, begin: int, next_row_id: int) -> DataFile:
    file = staged.file
    return DataFile(
        staged.file_id,
        file.path,
        file.record_count,
        file.size_bytes,
        file.footer_size,
        None if file.embedded_row_ids else next_row_id + staged.row_id_offset,
        begin,
        mapping=file.mapping,
        encryption_key=file.encryption_key,
    )


def _inlined_rows(staged: StagedRows, begin: int, next_row_id: int) -> InlinedRows:
    row_ids = tuple(next_row_id + offset for offset in staged.offsets)
    return InlinedRows(staged.name, staged.columns, row_ids, (begin,) * len(row_ids), staged.rows)


def _with_staged_deletes(file: DataFile, changes: RowChanges, begin: int) -> DataFile:
    """Return a file with the delete file that is staged for it, which replaces its committed one."""
    staged: StagedDeleteFile | None = changes.delete_files.get(file.data_file_id)
    if staged is None:
        return file
    written = staged.file
    delete_file = DeleteFile(
        staged.file_id,
        written.path,
        written.format,
        written.delete_count,
        written.size_bytes,
        written.footer_size,
        begin if written.min_snapshot is None else written.min_snapshot,
        NO_LIMIT,
        encryption_key=written.encryption_key,
    )
    return replace(file, delete_file=delete_file)


def _without_ended(rows: InlinedRows, changes: RowChanges) -> InlinedRows:
    ended = changes.ended_inlined.get(rows.table_name)
    return rows if not ended else rows.only([row_id not in ended for row_id in rows.row_ids])
