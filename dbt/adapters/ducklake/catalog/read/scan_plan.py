"""Find the files, deletes and inlined rows of a table at a snapshot. The number of queries does not depend on the number of files.

Specification: "Queries", reading data. All queries of a plan run in one transaction, because compaction and deletes physically remove
catalog rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.engine import Connection

from ...format.files import DataFile, Filters, InlinedRows
from ...format.objects import Table
from ..store import tables as t
from ..store.database import Database
from ..store.inlined import read_deletes, read_inlined
from ..store.row_rules import checked
from .column_history import TableHistory, inlined_tables
from .file_rows import DELETE_COLUMNS, DELETE_LABELS, data_file, delete_file, read_mappings
from .pruning import Pruning, file_ids

_FEW_FILES = 500
"""Up to this number of files, reading all their catalog rows is faster than leaving files out in SQL."""


@dataclass(frozen=True)
class CommittedRows:
    """The committed files and inlined rows of a table at a snapshot."""

    files: tuple[DataFile, ...]
    inlined: tuple[InlinedRows, ...]
    pruned_files: int = 0
    """The number of files left out by pruning."""


def read_rows(
    connection: Connection,
    database: Database,
    table: Table,
    history: TableHistory,
    snapshot_id: int,
    filters: Filters = (),
) -> CommittedRows:
    """Return the files and inlined rows of a committed table, without the files in which provably no row passes the filters."""
    kept, pruned = _kept_rows(connection, database, table, history.retyped(table.columns), snapshot_id, filters)
    files = tuple(_data_files(connection, database, table, kept, snapshot_id))
    inlined = read_inlined(connection, inlined_tables(connection, table.table_id, history), snapshot_id)
    return CommittedRows(files, tuple(inlined), pruned)


def _kept_rows(
    connection: Connection, database: Database, table: Table, retyped: Collection[int], snapshot_id: int, filters: Filters
) -> tuple[list[Any], int]:
    """Return the catalog rows of the files in which some row may pass the filters, and the number of pruned files."""
    if not filters:
        return _file_rows(connection, table.table_id, snapshot_id), 0
    live = t.visible(t.data_file, snapshot_id)
    counted = select(func.count()).select_from(t.data_file).where(t.data_file.c.table_id == table.table_id, live)
    total: int = connection.execute(counted).scalar_one()
    if callable(filters):
        filters = filters() if total > 1 else ()
    pruning = Pruning.of(connection, table, retyped, filters) if total else None
    if pruning is None:
        return _file_rows(connection, table.table_id, snapshot_id), 0
    in_sql = total > _FEW_FILES and database.older_catalog is None
    candidates = pruning.candidates(database.dialect, live) if in_sql else None
    if candidates is None:
        rows = pruning.kept(connection, _file_rows(connection, table.table_id, snapshot_id), file_ids(table, live))
    else:
        remaining = _file_rows(connection, table.table_id, snapshot_id, t.data_file.c.data_file_id.in_(candidates))
        rows = pruning.kept(connection, remaining, candidates)
    return rows, total - len({row.data_file_id for row in rows})


def read_files(connection: Connection, database: Database, table: Table, snapshot_id: int) -> list[tuple[Any, DataFile]]:
    """Return the files of a committed table, each with its row of `ducklake_data_file`."""
    found = _file_rows(connection, table.table_id, snapshot_id)
    rows = {row.data_file_id: row for row in found}
    return list(zip(rows.values(), _data_files(connection, database, table, found, snapshot_id), strict=True))


def _file_rows(connection: Connection, table_id: int, snapshot_id: int, condition: ColumnElement[bool] | None = None) -> list[Any]:
    """Return the rows of `ducklake_data_file` for the files that meet a condition, by default all live files.

    Each row includes the delete file, or NULLs. A data file with several live delete files has several consecutive rows.
    """
    data, delete = t.data_file, t.delete_file
    joined = data.outerjoin(
        delete,
        and_(delete.c.data_file_id == data.c.data_file_id, delete.c.table_id == table_id, t.visible(delete, snapshot_id)),
    )
    query = (
        select(data, *DELETE_COLUMNS)
        .select_from(joined)
        .where(data.c.table_id == table_id, t.visible(data, snapshot_id) if condition is None else condition)
        .order_by(data.c.data_file_id, delete.c.delete_file_id)
    )
    found = connection.execute(query).all()
    checked(t.data_file, found)
    checked(t.delete_file, [row for row in found if _has_delete_file(row)], DELETE_LABELS)
    return list(found)


def _has_delete_file(row: Any) -> bool:
    return row.delete_file_id is not None or row.delete_path is not None


def _data_files(connection: Connection, database: Database, table: Table, rows: Sequence[Any], snapshot_id: int) -> Iterator[DataFile]:
    """Yield each data file once, with its deletes; the rows of one file are consecutive."""
    if not rows:
        return
    mappings = read_mappings(connection, {row.mapping_id for row in rows if row.mapping_id is not None})
    deletes = read_deletes(connection, table.table_id, snapshot_id)
    if database.older_catalog is not None:
        hidden = database.older_catalog.hidden_rows(connection, table.table_id, snapshot_id)
        deletes = {**deletes, **{file_id: sorted({*deletes.get(file_id, ()), *found}) for file_id, found in hidden.items()}}
    for _, same_file in groupby(rows, key=lambda row: row.data_file_id):
        *others, row = same_file
        file = data_file(row, table, mappings)
        partial = row.partial_max is not None and row.partial_max > snapshot_id
        deleted = deletes.get(row.data_file_id)
        if row.delete_file_id is None and not deleted and not partial:
            yield file  # calling `replace` for every file would double the time for a long list
            continue
        yield replace(
            file,
            delete_file=delete_file(row, table, snapshot_id, others),
            inlined_deletes=tuple(deleted or ()),
            rows_until_snapshot=snapshot_id if partial else None,
        )
