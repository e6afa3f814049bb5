"""The state of one attempt to commit: its snapshot id, counters, assigned ids, collected rows and logged changes.

The state is discarded when the attempt fails. A retry assigns new ids and collects its rows again, from the same staged changes.
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
from ...format.options import Options
from ..read.reader import SnapshotReader
from ..staged import Staged
from ..store import tables as t
from ..store.database import Database, change_with_ids, insert_rows

_INSERT_ORDER = (
    *(t.schema, t.table, t.column, t.partition_info, t.partition_column, t.view, t.macro, t.tag, t.column_tag),
    *(t.sort_info, t.sort_expression, t.table_stats, t.table_column_stats, t.column_mapping, t.name_mapping),
    *(t.data_file, t.file_column_stats, t.file_partition_value, t.file_variant_stats, t.inlined_data_tables, t.delete_file),
    t.files_scheduled_for_deletion,
    *(t.schema_versions, t.snapshot, t.snapshot_changes),
)
"""The order of the reference implementation, as far as batches allow; the snapshot's own rows are last."""


@dataclass
class CommitState:
    """One attempt to commit. `latest` is the newest committed snapshot; `base` reads the snapshot that the transaction is pinned to.

    `snapshot_id` and `schema_version` are those of the new snapshot; `next_catalog_id` and `next_file_id` are the next free ids.
    """

    connection: Connection
    database: Database
    data_path: str
    base: SnapshotReader
    latest: Snapshot
    staged: Staged
    time: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    changes: list[Change] = field(default_factory=list)
    _ids: dict[int, int] = field(default_factory=dict)
    """Staged id → the catalog id that this commit assigned."""
    _rows: dict[MetadataTable, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.snapshot_id = self.latest.snapshot_id + 1
        self.schema_version = self.latest.schema_version + (1 if self.staged.has_schema_changes else 0)
        self.next_catalog_id = self.latest.next_catalog_id
        self.next_file_id = self.latest.next_file_id
        self._tables_with_new_version: set[int] = set()
        """The ids of tables for which `add_schema_version` has added a row."""
        self.inlined_tables: dict[int, str] = {}
        """Table id → the inlined-data table that this commit creates."""
        self.options: Options | None = None
        """The committed options, as soon as `options.stored_options` has read them."""
        self.mappings: dict[int, dict[tuple[MappedField, ...], int]] = {}
        """Table id → the ids of its name mappings, including those that this commit adds."""

    def increase_schema_version(self) -> None:
        """Increase the schema version even if only rows were staged."""
        self.schema_version = self.latest.schema_version + 1

    def catalog_id(self, staged_id: int) -> int:
        """Return the catalog id of a schema, table, view or partition spec. A staged object (negative id) is assigned one on first use."""
        if staged_id >= 0:
            return staged_id
        if staged_id not in self._ids:
            self._ids[staged_id] = self.new_catalog_id()
        return self._ids[staged_id]

    def known_id(self, staged_id: int | None) -> int | None:
        """Return the catalog id of an object, without assigning one.

        Returns:
            The id; None if `staged_id` is None, or if this commit has not assigned an id to the staged object.
        """
        return staged_id if staged_id is None or staged_id >= 0 else self._ids.get(staged_id)

    def new_catalog_id(self) -> int:
        """Return the next id for anything except files and name mappings."""
        self.next_catalog_id += 1
        return self.next_catalog_id - 1

    def new_file_id(self) -> int:
        """Return the next id for data files, delete files and name mappings."""
        self.next_file_id += 1
        return self.next_file_id - 1

    def add_schema_version(self, table_id: int) -> None:
        """Record, once for each table, that its definition changed in this schema version."""
        if table_id not in self._tables_with_new_version:
            self._tables_with_new_version.add(table_id)
            self.add(t.schema_versions, begin_snapshot=self.snapshot_id, schema_version=self.schema_version, table_id=table_id)

    def log(self, kind: Kind, object_id: int | None = None, *, schema: str | None = None, name: str | None = None) -> None:
        """Collect a logged change; `object_id` or the names identify the object, as its kind requires."""
        self.changes.append(Change(kind, object_id, schema, name))

    def add(self, table: MetadataTable, **values: Any) -> None:
        """Collect a row to insert; columns not named are NULL."""
        self._rows[table].append({column.name: values.get(column.name) for column in table.columns})

    def insert_collected_rows(self) -> None:
        """Insert the collected rows, in one batch per table."""
        for table in _INSERT_ORDER:
            insert_rows(self.connection, table, self._rows.pop(table, []))

    def end(self, table: MetadataTable, key: ColumnElement[Any], ids: Collection[int], *also: ColumnElement[bool]) -> int:
        """End the live rows with these ids.

        Args:
            table: the metadata table.
            key: the column that contains the ids.
            ids: the ids.
            also: further conditions that a row must meet.

        Returns:
            The number of rows that were ended.
        """
        if not ids:  # building the statement alone takes longer than the rest of most commits
            return 0
        statement = update(table).where(table.c.end_snapshot.is_(None), *also).values(end_snapshot=self.snapshot_id)
        return change_with_ids(self.connection, statement, key, ids)

    def remove(self, table: MetadataTable, key: ColumnElement[Any], ids: Sequence[int], *also: ColumnElement[bool]) -> None:
        """Delete the rows with these ids physically; the arguments are those of `end`."""
        if ids:
            change_with_ids(self.connection, delete(table).where(*also), key, ids)

    def schema_named(self, name: str) -> Schema:
        """Return the schema with this name, staged or else committed; names are compared case-insensitively.

        Raises:
            LakeError: no such schema exists.
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
        """Return the staged definition of a table, or else the committed one, even if this transaction drops the table.

        Raises:
            LakeError: the table is neither staged nor committed.
        """
        found = self.staged.tables.get(table_id) or self.base.by_id(table_id)
        if not isinstance(found, Table):
            raise LakeError(f"rows were staged for a table with the id {table_id}, which does not exist")
        return found
