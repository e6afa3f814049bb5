"""Plan the change feed of a table: find the files and inlined rows that changed in a range of snapshots.

Specification: the page "Data Change Feed". Rows were inserted if their file or inlined row began in the range, even if it has ended since.
Rows were deleted if their file or inlined row ended, or if a delete file or an inlined delete has their position.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import and_, func, or_, select
from sqlalchemy.engine import Connection

from ...format.files import ChangePlan, DataFile, InlinedRows
from ...format.objects import Table
from ..store import tables as t
from ..store.database import rows_with_ids
from ..store.inlined import find_delete_table, read_versions
from ..store.row_rules import checked
from .column_history import TableHistory, inlined_tables
from .file_rows import DELETE_COLUMNS, DELETE_LABELS, data_file, delete_file, read_mappings

_LABELS = {**DELETE_LABELS, "data_file_id": "data_file_id", "partial_max": "partial_max", "end_snapshot": "delete_end_snapshot"}
"""As `DELETE_LABELS`, for the columns that `_delete_files` reads."""


def read_changes(connection: Connection, table: Table, history: TableHistory, start: int, end: int) -> ChangePlan:
    """Return the plan for the snapshots from `start` through `end`; `table` is the definition at `end`.

    Raises:
        LakeError: a row is damaged.
    """
    delete_files = _delete_files(connection, table, end)
    inlined_deletes = _inlined_deletes(connection, table.table_id, end)
    first_new = connection.scalar(select(func.max(t.snapshot.c.next_file_id)).where(t.snapshot.c.snapshot_id < start)) or 0
    with_deletes = {
        *(file_id for file_id, files in delete_files.items() if any(_may_reach(row, start, first_new) for row in files)),
        *(file_id for file_id, snapshots in inlined_deletes.items() if any(snapshot >= start for snapshot in snapshots.values())),
    }
    rows = _data_files(connection, table.table_id, start, end, with_deletes)
    mappings = read_mappings(connection, {row.mapping_id for row in rows if row.mapping_id is not None})
    files = [(row, data_file(row, table, mappings)) for row in rows]
    deletes = {file_id: tuple(filter(None, (delete_file(row, table, end) for row in group))) for file_id, group in delete_files.items()}
    begun, ended = _inlined(connection, table, history, start, end)
    plan = history.plan(table)
    end_snapshots = {
        row.data_file_id: row.end_snapshot for row, _ in files if row.end_snapshot is not None and start <= row.end_snapshot <= end
    }
    inserted_files = tuple(_inserted(row, file, start, end) for row, file in files if _has_new_rows(row, start, end))
    ended_files = tuple(
        _remaining(
            table,
            file,
            end_snapshots[file.data_file_id],
            delete_files.get(file.data_file_id, ()),
            inlined_deletes.get(file.data_file_id, {}),
        )
        for _, file in files
        if file.data_file_id in end_snapshots
    )
    return ChangePlan(
        inserted=replace(plan, files=inserted_files, inlined=begun),
        ended=replace(plan, files=ended_files, inlined=ended),
        end_snapshots=end_snapshots,
        files_with_deletes=replace(plan, files=tuple(file for _, file in files if file.data_file_id in with_deletes)),
        delete_files={file_id: deletes.get(file_id, ()) for file_id in with_deletes},
        inlined_deletes={file_id: inlined_deletes.get(file_id, {}) for file_id in with_deletes},
    )


def _data_files(connection: Connection, table_id: int, start: int, end: int, with_deletes: Collection[int]) -> list[Any]:
    data = t.data_file
    began = and_(data.c.begin_snapshot <= end, or_(data.c.begin_snapshot >= start, data.c.partial_max >= start))
    condition = and_(data.c.table_id == table_id, or_(began, data.c.end_snapshot.between(start, end)))
    rows = {row.data_file_id: row for row in connection.execute(select(data).where(condition))}
    others = rows_with_ids(connection, select(data), data.c.data_file_id, sorted(set(with_deletes) - rows.keys()))
    rows.update({row.data_file_id: row for row in others})
    checked(data, list(rows.values()))
    return [rows[file_id] for file_id in sorted(rows)]


def _has_new_rows(row: Any, start: int, end: int) -> bool:
    return bool(row.begin_snapshot <= end and max(row.begin_snapshot, row.partial_max or 0) >= start)


def _inserted(row: Any, file: DataFile, start: int, end: int) -> DataFile:
    """Return the file, restricted to the rows that the range inserted."""
    later = row.partial_max is not None and row.partial_max > end
    earlier = row.partial_max is not None and row.begin_snapshot < start
    return replace(file, rows_until_snapshot=end if later else None, rows_from_snapshot=start if earlier else None)


def _remaining(table: Table, file: DataFile, ended: int, deletes: Sequence[Any], inlined: Mapping[int, int]) -> DataFile:
    """Return the file with the deletes that precede its end; `deletes` has all its rows of `ducklake_delete_file`."""
    prior = [row for row in deletes if row.delete_begin_snapshot < ended]
    *others, last = [row for row in prior if row.delete_end_snapshot is None or row.delete_end_snapshot >= ended] or prior[-1:] or [None]
    return replace(
        file,
        delete_file=None if last is None else delete_file(last, table, ended - 1, others),
        inlined_deletes=tuple(sorted(position for position, snapshot in inlined.items() if snapshot < ended)),
    )


def _delete_files(connection: Connection, table: Table, end: int) -> dict[int, list[Any]]:
    """Return data file id → its rows of `ducklake_delete_file`, oldest first, including replaced ones."""
    source = t.delete_file
    query = (
        select(source.c.data_file_id, source.c.partial_max, source.c.end_snapshot.label("delete_end_snapshot"), *DELETE_COLUMNS)
        .where(source.c.table_id == table.table_id, source.c.begin_snapshot <= end)
        .order_by(source.c.begin_snapshot, source.c.delete_file_id)
    )
    by_file: dict[int, list[Any]] = defaultdict(list)
    for row in checked(source, connection.execute(query).all(), _LABELS):
        by_file[row.data_file_id].append(row)
    return by_file


def _may_reach(row: Any, start: int, first_new: int) -> bool:
    """Whether a delete file may have entries from snapshot `start` on.

    A flush can leave `partial_max` NULL; all files that were written from `start` on have ids of at least `first_new`.
    """
    newest = row.partial_max if row.partial_max is not None else start if row.delete_file_id >= first_new else 0
    return bool(max(row.delete_begin_snapshot, newest) >= start)


def _inlined_deletes(connection: Connection, table_id: int, end: int) -> dict[int, dict[int, int]]:
    """Return data file id → position → the first snapshot that deleted it."""
    by_file: dict[int, dict[int, int]] = defaultdict(dict)
    source = find_delete_table(connection, table_id)
    if source is not None:
        position = source.c.file_id, source.c.row_id
        query = select(*position, func.min(source.c.begin_snapshot)).where(source.c.begin_snapshot <= end).group_by(*position)
        for row in connection.execute(query):
            by_file[row[0]][row[1]] = row[2]
    return by_file


def _inlined(
    connection: Connection, table: Table, history: TableHistory, start: int, end: int
) -> tuple[tuple[InlinedRows, ...], tuple[InlinedRows, ...]]:
    """Return the inlined rows that began in the range, and those that ended in it."""
    begun: list[InlinedRows] = []
    ended: list[InlinedRows] = []
    for inlined in inlined_tables(connection, table.table_id, history):
        versions = read_versions(connection, inlined, end, start)
        for snapshots, parts in ((versions.begin_snapshots, begun), (versions.end_snapshots, ended)):
            in_range = [(index, snapshot) for index, snapshot in enumerate(snapshots) if snapshot is not None and start <= snapshot <= end]
            if in_range:
                parts.append(
                    InlinedRows(
                        inlined.name,
                        inlined.columns,
                        [versions.row_ids[index] for index, _ in in_range],
                        [snapshot for _, snapshot in in_range],
                        [versions.rows[index] for index, _ in in_range],
                    )
                )
    return tuple(begun), tuple(ended)
