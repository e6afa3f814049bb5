"""What compaction has to know of a table: its live files with their deletes, schema versions and partitions.

Specification: the pages "Merge Adjacent Files" and "Rewrite Heavily Deleted Files".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ..spec.compaction import Candidate
from ..spec.files import DataFile, ScanPlan
from ..spec.objects import Table
from . import tables as t
from .column_history import read_history
from .database import Database
from .scan_plan import read_files


@dataclass(frozen=True)
class CompactionPlan:
    """The live files of a table in the order of their rows, and how those of a schema version are read."""

    candidates: tuple[Candidate, ...]
    layouts: Mapping[int, ScanPlan]
    """Schema version → a plan without files, whose columns are those of then."""


def read_compaction_plan(connection: Connection, database: Database, table: Table, snapshot_id: int) -> CompactionPlan:
    """The plan of a committed table."""
    history = read_history(connection, table.table_id)
    files = sorted(read_files(connection, database, table, snapshot_id), key=_order)
    values = t.file_partition_value
    keys: dict[int, list[str | None]] = defaultdict(list)
    query = select(values.c.data_file_id, values.c.partition_value).where(values.c.table_id == table.table_id)
    for row in connection.execute(query.order_by(values.c.data_file_id, values.c.partition_key_index)):
        keys[row.data_file_id].append(row.partition_value)
    candidates = tuple(
        Candidate(
            file,
            history.version_at(row.begin_snapshot),
            row.partition_id,
            tuple(keys.get(row.data_file_id, ())),
            max(row.begin_snapshot, row.partial_max or 0),
        )
        for row, file in files
    )
    versions = {each.schema_version for each in candidates}
    return CompactionPlan(candidates, {version: history.plan(table, history.layout(version)) for version in versions})


def _order(found: tuple[Any, DataFile]) -> tuple[int, bool, int, int]:
    """That of the reference: files without a first row id come last."""
    file = found[1]
    return file.begin_snapshot, file.row_id_start is None, file.row_id_start or 0, file.data_file_id
