"""Read an older catalog as if it were migrated, without changing it: each table of the current format is a query over the older tables.

In every query of a connection these queries replace the tables of `store.tables`, so no other code depends on versions. Such a lake can
only be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import VARCHAR, Column, MetaData, Table, cast, false, inspect, literal, null, select
from sqlalchemy.engine import Connection
from sqlalchemy.sql import visitors
from sqlalchemy.sql.expression import CTE, SelectBase

from ....format.versions import row_limit
from .. import tables as t
from .differences import DROPPED_COLUMNS, EARLIER_NAMES, INITIAL_VALUES, VALUES, Source, schema_versions


@dataclass(frozen=True)
class OlderCatalog:
    """The current tables as queries over the tables of an older catalog."""

    source: Source
    views: Mapping[Table, CTE]

    @classmethod
    def read(cls, connection: Connection, version: str) -> OlderCatalog:
        """Find the existing metadata tables of a catalog, and create the query that replaces each current table."""
        inspector, schema = inspect(connection), t.schema_of(connection)
        existing = set(inspector.get_table_names(schema=schema))
        tables = {}
        for table in t.METADATA.sorted_tables:
            earlier = EARLIER_NAMES.get(table.name)
            name = earlier if earlier in existing and table.name not in existing else table.name
            if name in existing:
                names = [column["name"] for column in inspector.get_columns(name, schema=schema)]
                types = {column.name: column.type for column in table.columns}
                tables[table.name] = Table(name, MetaData(), *(Column(each, types.get(each, VARCHAR())) for each in names), schema=schema)
        source = Source(version, tables)
        return cls(source, {table: _view(table, source) for table in t.METADATA.sorted_tables})

    @property
    def version(self) -> str:
        """The format version."""
        return self.source.version

    def translate(self, statement: Any) -> Any:
        """Translate a query of the current tables to a query of this catalog; other statements are returned unchanged."""
        if not isinstance(statement, SelectBase):
            return statement

        def replace(element: Any, **_: Any) -> Any:
            if isinstance(element, Table):
                return self.views.get(element)
            if isinstance(element, Column) and element.table in self.views:
                return self.views[element.table].c[element.name]
            return None

        return visitors.replacement_traverse(statement, {}, replace)

    def hidden_rows(self, connection: Connection, table_id: int, snapshot_id: int) -> dict[int, range]:
        """Return data file id → positions of rows that are newer than a snapshot, for merged files without snapshot ids.

        Before format 0.4 a merged file has its rows in the order of their snapshots, but no snapshot ids (`format.versions.row_limit`).
        """
        files = self.source.tables[t.data_file.name]
        if DROPPED_COLUMNS[t.data_file.name] not in files.c:
            return {}
        query = select(files.c.data_file_id, files.c.record_count, files.c.partial_file_info)
        rows = connection.execute(query.where(files.c.table_id == table_id, files.c.partial_file_info.is_not(None)))
        limits = ((row.data_file_id, row.record_count, row_limit(row.partial_file_info, snapshot_id)) for row in rows)
        return {file_id: range(limit, count) for file_id, count, limit in limits if limit is not None}


def _view(table: Table, source: Source) -> CTE:
    """Return the query that replaces a current table. It has no rows if the older catalog has no data for the table."""
    found = source.tables.get(table.name)
    if table is t.schema_versions:
        query: Any = schema_versions(source)
    elif found is None:
        query = select(*(cast(null(), column.type).label(column.name) for column in table.columns)).where(false())
    else:
        query = select(*(_value(table, column, found, source).label(column.name) for column in table.columns)).select_from(found)
    view: CTE = query.cte(f"current_{table.name}")  # with the table's own name, SQLite would resolve the inner table to this query
    return view


def _value(table: Table, column: Any, found: Table, source: Source) -> Any:
    """Return the value of a current column in the query over the older table `found`: computed, stored, or its initial value."""
    computed = VALUES.get((table.name, column.name))
    if computed is not None:
        return computed(source)
    if column.name in found.c:
        return found.c[column.name]
    initial = INITIAL_VALUES.get((table.name, column.name))
    return cast(null(), column.type) if initial is None else literal(initial, column.type)
