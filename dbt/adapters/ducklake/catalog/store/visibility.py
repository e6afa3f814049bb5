"""The visibility of rows in versioned tables.

Specification: "Snapshots" and "Queries".
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, or_
from sqlalchemy import Table as MetadataTable


def visible(table: MetadataTable, snapshot_id: int) -> ColumnElement[bool]:
    """Return the condition that a row of a versioned table is visible at a snapshot."""
    return (table.c.begin_snapshot <= snapshot_id) & or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > snapshot_id)
