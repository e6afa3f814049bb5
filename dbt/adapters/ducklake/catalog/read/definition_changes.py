"""Find the definitions that changed between two snapshots, so that the others need not be read again.

In a lake with thousands of relations, a dbt run creates thousands of schema versions, and each differs from the last by one relation.
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
    """The definitions that are different at the later snapshot."""

    schemas: bool
    """Whether everything must be read: a schema was created, dropped or changed, or the changes are not known."""
    relations: frozenset[int] = frozenset()
    """The ids of changed, new and dropped tables and views."""


def read_changes(connection: Connection, after: int, until: int) -> Changes:
    """Return the changes of snapshots in (`after`, `until`], in a fixed number of queries with results in proportion to the changes.

    If `after` has expired, rows that ended since may have been removed, so the changes are not known.
    """
    if connection.execute(select(t.snapshot.c.snapshot_id).where(t.snapshot.c.snapshot_id == after)).first() is None:
        return Changes(schemas=True)
    if connection.execute(select(t.schema.c.schema_id).where(_began_or_ended(t.schema, after, until)).limit(1)).first() is not None:
        return Changes(schemas=True)
    found: set[int] = set()
    for table, key in _PARTS:
        found.update(connection.scalars(select(table.c[key]).where(_began_or_ended(table, after, until)).distinct()))
    schemas: set[int] = set(connection.scalars(select(t.schema.c.schema_id)))
    return Changes(bool(found & schemas), frozenset(found))


def _began_or_ended(table: MetadataTable, after: int, until: int) -> ColumnElement[bool]:
    begin, end = table.c.begin_snapshot, table.c.end_snapshot
    return or_(and_(begin > after, begin <= until), and_(end > after, end <= until))
