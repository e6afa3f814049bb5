"""The state of one attempt to commit: its snapshot id, its counters, the ids it gave, the rows and log entries it collected.

Thrown away when the attempt fails: a retry takes new ids and collects its rows again, from the same staged changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import ColumnElement, delete, update
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection

from ...errors import LakeError
from ...format.changes import Change, Kind
from ...format.files import MappedField
from ...format.identifiers import fold
from ...format.objects import Schema, Snapshot, Table
from ..read.reader import SnapshotReader
from ..staged import Staged
from ..store import tables as t
from ..store.database import Database, batches, insert_rows

_INSERT_ORDER = (
    *(t.schema, t.table, t.column, t.partition_info, t.partition_column, t.view, t.macro, t.tag, t.column_tag),
    *(t.sort_info, t.sort_expression, t.table_stats, t.table_column_stats, t.column_mapping, t.name_mapping),
    *(t.data_file, t.file_column_stats, t.file_partition_value, t.file_variant_stats, t.inlined_data_tables, t.delete_file),
    t.files_scheduled_for_deletion,
    *(t.schema_versions, t.snapshot, t.snapshot_changes),
)
"""The reference's order, as far as the batches allow; the rows of a snapshot are last, so nothing points to it before it exists."""


@dataclass
class CommitState:
    """One attempt. `latest` is the newest snapshot, `base` reads the one that the transaction started from."""

    connection: Connection
    database: Database
    data_path: str
    base: SnapshotReader
    latest: Snapshot
    staged: Staged
    time: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    changes: list[Change] = field(default_factory=list)
    _ids: dict[int, int] = field(default_factory=dict)
    _rows: dict[MetadataTable, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.snapshot_id = self.latest.snapshot_id + 1
        self.schema_version = self.latest.schema_version + (1 if self.staged.has_schema_changes else 0)
        self.next_catalog_id = self.latest.next_catalog_id
        self.next_file_id = self.latest.next_file_id
        self._versioned: set[int] = set()
        self.inlined_tables: dict[int, str] = {}
        """By table id, the inlined-data tables that this commit creates."""
        self.mappings: dict[int, dict[tuple[MappedField, ...], int]] = {}
        """By table id, the name mappings that there are, and those that this commit adds."""

    def move_schema_version(self) -> None:
        """Let the schema version move though nothing but rows was staged."""
        self.schema_version = self.latest.schema_version + 1

    def catalog_id(self, staged_id: int) -> int:
        """The id of a schema, table, view, partition spec or sort order: a staged one gets its own when first asked for."""
        if staged_id >= 0:
            return staged_id
        if staged_id not in self._ids:
            self._ids[staged_id] = self.new_catalog_id()
        return self._ids[staged_id]

    def known_id(self, staged_id: int | None) -> int | None:
        """The id that a staged one was given; None if it was given none, because nothing uses it any more."""
        return staged_id if staged_id is None or staged_id >= 0 else self._ids.get(staged_id)

    def new_catalog_id(self) -> int:
        """The next id of the counter for everything but files."""
        self.next_catalog_id += 1
        return self.next_catalog_id - 1

    def new_file_id(self) -> int:
        """The next id of the counter for data and delete files."""
        self.next_file_id += 1
        return self.next_file_id - 1

    def add_schema_version(self, table_id: int) -> None:
        """Say, once, that the table's columns are now those of this schema version."""
        if table_id not in self._versioned:
            self._versioned.add(table_id)
            self.add(t.schema_versions, begin_snapshot=self.snapshot_id, schema_version=self.schema_version, table_id=table_id)

    def log(self, kind: Kind, object_id: int | None = None, *, schema: str | None = None, name: str | None = None) -> None:
        """Add an entry to the log."""
        self.changes.append(Change(kind, object_id, schema, name))

    def add(self, table: MetadataTable, **values: Any) -> None:
        """Collect a row to insert; columns not named are NULL."""
        self._rows[table].append({column.name: values.get(column.name) for column in table.columns})

    def flush(self) -> None:
        """Insert what was collected, one batch per table."""
        for table in _INSERT_ORDER:
            insert_rows(self.connection, table, self._rows.pop(table, []))

    def end(self, table: MetadataTable, key: ColumnElement[Any], ids: Collection[int], *also: ColumnElement[bool]) -> int:
        """End the live rows of some objects; how many rows there were."""
        statement = update(table).where(table.c.end_snapshot.is_(None), *also).values(end_snapshot=self.snapshot_id)
        return sum(
            self.connection.execute(statement.where(key.in_(batch))).rowcount for batch in batches(ids, self.database.dialect.batch_size)
        )

    def remove(self, table: MetadataTable, key: ColumnElement[Any], ids: Sequence[int], *also: ColumnElement[bool]) -> None:
        """Delete rows physically."""
        for batch in batches(ids, self.database.dialect.batch_size):
            self.connection.execute(delete(table).where(key.in_(batch), *also))

    def schema_named(self, name: str) -> Schema:
        """The schema that a staged table or view is in.

        Raises:
            LakeError: it is neither committed nor staged.
        """
        folded = fold(name)
        for schema in self.staged.schemas.values():
            if schema is not None and fold(schema.name) == folded:
                return schema
        found = self.base.schema(name)
        if found is None:
            raise LakeError(f"schema {name} of a changed object does not exist")
        return found

    def table(self, table_id: int) -> Table:
        """The definition of a table whose rows change: the staged one, else the committed one.

        Raises:
            LakeError: there is none.
        """
        found = self.staged.tables.get(table_id) or (self.base.by_id(table_id) if table_id >= 0 else None)
        if not isinstance(found, Table):
            raise LakeError(f"rows were staged for a table of id {table_id}, which does not exist")
        return found
