"""The history of a table's columns, which is needed to read files and inlined rows of older schema versions.

Specification: the tables `ducklake_column` and `ducklake_schema_versions`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...format.files import ScanPlan
from ...format.objects import Column, Table
from ..store import tables as t
from ..store.inlined import InlinedTable, registered
from ..store.row_rules import checked
from .definition_rows import column_tree


@dataclass(frozen=True)
class ColumnRow:
    """A row of `ducklake_column`, live or ended."""

    column_id: int
    begin_snapshot: int
    end_snapshot: int | None
    table_id: int
    column_order: int
    column_name: str
    column_type: str
    initial_default: str | None
    default_value: str | None
    nulls_allowed: bool | None
    parent_column: int | None
    default_value_type: str | None
    default_value_dialect: str | None


@dataclass(frozen=True)
class TableHistory:
    """All rows of `ducklake_column` for a table, and the first snapshot of each of its schema versions."""

    rows: tuple[ColumnRow, ...]
    versions: tuple[tuple[int, int], ...]
    """(schema version, begin snapshot), ascending."""
    begin: int
    """The first snapshot of the table."""

    def layout(self, schema_version: int) -> tuple[Column, ...]:
        """Return the columns at the first snapshot of a schema version.

        If the table did not change in that version, the latest earlier version applies; without one, the table's first snapshot.
        """
        at = max((begin for version, begin in self.versions if version <= schema_version), default=self.begin)
        live = [row for row in self.rows if row.begin_snapshot <= at and (row.end_snapshot is None or row.end_snapshot > at)]
        return column_tree(sorted(live, key=lambda row: row.column_order), {})

    def reused_names(self, columns: Iterable[Column]) -> frozenset[tuple[int | None, str]]:
        """Return the names by which a column must not be read: names that two columns have had, and names that a column has not always had.

        Names are compared in lower case, as Spark does when it pushes down filters. So two names that differ only in case count as reused.

        Args:
            columns: the columns to read: the table's current ones, or those of an earlier schema version.

        Returns:
            (id of the parent column or None, lower-case name) pairs; see `ScanPlan.reused_names`.
        """
        ids: dict[tuple[int | None, str], set[int]] = defaultdict(set)
        names: dict[int, set[str]] = defaultdict(set)
        for row in self.rows:
            ids[row.parent_column, row.column_name.lower()].add(row.column_id)
            names[row.column_id].add(row.column_name.lower())
        live = list(with_parents(columns))
        for parent, column in live:
            ids[parent, column.name.lower()].add(column.column_id)
            names[column.column_id].add(column.name.lower())
        moved = {(parent, column.name.lower()) for parent, column in live if len(names[column.column_id]) > 1}
        return frozenset({key for key, owners in ids.items() if len(owners) > 1} | moved)

    def with_layouts(self, layouts: Iterable[tuple[Column, ...]]) -> TableHistory:
        """Return the history with the columns of files that a transaction has staged, which the catalog does not have yet.

        Each added row begins and ends at the same snapshot, so `layout` never returns it; only names and types matter. Its table id is 0.
        """
        nodes = dict.fromkeys((parent, node.column_id, node.name, node.type) for layout in layouts for parent, node in with_parents(layout))
        begin = self.begin
        more = (
            ColumnRow(column_id, begin, begin, 0, column_id, name, kind, None, None, None, parent, None, None)
            for parent, column_id, name, kind in nodes
        )
        return replace(self, rows=(*self.rows, *more))

    def retyped(self, columns: Iterable[Column]) -> frozenset[int]:
        """Return the ids of columns that ever had another stored type."""
        types: dict[int, set[str]] = defaultdict(set)
        for row in self.rows:
            types[row.column_id].add(row.column_type.lower())
        for _, column in with_parents(columns):
            types[column.column_id].add(column.type.lower())
        return frozenset(column_id for column_id, found in types.items() if len(found) > 1)

    def version_at(self, snapshot_id: int) -> int:
        """Return the schema version of the table at a snapshot; 0 if the catalog records none."""
        return max((version for version, begin in self.versions if begin <= snapshot_id), default=0)

    def plan(self, table: Table, columns: tuple[Column, ...] | None = None) -> ScanPlan:
        """Return a plan without files for the table's columns, or for columns that it had before."""
        wanted = table.columns if columns is None else columns
        name = f"{table.schema_name}.{table.name}"
        return ScanPlan(name, wanted, reused_names=self.reused_names(wanted), retyped=self.retyped(wanted))


def with_parents(columns: Iterable[Column], parent: int | None = None) -> Iterator[tuple[int | None, Column]]:
    """Yield each column and nested field with the id of the column that contains it."""
    for column in columns:
        yield parent, column
        yield from with_parents(column.children, column.column_id)


def inlined_tables(connection: Connection, table_id: int, history: TableHistory) -> list[InlinedTable]:
    """Return the inlined-data tables of a table with their columns, oldest first.

    Raises:
        LakeError: a row is damaged.
    """
    return [InlinedTable(name, history.layout(version)) for name, version in registered(connection, table_id)]


EMPTY_HISTORY = TableHistory((), (), 0)
"""The history of a table that is not committed."""


def read_history(connection: Connection, table_id: int) -> TableHistory:
    """Return the history of a table's columns.

    Raises:
        LakeError: a row is damaged.
    """
    stored = connection.execute(select(t.column).where(t.column.c.table_id == table_id)).all()
    rows = tuple(ColumnRow(*tuple[Any, ...](row)) for row in checked(t.column, stored))
    versions = connection.execute(
        select(t.schema_versions.c.schema_version, t.schema_versions.c.begin_snapshot)
        .where(t.schema_versions.c.table_id == table_id)
        .order_by(t.schema_versions.c.schema_version)
    ).all()
    begin = min((row.begin_snapshot for row in rows), default=0)
    return TableHistory(rows, tuple((row[0], row[1]) for row in checked(t.schema_versions, versions)), begin)
