"""Read the definitions of schemas, tables and views visible at a snapshot, in a fixed number of queries.

Specification: the tables `ducklake_schema`, `ducklake_table`, `ducklake_column`, `ducklake_view`, `ducklake_tag`,
`ducklake_column_tag`, `ducklake_partition_info` and `ducklake_sort_info`. Definitions depend only on the schema version, so all snapshots
of a schema version share one `Definitions`. We accept oddities of the reference implementation: a live table row without live columns is
not a table (left by a concurrent rename and drop), a partition row without keys means unpartitioned, and the default `NULL` means no
default.
"""

from __future__ import annotations

import csv
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection

from ...errors import ConflictError
from ...format.identifiers import fold
from ...format.objects import (
    Column,
    Default,
    Macro,
    PartitionField,
    Partitioning,
    Relation,
    Schema,
    Snapshot,
    SortField,
    Table,
    View,
)
from ...format.paths import resolve
from ..store import tables as t
from ..store.database import Database, batches
from ..store.visibility import visible
from .definition_changes import read_changes
from .history import require_kept
from .macros import read_macros

_LOAD_ALL_BEYOND = 20
"""If more relations than this and than a third of the lake's are needed, all are loaded: one full read is cheaper than many ids."""


@dataclass(frozen=True)
class RelationName:
    """A table or view without its definition."""

    relation_id: int
    schema_name: str
    name: str
    is_table: bool


@dataclass(frozen=True)
class _Name:
    """A relation in the list of names, whose definition may not be loaded."""

    relation_id: int
    schema_id: int
    name: str
    row: Any
    is_table: bool


