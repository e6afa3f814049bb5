"""What a transaction or a commit needs to know about a table's committed rows: whether it has any, its statistics, the size of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from ..store import tables as t
from ..store.database import Database
from ..store.inlined import registered, with_rows
from ..store.row_rules import checked

_MIN_ROWS = 10_000
"""`row_bytes` ignores files with fewer rows, because they are mostly overhead."""


@dataclass(frozen=True)
class TableStats:
    """A row of `ducklake_table_stats`; `exists` is false before the first insert."""

    record_count: int = 0
    next_row_id: int = 0
    size_bytes: int = 0
    exists: bool = False


def read_table_stats(connection: Connection, table_id: int) -> TableStats:
    """Return the stored statistics of a table, or zeros.

    Raises:
        LakeError: the row is damaged.
    """
    row = connection.execute(select(t.table_stats).where(t.table_stats.c.table_id == table_id)).first()
    if row is None:
        return TableStats()
    checked(t.table_stats, [row])
    return TableStats(row.record_count, row.next_row_id, row.file_size_bytes, True)


def has_rows(connection: Connection, table_id: int, snapshot_id: int) -> bool:
    """Whether a table has a visible data file or inlined row; a file whose rows are all deleted counts."""
    query = select(t.data_file.c.data_file_id).where(t.data_file.c.table_id == table_id, t.visible(t.data_file, snapshot_id))
    if connection.execute(query.limit(1)).first() is not None:
        return True
    return bool(with_rows(connection, [name for name, _ in registered(connection, table_id)], snapshot_id))


def next_row_id(database: Database, table_id: int) -> int:
    """Return the first row id of the next file of a table; 0 for a table that never had rows.

    Raises:
        LakeError: the statistics of the table are damaged.
    """
    with database.reading() as connection:
        return read_table_stats(connection, table_id).next_row_id


def row_bytes(database: Database, table_id: int, snapshot_id: int) -> float | None:
    """Return the average size in bytes of a row in a table's data files, footers excluded; None if no file has `_MIN_ROWS` rows."""
    data = t.data_file
    totals = select(func.sum(data.c.file_size_bytes - func.coalesce(data.c.footer_size, 0)), func.sum(data.c.record_count))
    query = totals.where(data.c.table_id == table_id, data.c.record_count >= _MIN_ROWS, t.visible(data, snapshot_id))
    size: Any
    rows: Any
    with database.reading() as connection:
        size, rows = connection.execute(query).one()
    return float(size) / float(rows) if rows else None
