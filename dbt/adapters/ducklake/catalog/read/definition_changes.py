"""Which definitions changed between two snapshots, so that the others need not be read again.

In a lake of thousands of relations a run of dbt makes thousands of schema versions, of which each differs from the last by one relation.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection

from ..store import tables as t

_PARTS = (
    (t.table, "table_id"),
    (t.view, "view_id"),
    (t.column, "table_id"),
    (t.tag, "object_id"),
    (t.column_tag, "table_id"),
    (t.partition_info, "table_id"),
    (t.sort_info, "table_id"),
)


@dataclass(frozen=True)
class Changes:
    """What is different at the later snapshot."""

    schemas: bool
    """Some schema came, went or changed, or it cannot be told: everything is to be read."""
    relations: frozenset[int] = frozenset()
    """The ids of tables and views, some of which are gone or new."""


def read_changes(connection: Connection, after: int, until: int) -> Changes:
    """The changes of snapshots in (`after`, `until`]: a fixed number of queries, whose answers are as long as the list of changes.

    When `after` has expired, rows that ended since may be gone for good, and it cannot be told.
    """
    if connection.execute(select(t.snapshot.c.snapshot_id).where(t.snapshot.c.snapshot_id == after)).first() is None:
        return Changes(schemas=True)
    if connection.execute(select(t.schema.c.schema_id).where(_moved(t.schema, after, until)).limit(1)).first() is not None:
        return Changes(schemas=True)
    found: set[int] = set()
    for table, key in _PARTS:
        found.update(connection.scalars(select(table.c[key]).where(_moved(table, after, until)).distinct()))
    schemas: set[int] = set(connection.scalars(select(t.schema.c.schema_id)))
    return Changes(bool(found & schemas), frozenset(found))


def _moved(table: MetadataTable, after: int, until: int) -> ColumnElement[bool]:
    begin, end = table.c.begin_snapshot, table.c.end_snapshot
    return or_(and_(begin > after, begin <= until), and_(end > after, end <= until))