class Definitions:
    """All definitions at one schema version: names are loaded together, a table or view when it is first needed. Thread-safe."""

    def __init__(self, database: Database, data_path: str, snapshot: Snapshot, earlier: Definitions | None = None) -> None:
        """Initialize without reading; unchanged definitions will be taken from `earlier`, those of an earlier snapshot."""
        self._database = database
        self._data_path = data_path
        self.snapshot_id = snapshot.snapshot_id
        self._schema_version = snapshot.schema_version
        self._earlier = earlier
        self._lock = threading.RLock()
        self._schemas: dict[int, Schema] | None = None
        self._names: dict[tuple[int, str], _Name] = {}
        self._ids: dict[int, _Name] = {}
        self._relations: dict[int, Relation | None] = {}
        self._macros: list[Macro] | None = None

    @property
    def are_read(self) -> bool:
        """Whether the names have been read."""
        return self._schemas is not None

    def schemas(self) -> list[Schema]:
        """Return all schemas, ordered by name."""
        return sorted(self._load_names().values(), key=lambda schema: schema.name)

    def schema(self, name: str) -> Schema | None:
        """Return the schema with a name, ignoring case, or None."""
        folded = fold(name)
        return next((schema for schema in self._load_names().values() if fold(schema.name) == folded), None)

    def find(self, schema_name: str, name: str) -> Relation | None:
        """Return the table or view with a name, ignoring case, or None."""
        schema = self.schema(schema_name)
        if schema is None:
            return None
        entry = self._names.get((schema.schema_id, fold(name)))
        return None if entry is None else self._loaded([entry])[0]

    def by_id(self, relation_id: int) -> Relation | None:
        """Return the table or view with an id, or None."""
        self._load_names()
        entry = self._ids.get(relation_id)
        return None if entry is None else self._loaded([entry])[0]

    def relations(self, schema_name: str | None = None) -> list[Relation]:
        """Return all tables and views of one schema or of all, ordered by schema and name."""
        schemas = self._load_names()
        wanted = None if schema_name is None else fold(schema_name)
        entries = [entry for entry in self._names.values() if wanted is None or fold(schemas[entry.schema_id].name) == wanted]
        found = [relation for relation in self._loaded(entries) if relation is not None]
        return sorted(found, key=lambda relation: (relation.schema_name, relation.name))

    def names(self, schema_name: str | None = None) -> list[RelationName]:
        """Return the names of tables and views without their definitions, which is cheap for any number of relations."""
        schemas = self._load_names()
        wanted = None if schema_name is None else fold(schema_name)
        found = [
            RelationName(entry.relation_id, schemas[entry.schema_id].name, entry.name, entry.is_table) for entry in self._names.values()
        ]
        return sorted(
            (each for each in found if wanted is None or fold(each.schema_name) == wanted),
            key=lambda each: (each.schema_name, each.name),
        )

    def named(self, names: Iterable[RelationName]) -> list[Relation]:
        """Return the definitions of some relations; those that no longer exist are left out."""
        self._load_names()
        entries = [self._ids[name.relation_id] for name in names if name.relation_id in self._ids]
        return [relation for relation in self._loaded(entries) if relation is not None]

    def macros(self) -> list[Macro]:
        """Return all macros, ordered by schema and name."""
        schemas = self._load_names()
        with self._lock:
            if self._macros is None:
                with self._reading() as connection:
                    self._macros = read_macros(connection, self.snapshot_id, {key: schema.name for key, schema in schemas.items()})
            return self._macros

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Open a reading transaction and require that a snapshot of the schema version exists; each has all its definitions.

        Raises:
            ConflictError: all snapshots of the schema version have expired.
        """
        with self._database.reading() as connection:
            try:
                require_kept(connection, self._database, self.snapshot_id)
            except ConflictError:
                version = t.snapshot.c.schema_version
                if connection.execute(select(version).where(version == self._schema_version).limit(1)).first() is None:
                    raise
            yield connection

    def _load_names(self) -> dict[int, Schema]:
        with self._lock:
            if self._schemas is None:
                with self._reading() as connection:
                    self._schemas = self._carried(connection) or self._read(connection)
                self._ids = {entry.relation_id: entry for entry in self._names.values()}
                self._earlier = None
            return self._schemas

    def _read(self, connection: Connection) -> dict[int, Schema]:
        loader = _Loader(connection, self.snapshot_id)
        schemas = loader.schemas(self._data_path)
        self._names = loader.names(schemas)
        return schemas

    def _carried(self, connection: Connection) -> dict[int, Schema] | None:
        """Reuse unchanged definitions of the earlier snapshot and read the names of the rest; None if everything must be read."""
        if self._earlier is None or self._database.older is not None:
            return None
        known = self._earlier.known()
        if known is None:
            return None
        schemas, names, relations, since = known
        changes = read_changes(connection, since, self.snapshot_id)
        if changes.schemas or len(changes.relations) > _LOAD_ALL_BEYOND:
            return None
        fresh = _Loader(connection, self.snapshot_id).names(schemas, list(changes.relations))
        self._names = {key: entry for key, entry in names.items() if entry.relation_id not in changes.relations} | fresh
        self._relations = {key: relation for key, relation in relations.items() if key not in changes.relations}
        return schemas

    def known(self) -> tuple[dict[int, Schema], dict[tuple[int, str], _Name], dict[int, Relation | None], int] | None:
        """Return the cached schemas, names and definitions and their snapshot id; None if nothing has been read."""
        with self._lock:
            if self._schemas is None:
                return None
            return self._schemas, self._names, dict(self._relations), self.snapshot_id

    def _loaded(self, entries: Collection[_Name]) -> list[Relation | None]:
        schemas = self._load_names()
        with self._lock:
            missing = [entry for entry in entries if entry.relation_id not in self._relations]
            few = len(missing) <= max(_LOAD_ALL_BEYOND, len(self._names) // 3)
            if not few:
                missing = [entry for entry in self._names.values() if entry.relation_id not in self._relations]
            if missing:
                with self._reading() as connection:
                    loader = _Loader(connection, self.snapshot_id)
                    for batch in batches(missing, self._database.dialect.batch_size if few else len(missing)):
                        ids = [entry.relation_id for entry in batch] if few else None
                        self._relations |= loader.relations(batch, schemas, ids)
            return [self._relations[entry.relation_id] for entry in entries]


class _Loader:
    """Runs the queries. If `ids` is None, all objects are read."""

    def __init__(self, connection: Connection, snapshot_id: int) -> None:
        self._connection = connection
        self._snapshot_id = snapshot_id

    def schemas(self, data_path: str) -> dict[int, Schema]:
        rows = self._rows(select(t.schema).where(visible(t.schema, self._snapshot_id)))
        tags = self._tags([row.schema_id for row in rows] if len(rows) <= _LOAD_ALL_BEYOND else None)
        return {
            row.schema_id: Schema(
                row.schema_id,
                row.schema_uuid,
                row.schema_name,
                resolve(data_path, row.path, row.path_is_relative),
                tags.get(row.schema_id, {}).get("comment"),
                other_tags(tags.get(row.schema_id, {})),
            )
            for row in rows
        }

    def names(self, schemas: dict[int, Schema], ids: list[int] | None = None) -> dict[tuple[int, str], _Name]:
        tables = self._of(t.table, t.table.c.table_id, ids)
        views = self._of(t.view, t.view.c.view_id, ids)
        columns = select(t.column.c.table_id).where(visible(t.column, self._snapshot_id)).distinct()
        live: set[int] = set(self._connection.scalars(_restricted(columns, t.column.c.table_id, ids)))
        found = [_Name(row.table_id, row.schema_id, row.table_name, row, True) for row in tables if row.table_id in live]
        found += [_Name(row.view_id, row.schema_id, row.view_name, row, False) for row in views]
        return {(entry.schema_id, fold(entry.name)): entry for entry in found if entry.schema_id in schemas}

    def relations(self, entries: Iterable[_Name], schemas: dict[int, Schema], ids: list[int] | None) -> dict[int, Relation | None]:
        tags = self._tags(ids)
        tables = any(entry.is_table for entry in entries)
        columns = self._columns(ids) if tables else {}
        greatest = self._greatest_column_ids(ids) if tables else {}
        partitionings = self._partitionings(ids) if tables else {}
        sortings = self._sortings(ids) if tables else {}
        found: dict[int, Relation | None] = {}
        for entry in entries:
            schema, own_tags = schemas[entry.schema_id], tags.get(entry.relation_id, {})
            found[entry.relation_id] = (
                Table(
                    entry.relation_id,
                    entry.row.table_uuid,
                    schema.name,
                    entry.row.table_name,
                    resolve(schema.path, entry.row.path, entry.row.path_is_relative),
                    columns[entry.relation_id],
                    greatest[entry.relation_id] + 1,
                    partitionings.get(entry.relation_id),
                    sortings.get(entry.relation_id, ()),
                    own_tags.get("comment"),
                    other_tags(own_tags),
                )
                if entry.is_table
                else _view(entry.row, schema, own_tags)
            )
        return found

    def _columns(self, ids: list[int] | None) -> dict[int, tuple[Column, ...]]:
        query = select(t.column).where(visible(t.column, self._snapshot_id)).order_by(t.column.c.column_order)
        comments: dict[tuple[int, int], str] = {
            (row.table_id, row.column_id): row.value for row in self._of(t.column_tag, t.column_tag.c.table_id, ids) if row.key == "comment"
        }
        rows: dict[int, list[Any]] = defaultdict(list)
        for row in self._rows(_restricted(query, t.column.c.table_id, ids)):
            rows[row.table_id].append(row)
        return {table_id: column_tree(own, comments) for table_id, own in rows.items()}

    def _greatest_column_ids(self, ids: list[int] | None) -> dict[int, int]:
        query: Select[Any] = select(t.column.c.table_id, func.max(t.column.c.column_id)).group_by(t.column.c.table_id)
        return dict(tuple(row) for row in self._rows(_restricted(query, t.column.c.table_id, ids)))

    def _partitionings(self, ids: list[int] | None) -> dict[int, Partitioning]:
        info, keys = t.partition_info, t.partition_column
        query = (
            select(info.c.table_id, info.c.partition_id, keys.c.column_id, keys.c.transform)
            .join(keys, (keys.c.partition_id == info.c.partition_id) & (keys.c.table_id == info.c.table_id))
            .where(visible(info, self._snapshot_id))
            .order_by(info.c.partition_id, keys.c.partition_key_index)
        )
        found: dict[int, Partitioning] = {}
        for row in self._rows(_restricted(query, info.c.table_id, ids)):
            field = PartitionField(row.column_id, row.transform)
            earlier = found.get(row.table_id)
            same = earlier is not None and earlier.partition_id == row.partition_id
            found[row.table_id] = Partitioning(row.partition_id, (*(earlier.fields if earlier and same else ()), field))
        return found

    def _sortings(self, ids: list[int] | None) -> dict[int, tuple[SortField, ...]]:
        info, keys = t.sort_info, t.sort_expression
        query = (
            select(keys)
            .join(info, (keys.c.sort_id == info.c.sort_id) & (keys.c.table_id == info.c.table_id))
            .where(visible(info, self._snapshot_id))
            .order_by(keys.c.sort_id, keys.c.sort_key_index)
        )
        found: dict[int, tuple[SortField, ...]] = defaultdict(tuple)
        for row in self._rows(_restricted(query, info.c.table_id, ids)):
            found[row.table_id] += (SortField(row.expression, row.sort_direction, row.null_order, row.dialect),)
        return found

    def _tags(self, ids: list[int] | None) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = defaultdict(dict)
        for row in self._of(t.tag, t.tag.c.object_id, ids):
            if row.value is not None:
                found[row.object_id][row.key] = row.value
        return found

    def _of(self, table: MetadataTable, key: ColumnElement[Any], ids: list[int] | None) -> list[Any]:
        return self._rows(_restricted(select(table).where(visible(table, self._snapshot_id)), key, ids))

    def _rows(self, query: Select[Any]) -> list[Any]:
        return list(self._connection.execute(query).all())


def column_tree(rows: Iterable[Any], comments: dict[tuple[int, int], str]) -> tuple[Column, ...]:
    """Return columns with their nested fields, from rows of `ducklake_column` ordered by `column_order`."""
    children: dict[int | None, list[Any]] = defaultdict(list)
    for row in rows:
        children[row.parent_column].append(row)

    def build(parent: int | None) -> tuple[Column, ...]:
        return tuple(
            Column(
                row.column_id,
                row.column_name,
                row.column_type,
                build(row.column_id) if row.column_id in children else (),
                row.nulls_allowed is not False or parent is not None,  # nested fields are always nullable
                row.initial_default,
                _default(row),
                comments.get((row.table_id, row.column_id)),
            )
            for row in children.get(parent, ())
        )

    return build(None)


def other_tags(tags: dict[str, str]) -> dict[str, str]:
    """Return the tags without the comment, which is stored separately."""
    return {key: value for key, value in tags.items() if key != "comment"}


def _default(row: Any) -> Default | None:
    if row.default_value is None or row.default_value == "NULL":
        return None
    return Default(row.default_value, row.default_value_type or "literal", row.default_value_dialect or "duckdb")


def _view(row: Any, schema: Schema, tags: dict[str, str]) -> View:
    return View(
        row.view_id,
        row.view_uuid,
        schema.name,
        row.view_name,
        row.sql,
        row.dialect,
        parse_aliases(row.column_aliases),
        tags.get("comment"),
        other_tags(tags),
    )


def parse_aliases(text: str | None) -> tuple[str, ...]:
    """Parse the stored list of a view's column names: `"x","y z"`, with quotes inside doubled."""
    return tuple(next(csv.reader([text], skipinitialspace=True))) if text else ()


def format_aliases(names: Iterable[str]) -> str:
    """Format the list of a view's column names; no names are the empty text, because DuckDB cannot open a lake with NULL here."""
    return ",".join('"' + name.replace('"', '""') + '"' for name in names)


def _restricted(query: Select[Any], key: ColumnElement[Any], ids: list[int] | None) -> Select[Any]:
    return query if ids is None else query.where(key.in_(ids))
