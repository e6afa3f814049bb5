"""Plan the rollback or the clone of a table: its files and inlined rows at an earlier snapshot and at the current one.

Specification: "Queries", reading data. The rows at a snapshot are those that a scan at that snapshot reads: if files have been merged
since, the merged file without its newer rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.files import ColumnStats, DataFile, InlinedRows, WrittenFile
from ...format.objects import Table
from ..store import tables as t
from ..store.database import Database, batches
from .column_history import read_history
from .file_rows import column_stats
from .scan_plan import read_files, read_rows


@dataclass(frozen=True)
class FormerFile:
    """A data file, with the deletes that apply at the earlier snapshot."""

    file: DataFile
    written: WrittenFile
    """The same file, as a commit would register it again; without statistics if they cannot be needed."""
    partition_id: int | None
    has_snapshot_ids: bool
    """Whether its rows have embedded snapshot ids."""


@dataclass(frozen=True)
class RollbackPlan:
    """The rows of one table at the earlier snapshot (`earlier`) and at the current one (`current`)."""

    earlier: tuple[FormerFile, ...]
    current: Mapping[int, DataFile]
    """Data file id → data file."""
    inlined_earlier: tuple[InlinedRows, ...]
    inlined_current: tuple[InlinedRows, ...]
    retyped: frozenset[int]
    """Ids of columns that had, at any snapshot, another type than at the earlier one."""


def read_rollback_plan(connection: Connection, database: Database, table: Table, earlier: int, current: int | None) -> RollbackPlan:
    """Return the plan for restoring a table from the snapshot `current` to `earlier`; `table` is its definition at `earlier`.

    If `current` is None, the plan restores all rows, as for a table without rows.
    """
    history = read_history(connection, table.table_id)
    former = read_files(connection, database, table, earlier)
    present = {} if current is None else {file.data_file_id: file for _, file in read_files(connection, database, table, current)}
    ids = [row.data_file_id for row, file in former if not _has_same_rows(file, present.get(row.data_file_id))]
    stats, values = _column_stats(connection, database, ids), _partition_values(connection, database, ids)
    files = tuple(
        FormerFile(
            file,
            WrittenFile(
                file.path,
                file.record_count,
                file.size_bytes,
                file.footer_size or 0,
                tuple(stats.get(file.data_file_id, ())),
                tuple(values.get(file.data_file_id, ())),
                mapping=file.mapping,
                encryption_key=file.encryption_key,
            ),
            row.partition_id,
            row.partial_max is not None,
        )
        for row, file in former
    )
    inlined_earlier = read_rows(connection, database, table, history, earlier).inlined
    inlined_current = () if current is None else read_rows(connection, database, table, history, current).inlined
    return RollbackPlan(files, present, inlined_earlier, inlined_current, history.retyped(table.columns))


def _has_same_rows(earlier: DataFile, current: DataFile | None) -> bool:
    """Whether the file still exists, without deleted rows and without rows newer than the earlier snapshot."""
    return current is not None and not current.has_deletes and earlier.rows_until_snapshot is None


def _column_stats(connection: Connection, database: Database, ids: Collection[int]) -> dict[int, list[ColumnStats]]:
    found: dict[int, list[ColumnStats]] = defaultdict(list)
    for row in _rows_of_files(connection, database, t.file_column_stats, ids):
        found[row.data_file_id].append(column_stats(row))
    return found


def _partition_values(connection: Connection, database: Database, ids: Collection[int]) -> dict[int, list[str | None]]:
    rows = _rows_of_files(connection, database, t.file_partition_value, ids)
    found: dict[int, list[str | None]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.data_file_id, row.partition_key_index)):
        found[row.data_file_id].append(row.partition_value)
    return found


def _rows_of_files(connection: Connection, database: Database, source: Any, ids: Collection[int]) -> list[Any]:
    found: list[Any] = []
    for batch in batches(ids, database.dialect.batch_size):
        found += connection.execute(select(source).where(source.c.data_file_id.in_(batch))).all()
    return found
