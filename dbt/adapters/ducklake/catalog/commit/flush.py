"""Commit a flush: files replace inlined rows and inlined deletes.

Specification: the page "Flush Inlined Data". Time travel works through the snapshot ids in the files: `begin_snapshot` is the smallest of
them, `partial_max` the greatest. Concurrent writers may inline more rows after the flush has read the table. Such rows have a later
`begin_snapshot` and stay in the catalog.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import delete, update

from ...errors import ConflictError
from ...format.changes import Kind
from ...format.files import FlushedFile
from ...format.objects import Table
from ..staged import Flush
from ..store import tables as t
from ..store.inlined import MAX_DROPPED_TABLES, data_table, delete_table, drop_table, emptied
from .files import FileEntry, supersede_delete_files, write_data_file, write_delete_file
from .state import CommitState
from .stats import double_columns, float_columns, without_bounds_of


def drop_emptied_tables(state: CommitState) -> None:
    """Drop inlined-data tables of all tables that earlier flushes have emptied, except the newest, into which DuckDB inserts.

    One flush drops up to `MAX_DROPPED_TABLES`, so that thousands do not exhaust PostgreSQL's locks. The next ones drop the others.

    DuckDB, too, does so with each flush, because a table that is altered again and again would otherwise keep one for each layout.

    DuckDB caches the list of these tables by schema version, so the schema version must increase. A DuckDB process that has used time
    travel to an older version keeps its cached list and fails until it attaches again. So a table is dropped by the flush after the one
    that empties it; DuckDB's own flush drops it immediately.
    """
    source = t.inlined_data_tables
    for row in emptied(state.connection, MAX_DROPPED_TABLES):
        state.connection.execute(delete(source).where(source.c.table_id == row.table_id, source.c.schema_version == row.schema_version))
        drop_table(state.connection, row.table_name)
        state.increase_schema_version()


def write_flush(state: CommitState, table: Table, flush: Flush) -> None:
    """Register the files of a flush and remove their rows and deletes from the catalog.

    Args:
        state: the attempt to commit.
        table: the table's definition, with its id in the catalog.
        flush: the files, and the rows and deletes that they replace.

    Raises:
        ConflictError: inlined rows or deletes changed since they were read.
    """
    _remove_rows(state, table, flush)
    doubles = double_columns(state, table)
    for flushed in flush.files:
        file = without_bounds_of(flushed.file, doubles & float_columns(flushed.columns))  # see the reason in `double_columns`
        _write_file(state, table, replace(flushed, file=file))
    write_flushed_deletes(state, table, flush)
    added = sum(flushed.file.size_bytes for flushed in flush.files)
    statement = update(t.table_stats).where(t.table_stats.c.table_id == table.table_id)
    state.connection.execute(statement.values(file_size_bytes=t.table_stats.c.file_size_bytes + added))
    if flush.delete_files:  # not for those of the flushed files: DuckDB would refuse an insert that it began before
        state.log(Kind.DELETED_FROM_TABLE, table.table_id)


def _remove_rows(state: CommitState, table: Table, flush: Flush) -> None:
    for name, expected in flush.rows.items():
        source = data_table(state.connection, name)
        removed = state.connection.execute(delete(source).where(source.c.begin_snapshot <= flush.until)).rowcount
        _require_unchanged(removed == expected, table)


def write_flushed_deletes(state: CommitState, table: Table, flush: Flush) -> None:
    """Log the flush, register the delete files of committed data files, and remove their inlined deletes from the catalog.

    The arguments are those of `write_flush`.

    Raises:
        ConflictError: inlined deletes changed since they were read.
    """
    state.log(Kind.INLINE_FLUSH, table.table_id)
    superseded = supersede_delete_files(state, table, [file.data_file_id for file in flush.delete_files])
    for file in flush.delete_files:
        assert file.min_snapshot is not None
        old = superseded.get(file.data_file_id)
        write_delete_file(
            state,
            table,
            file,
            data_file_id=file.data_file_id,
            begin_snapshot=file.min_snapshot,
            partial_max=file.max_snapshot,
            end_snapshot=None if old is None else old.end_snapshot,
        )
    if flush.deletes:
        entries = delete_table(state.connection, table.table_id)
        removed = state.connection.execute(delete(entries).where(entries.c.begin_snapshot <= flush.until)).rowcount
        # There may be more: the flush does not read entries of data files that the catalog no longer has.
        _require_unchanged(removed >= flush.deletes, table)


def _require_unchanged(condition: bool, table: Table) -> None:
    if not condition:
        raise ConflictError(
            f"inlined rows of {table.schema_name}.{table.name} have changed since they were read; nothing was written, so run it again"
        )


def _write_file(state: CommitState, table: Table, flushed: FlushedFile) -> None:
    file_id = state.new_file_id()
    entry = FileEntry(
        file_id,
        begin_snapshot=flushed.begin_snapshot,
        row_id_start=flushed.first_row_id,
        partition_id=flushed.partition_id,
        partial_max=flushed.partial_max,
    )
    write_data_file(state, table, flushed.file, entry)
    deletes = flushed.delete_file
    if deletes is not None:
        assert deletes.min_snapshot is not None
        write_delete_file(state, table, deletes, data_file_id=file_id, begin_snapshot=deletes.min_snapshot)
