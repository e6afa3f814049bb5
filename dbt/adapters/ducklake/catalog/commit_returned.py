"""Files and inlined rows of an earlier snapshot in a commit: they come back with the row ids that they had.

Specification: the pages "ducklake_data_file" and "ducklake_delete_file". A file comes back as another one that begins with this snapshot,
so that each snapshot before sees what it saw; no row of the catalog names its path besides.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from ..spec.changes import Kind
from ..spec.files import ColumnStats, WrittenFile
from ..spec.objects import Table
from . import tables as t
from .column_history import read_history
from .commit_files import write_data_file, write_delete_file
from .commit_inlined import write_inlined
from .commit_state import CommitState
from .commit_stats import TableStats, read_table_stats, write_table_stats
from .staged import Returned, RowChanges, StagedFile


def write_returned(state: CommitState, table: Table, table_id: int, returned: Returned) -> None:
    """Register the files and insert the rows; no row id is new, but the statistics may have forgotten them."""
    stats = read_table_stats(state.connection, table_id)
    if returned.former_id is not None:
        _write_column_history(state, table_id, returned.former_id)
        stats = TableStats(next_row_id=read_table_stats(state.connection, returned.former_id).next_row_id)
    for each in returned.files:
        file_id = state.new_file_id()
        write_data_file(
            state,
            table,
            table_id,
            each.file,
            file_id=file_id,
            begin_snapshot=state.snapshot_id,
            row_id_start=each.row_id_start,
            partition_id=state.known_id(each.partition_id),
        )
        if each.delete_file is not None:
            write_delete_file(state, table, table_id, each.delete_file, data_file_id=file_id, begin_snapshot=state.snapshot_id)
        state.log(Kind.INSERTED_INTO_TABLE, table_id)
    if returned.inlined is not None:
        write_inlined(state, table_id, table, [returned.inlined], 0)
        state.log(Kind.INLINED_INSERT, table_id)
        if not returned.files:
            state.new_file_id()  # no file gets it: DuckDB keeps table statistics by this counter
    if returned.files or returned.inlined is not None:
        files = tuple(StagedFile(0, _known_bounds(each.file, returned.retyped), 0) for each in returned.files)
        inlined = () if returned.inlined is None else (returned.inlined,)
        write_table_stats(state, table_id, table, stats, RowChanges(files, inlined))


def _write_column_history(state: CommitState, table_id: int, former_id: int) -> None:
    """What the columns of a table ever were, as rows that no snapshot sees: its files hold them, so their ids must not be given again,
    and their names and types say how the files are read."""
    known = set()
    for row in read_history(state.connection, former_id).rows:
        values = {**asdict(row), "table_id": table_id, "begin_snapshot": state.snapshot_id, "end_snapshot": state.snapshot_id}
        if tuple(values.values()) not in known:
            known.add(tuple(values.values()))
            state.add(t.column, **values)


def _known_bounds(file: WrittenFile, retyped: frozenset[int]) -> WrittenFile:
    """The file without the bounds of columns of which it may hold another type."""
    stats = [ColumnStats(each.column_id) if each.column_id in retyped else each for each in file.column_stats]
    return replace(file, column_stats=tuple(stats))
