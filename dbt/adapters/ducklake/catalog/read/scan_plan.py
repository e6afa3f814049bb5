"""Find the files, deletes and inlined rows of a table at a snapshot, in a number of queries that does not grow with the files.

Specification: "Queries", reading data. All queries of a plan run in one transaction, because compaction and later deletes remove catalog
rows physically.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.engine import Connection

from ...format.files import DataFile, Filters, InlinedRows
from ...format.objects import Table
from ..store import tables as t
from ..store.database import Database
from ..store.inlined import InlinedTable, has_delete_table, read_deletes, read_inlined, registered
from ..store.visibility import visible
from .column_history import TableHistory
from .file_rows import DELETE_COLUMNS, data_file, delete_file, read_mappings
from .pruning import prune


@dataclass(frozen=True)
class CommittedRows:
    """The committed files and inlined rows of a table at a snapshot."""

    files: tuple[DataFile, ...]
    inlined: tuple[InlinedRows, ...]
    pruned_files: int = 0


def read_rows(
    connection: Connection,
    database: Database,
    table: Table,
    history: TableHistory,
    snapshot_id: int,
    within: Filters = (),
) -> CommittedRows:
    """Return the files and inlined rows of a committed table; files that provably have no row `within` the filters are left out."""
    rows = _file_rows(connection, table.table_id, snapshot_id)
    kept = prune(connection, table, rows, visible(t.data_file, snapshot_id), history.retyped(table.columns), within) if within else rows
    files = tuple(_data_files(connection, database, table, kept, snapshot_id))
    names = registered(connection, [table.table_id]).get(table.table_id, [])
    inlined = [InlinedTable(name, version, history.layout(version)) for name, version in names]
    return CommittedRows(files, tuple(read_inlined(connection, database.dialect, inlined, snapshot_id)), len(rows) - len(kept))


def read_files(connection: Connection, database: Database, table: Table, snapshot_id: int) -> list[tuple[Any, DataFile]]:
    """Return the files of a committed table, each with its row of `ducklake_data_file`."""
    rows = _file_rows(connection, table.table_id, snapshot_id)
    return list(zip(rows, _data_files(connection, database, table, rows, snapshot_id), strict=True))


def _file_rows(connection: Connection, table_id: int, snapshot_id: int) -> list[Any]:
    data, delete = t.data_file, t.delete_file
    joined = data.outerjoin(
        delete,
        and_(delete.c.data_file_id == data.c.data_file_id, delete.c.table_id == table_id, visible(delete, snapshot_id)),
    )
    query = (
        select(data, *DELETE_COLUMNS)
        .select_from(joined)
        .where(data.c.table_id == table_id, visible(data, snapshot_id))
        .order_by(data.c.data_file_id, delete.c.delete_file_id)
    )
    rows = {row.data_file_id: row for row in connection.execute(query)}  # if there are two delete files, the newer wins
    return list(rows.values())


def _data_files(connection: Connection, database: Database, table: Table, rows: Sequence[Any], snapshot_id: int) -> Iterator[DataFile]:
    if not rows:
        return
    mappings = read_mappings(connection, database, {row.mapping_id for row in rows if row.mapping_id is not None})
    deletes: Mapping[int, list[int]] = {}
    if has_delete_table(connection, database.schema, table.table_id):
        deletes = read_deletes(connection, table.table_id, snapshot_id)
    if database.older is not None:
        hidden = database.older.hidden_rows(connection, table.table_id, snapshot_id)
        deletes = {**deletes, **{file_id: sorted({*deletes.get(file_id, ()), *found}) for file_id, found in hidden.items()}}
    for row in rows:
        partial = row.partial_max is not None and row.partial_max > snapshot_id
        yield replace(
            data_file(row, table, mappings),
            delete_file=delete_file(row, table, snapshot_id),
            inlined_deletes=tuple(deletes.get(row.data_file_id, ())),
            rows_until_snapshot=snapshot_id if partial else None,
        )
