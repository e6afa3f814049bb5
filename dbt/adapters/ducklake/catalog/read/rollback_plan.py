"""Plan the rollback or the clone of a table: its files and inlined rows at an earlier snapshot and at the current one.

Specification: the page "Queries". The rows at a snapshot are those that a scan at that snapshot reads. If files were merged later, the
scan reads the merged file without its newer rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.files import ColumnStats, DataFile, InlinedRows, WrittenFile
from ...format.objects import Table
from ..store import tables as t
from ..store.database import Database, rows_with_ids
from ..store.inlined import read_inlined
from .column_history import inlined_tables, read_history
from .file_rows import column_stats
from .scan_plan import read_files


@dataclass(frozen=True)
class EarlierFile:
    """A data file, with the deletes that apply at the earlier snapshot."""

    file: DataFile
    as_written_file: WrittenFile
    """The same file in the form that a commit registers again. If it is not registered again, it has no statistics and partition
    values."""
    partition_id: int | None
    has_snapshot_ids: bool
    """Whether its rows have embedded snapshot ids."""


@dataclass(frozen=True)
class RollbackPlan:
    """The rows of one table at the earlier snapshot (`earlier`) and at the current one (`current`)."""

    earlier: tuple[EarlierFile, ...]
    current: Mapping[int, DataFile]
    """Data file id → data file."""
    inlined_earlier: tuple[InlinedRows, ...]
    inlined_current: tuple[InlinedRows, ...]
    columns_with_other_types: frozenset[int]
    """Ids of the columns whose type at any other snapshot differs from the type at the earlier one."""


def read_rollback_plan(connection: Connection, database: Database, table: Table, earlier: int, current: int | None) -> RollbackPlan:
    """Return the plan for restoring the rows of a table at an earlier snapshot.

    Args:
        connection: a connection that reads the catalog.
        database: the catalog database.
        table: the definition of the table at the earlier snapshot.
        earlier: the id of the earlier snapshot.
        current: the id of the current snapshot. None: the table has no current rows, so all earlier rows are restored.
    """
    history = read_history(connection, table.table_id)
    earlier_files = read_files(connection, database, table, earlier)
    current_files = {} if current is None else {file.data_file_id: file for _, file in read_files(connection, database, table, current)}
    ids = [row.data_file_id for row, file in earlier_files if not _has_same_rows(file, current_files.get(row.data_file_id))]
    stats, partition_values = _column_stats(connection, ids), _partition_values(connection, ids)
    files = tuple(
        EarlierFile(
            file,
            WrittenFile(
                file.path,
                file.record_count,
                file.size_bytes,
                file.footer_size or 0,  # a placeholder: restoring replaces the path and both sizes
                tuple(stats.get(file.data_file_id, ())),
                tuple(partition_values.get(file.data_file_id, ())),
                mapping=file.mapping,
                encryption_key=file.encryption_key,
            ),
            row.partition_id,
            row.partial_max is not None,
        )
        for row, file in earlier_files
    )
    inlined = inlined_tables(connection, table.table_id, history)
    inlined_earlier = tuple(read_inlined(connection, inlined, earlier))
    inlined_current = () if current is None else tuple(read_inlined(connection, inlined, current))
    return RollbackPlan(files, current_files, inlined_earlier, inlined_current, history.retyped(table.columns))


def _has_same_rows(earlier: DataFile, current: DataFile | None) -> bool:
    """Whether the current snapshot reads the file without deletes, and the file has no rows newer than the earlier snapshot."""
    return current is not None and not current.has_deletes and earlier.rows_until_snapshot is None


def _column_stats(connection: Connection, ids: Collection[int]) -> dict[int, list[ColumnStats]]:
    stats: dict[int, list[ColumnStats]] = defaultdict(list)
    source = t.file_column_stats
    for row in rows_with_ids(connection, select(source), source.c.data_file_id, ids):
        stats[row.data_file_id].append(column_stats(row))
    return stats


def _partition_values(connection: Connection, ids: Collection[int]) -> dict[int, list[str | None]]:
    values: dict[int, list[str | None]] = defaultdict(list)
    source = t.file_partition_value
    for row in rows_with_ids(connection, select(source).order_by(source.c.partition_key_index), source.c.data_file_id, ids):
        values[row.data_file_id].append(row.partition_value)
    return values
