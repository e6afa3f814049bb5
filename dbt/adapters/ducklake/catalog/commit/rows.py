"""Row changes in a commit: new data files, delete files, inlined rows, and the ends of old ones.

Specification: the pages "ducklake_data_file", "ducklake_delete_file", "ducklake_snapshot_changes".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ...errors import ConflictError, LakeError
from ...format.changes import Kind
from ...format.files import ColumnStats, WrittenDeleteFile, WrittenFile
from ...format.objects import Table
from ..read.column_history import read_history
from ..read.overlay import rows_moved
from ..read.row_state import TableStats, read_table_stats
from ..staged import RestoredRows, RowChanges, StagedFile, StagedRows
from ..store import tables as t
from ..store.inlined import registered
from .compaction import write_compaction
from .files import FileEntry, supersede_delete_files, write_data_file, write_delete_file
from .flush import drop_emptied_tables, write_flush, write_flushed_deletes
from .inlined import end_rows, write_inlined
from .state import CommitState
from .stats import (
    columns_with_bounds,
    double_columns,
    earlier_float_columns,
    with_rounding,
    without_bounds_of,
    without_retyped_bounds,
    write_table_stats,
)


def write_rows(state: CommitState, next_row_ids: Mapping[int, int]) -> None:
    """Write all staged row changes.

    Args:
        state: the attempt to commit.
        next_row_ids: table id → the row id that the transaction assumed for the first row that it inserts.

    Raises:
        ConflictError: a concurrent transaction moved or deleted the same rows, or took the row ids.
    """
    if any(changes.flush is not None and changes.flush.rows for changes in state.staged.rows.values()):
        drop_emptied_tables(state)
    for staged_id, changes in state.staged.rows.items():
        if not changes.has_changes:
            continue
        table = replace(state.table(staged_id), table_id=state.catalog_id(staged_id))
        if changes.truncated:
            _end_everything(state, table)
        else:
            _end_files(state, table, changes)
            _end_inlined(state, table, changes)
        file_ids = {staged.file_id: state.new_file_id() for staged in changes.files}
        _write_delete_files(state, table, changes, file_ids)
        if changes.flush is not None and (changes.truncated or changes.restored is not None):
            write_flushed_deletes(state, table, changes.flush)
        elif changes.flush is not None:
            write_flush(state, table, changes.flush)
        if changes.compaction is not None:
            write_compaction(state, table, changes.compaction)
        if changes.restored is not None:
            _write_restored(state, table, changes.restored)
        if changes.adds_rows:
            changes = without_retyped_bounds(table, changes)
            stats = read_table_stats(state.connection, table.table_id)
            _require_row_ids(table, changes, stats, next_row_ids.get(staged_id))
            _write_files(state, table, changes, file_ids, stats)
            if changes.inlined:
                _write_inlined(state, table, changes.inlined, stats.next_row_id, with_files=bool(changes.files))
            write_table_stats(state, table, stats, changes)


def _end_everything(state: CommitState, table: Table) -> None:
    """End all data files and inlined rows of a table."""
    if state.end(t.data_file, t.data_file.c.table_id, [table.table_id]):
        state.log(Kind.DELETED_FROM_TABLE, table.table_id)
    ended = 0
    for name, _ in registered(state.connection, table.table_id):
        ended += end_rows(state.connection, name, state.snapshot_id)
    if ended:
        state.log(Kind.INLINED_DELETE, table.table_id)


def _end_files(state: CommitState, table: Table, changes: RowChanges) -> None:
    if not changes.ended_files:
        return
    ended = state.end(t.data_file, t.data_file.c.data_file_id, changes.ended_files, t.data_file.c.table_id == table.table_id)
    if ended != len(changes.ended_files):
        raise rows_moved(table)
    state.log(Kind.DELETED_FROM_TABLE, table.table_id)


def _end_inlined(state: CommitState, table: Table, changes: RowChanges) -> None:
    for name, row_ids in changes.ended_inlined.items():
        if not row_ids:
            continue
        if end_rows(state.connection, name, state.snapshot_id, sorted(row_ids)) != len(row_ids):
            raise rows_moved(table)
        state.log(Kind.INLINED_DELETE, table.table_id)


def _write_delete_files(state: CommitState, table: Table, changes: RowChanges, file_ids: Mapping[int, int]) -> None:
    if not changes.delete_files:  # building the statement takes longer than most commits without it
        return
    committed = [file_id for file_id in changes.delete_files if file_id >= 0]
    superseded = supersede_delete_files(state, table, committed)
    for file_id, staged in changes.delete_files.items():
        begin, partial_max = _lifetime(state, staged.file, superseded.get(file_id))
        target = file_ids.get(file_id, file_id)
        write_delete_file(state, table, staged.file, data_file_id=target, begin_snapshot=begin, partial_max=partial_max)
    if committed:
        state.log(Kind.DELETED_FROM_TABLE, table.table_id)


def _lifetime(state: CommitState, file: WrittenDeleteFile, old: Any) -> tuple[int, int | None]:
    """Return (begin_snapshot, partial_max) of a delete file: its smallest and greatest snapshot, if it contains earlier deletes too."""
    started = state.base.snapshot.snapshot_id
    earlier = file.min_snapshot is not None and file.min_snapshot <= started
    if old is None and not earlier:
        return state.snapshot_id, None
    if file.min_snapshot is None or file.max_snapshot is None:
        raise LakeError(
            f"delete file {file.path} replaces an earlier one but has no snapshot ids; write it with the snapshot ids of all its rows"
        )
    begin = file.min_snapshot if old is None else min(file.min_snapshot, old.begin_snapshot)
    return begin, file.max_snapshot


def _write_files(
    state: CommitState,
    table: Table,
    changes: RowChanges,
    file_ids: Mapping[int, int],
    stats: TableStats,
) -> None:
    for staged in changes.files:
        entry = FileEntry(
            file_ids[staged.file_id],
            begin_snapshot=state.snapshot_id,
            row_id_start=stats.next_row_id + staged.row_id_offset,
            partition_id=state.known_id(staged.partition_id),
        )
        write_data_file(state, table, staged.file, entry)
        state.log(Kind.INSERTED_INTO_TABLE, table.table_id)


def _write_inlined(state: CommitState, table: Table, staged: Sequence[StagedRows], first_row_id: int, *, with_files: bool) -> None:
    write_inlined(state, table, staged, first_row_id)
    state.log(Kind.INLINED_INSERT, table.table_id)
    if not with_files:
        state.new_file_id()  # DuckDB caches table statistics by this counter, so it must increase without a file too


def _require_row_ids(table: Table, changes: RowChanges, stats: TableStats, assumed: int | None) -> None:
    """Require that row ids in the files of this transaction are still free; a row inserted and then updated has its assumed row id."""
    embedded = any(staged.file.embedded_row_ids for staged in changes.files)
    if embedded and assumed is not None and assumed != stats.next_row_id:
        raise ConflictError(
            f"a concurrent transaction inserted into {table.schema_name}.{table.name} and took the row ids that this one "
            "wrote into its files; nothing was written, so run it again"
        )


def _write_restored(state: CommitState, table: Table, restored: RestoredRows) -> None:
    """Register restored files and insert restored inlined rows. They keep their row ids; the table statistics are widened."""
    stats = read_table_stats(state.connection, table.table_id)
    if restored.original_id is not None:
        _write_column_history(state, table, restored.original_id)
        stats = TableStats(next_row_id=read_table_stats(state.connection, restored.original_id).next_row_id)
    earlier_floats = earlier_float_columns(state, table.table_id, *(() if restored.original_id is None else (restored.original_id,)))
    floats = double_columns(state, table) & earlier_floats
    for each in restored.files:
        file_id = state.new_file_id()
        entry = FileEntry(file_id, state.snapshot_id, each.row_id_start, state.known_id(each.partition_id))
        write_data_file(state, table, without_bounds_of(each.file, floats), entry)
        if each.delete_file is not None:
            write_delete_file(state, table, each.delete_file, data_file_id=file_id, begin_snapshot=state.snapshot_id)
        state.log(Kind.INSERTED_INTO_TABLE, table.table_id)
    if restored.inlined is not None:
        _write_inlined(state, table, [restored.inlined], 0, with_files=bool(restored.files))
    if restored.files or restored.inlined is not None:
        exact = columns_with_bounds(state, table.table_id if restored.original_id is None else restored.original_id)
        known = (with_rounding(_known_bounds(each.file, restored.retyped), table.columns, exact) for each in restored.files)
        files = tuple(StagedFile(0, file, 0) for file in known)
        inlined = () if restored.inlined is None else (restored.inlined,)
        write_table_stats(state, table, stats, RowChanges(files, inlined))


def _write_column_history(state: CommitState, table: Table, original_id: int) -> None:
    """Copy the column history of the dropped or cloned table as rows that no snapshot sees.

    The files contain these columns, so their ids must not be reused, and their names and types are needed to read the files.

    Raises:
        ConflictError: concurrent maintenance has removed the dropped table from the catalog.
    """
    known: set[tuple[Any, ...]] = set()
    for row in read_history(state.connection, original_id).rows:
        values = {**asdict(row), "table_id": table.table_id, "begin_snapshot": state.snapshot_id, "end_snapshot": state.snapshot_id}
        if tuple(values.values()) not in known:
            known.add(tuple(values.values()))
            state.add(t.column, **values)
    if not known:
        raise ConflictError(
            f"the table whose rows {table.schema_name}.{table.name} gets was dropped, and its last snapshot has expired since; "
            "nothing was written, so run it again"
        )


def _known_bounds(file: WrittenFile, retyped: frozenset[int]) -> WrittenFile:
    """Return the file without the bounds of columns that it may contain in another type."""
    stats = [ColumnStats(each.column_id) if each.column_id in retyped else each for each in file.column_stats]
    return replace(file, column_stats=tuple(stats))
