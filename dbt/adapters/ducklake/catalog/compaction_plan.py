"""What compaction has to know of a table: its live files with their deletes, schema versions and partitions.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ..spec.compaction import Candidate
from ..spec.files import ScanPlan
from ..spec.objects import Table
from . import tables as t
from .database import Database
from .scan_plan import TableHistory, read_history, read_rows


@dataclass(frozen=True)
class CompactionPlan:
    """The live files of a table in the order of their rows, and how those of a schema version are read."""

    candidates: tuple[Candidate, ...]
    layouts: Mapping[int, ScanPlan]
    """Schema version → a plan without files, whose columns are those of then."""


def read_compaction_plan(connection: Connection, database: Database, table: Table, snapshot_id: int) -> CompactionPlan:
    """The plan of a committed table."""
    history = read_history(connection, table.table_id)
    files = {file.data_file_id: file for file in read_rows(connection, database, table, history, snapshot_id).files}
    data, values = t.data_file, t.file_partition_value
    rows = connection.execute(
        select(data.c.data_file_id, data.c.begin_snapshot, data.c.partial_max, data.c.partition_id)
        .where(data.c.table_id == table.table_id, data.c.end_snapshot.is_(None))
        .order_by(data.c.begin_snapshot, data.c.row_id_start, data.c.data_file_id)
    ).all()
    keys: dict[int, list[str | None]] = defaultdict(list)
    query = select(values.c.data_file_id, values.c.partition_value).where(values.c.table_id == table.table_id)
    for row in connection.execute(query.order_by(values.c.data_file_id, values.c.partition_key_index)):
        keys[row.data_file_id].append(row.partition_value)
    candidates = tuple(
        Candidate(
            files[row.data_file_id],
            _version(history, row.begin_snapshot),
            row.partition_id,
            tuple(keys.get(row.data_file_id, ())),
            max(row.begin_snapshot, row.partial_max or 0),
        )
        for row in rows
        if row.data_file_id in files
    )
    layouts = {version: _layout(table, history, version) for version in {each.schema_version for each in candidates}}
    return CompactionPlan(candidates, layouts)


def _version(history: TableHistory, snapshot_id: int) -> int:
    """The schema version that a table had at a snapshot."""
    return max((version for version, begin in history.versions if begin <= snapshot_id), default=0)


def _layout(table: Table, history: TableHistory, version: int) -> ScanPlan:
    columns = history.layout(version)
    return ScanPlan(
        f"{table.schema_name}.{table.name}",
        columns,
        reused_names=history.reused_names(columns),
        retyped=history.retyped(columns),
    )
