"""The definitions of schemas, tables, views and macros at a snapshot, read when they are first needed.

They depend only on the schema version, so all snapshots with the same one share one `Definitions`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy import Table as MetadataTable
from sqlalchemy.engine import Connection

from ...errors import ConflictError, LakeError
from ...format.identifiers import fold
from ...format.objects import Macro, Relation, Schema, Snapshot
from ..store import tables as t
from ..store.database import BATCH_SIZE, Database, batches
from .definition_rows import LOAD_ALL_THRESHOLD, Definition, DefinitionLoader, NamedRow, read_macros
from .history import require_not_expired

_TABLES_OF_RELATIONS = (
    (t.table, "table_id"),
    (t.view, "view_id"),
    (t.column, "table_id"),
    (t.tag, "object_id"),
    (t.column_tag, "table_id"),
    (t.partition_info, "table_id"),
    (t.sort_info, "table_id"),
)
"""The metadata tables whose rows define tables and views, and the column with the id of the table or view."""


@dataclass(frozen=True)
class RelationName:
    """A table or view without its definition."""

    relation_id: int
    schema_name: str
    name: str
    is_table: bool


class Definitions:
    """All definitions at one schema version. Thread-safe.

    The first access reads the names of all relations; the definition of a table or view is read when it is first needed. Lists are in no
    order and leave out a relation whose rows are damaged; `find` and `by_id` raise a LakeError for it.

    Args:
        database: the catalog database.
        data_path: the directory or URL of the lake's files.
        snapshot: a snapshot of the schema version.
        earlier: the definitions at an earlier snapshot; the unchanged ones are reused.
    """

    def __init__(self, database: Database, data_path: str, snapshot: Snapshot, earlier: Definitions | None = None) -> None:
        self._database = database
        self._data_path = data_path
        self.snapshot_id = snapshot.snapshot_id
        self._schema_version = snapshot.schema_version
        self._earlier = earlier
        self._lock = threading.RLock()
        self._schemas: dict[int, Schema] | None = None
        self._names: dict[tuple[int, str], NamedRow] = {}
        """(schema id, folded name) → the table or view."""
        self._ids: dict[int, NamedRow] = {}
        self._relations: dict[int, Definition] = {}
        self._damaged_schemas: list[tuple[str | None, LakeError]] = []
        """(name, error) of each schema whose row is damaged."""
        self._macros: list[Macro] | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the names have been loaded."""
        return self._schemas is not None

    def schemas(self) -> Iterable[Schema]:
        """Return all schemas."""
        return self._load_names().values()

    def schema(self, name: str) -> Schema | None:
        """Return the schema with a name, ignoring case, or None.

        Raises:
            LakeError: the row of the schema is damaged.
        """
        folded = fold(name)
        found = next((schema for schema in self._load_names().values() if fold(schema.name) == folded), None)
        error = next((error for damaged, error in self._damaged_schemas if isinstance(damaged, str) and fold(damaged) == folded), None)
        if found is None and error is not None:
            raise error
        return found

    def find(self, schema_name: str, name: str) -> Relation | None:
        """Return the table or view with a name, ignoring case, or None.

        Raises:
            LakeError: its rows are damaged.
        """
        schema = self.schema(schema_name)
        if schema is None:
            return None
        entry = self._names.get((schema.schema_id, fold(name)))
        return None if entry is None else _undamaged(self._loaded([entry])[0])

    def by_id(self, relation_id: int) -> Relation | None:
        """Return the table or view with an id, or None.

        Raises:
            LakeError: its rows are damaged.
        """
        self._load_names()
        entry = self._ids.get(relation_id)
        return None if entry is None else _undamaged(self._loaded([entry])[0])

    def relations(self, schema_name: str | None = None) -> list[Relation]:
        """Return all tables and views of one schema or of all."""
        return [relation for relation in self._loaded(self._entries(schema_name)) if isinstance(relation, Relation)]

    def names(self, schema_name: str | None = None) -> list[RelationName]:
        """Return the names of tables and views without their definitions, which is cheap for any number of relations."""
        entries, schemas = self._entries(schema_name), self._load_names()
        return [RelationName(entry.relation_id, schemas[entry.schema_id].name, entry.name, entry.is_table) for entry in entries]

    def _entries(self, schema_name: str | None) -> list[NamedRow]:
        """Return the tables and views of one schema, or of all."""
        schemas = self._load_names()
        wanted = None if schema_name is None else fold(schema_name)
        return [entry for entry in self._names.values() if wanted is None or fold(schemas[entry.schema_id].name) == wanted]

    def named(self, names: Iterable[RelationName]) -> list[Relation]:
        """Return the definitions of some tables and views; those that no longer exist or are damaged are left out."""
        self._load_names()
        entries = [self._ids[name.relation_id] for name in names if name.relation_id in self._ids]
        return [relation for relation in self._loaded(entries) if isinstance(relation, Relation)]

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
        """Open a reading transaction, and require that the snapshot, or another one with the same schema version, still exists.

        Raises:
            ConflictError: all snapshots of the schema version have expired.
        """
        with self._database.reading() as connection:
            try:
                require_not_expired(connection, self._database, self.snapshot_id)
            except ConflictError:
                version = t.snapshot.c.schema_version
                if connection.execute(select(version).where(version == self._schema_version).limit(1)).first() is None:
                    raise
            yield connection

    def _load_names(self) -> dict[int, Schema]:
        with self._lock:
            if self._schemas is None:
                with self._reading() as connection:
                    self._schemas = self._reuse(connection) or self._read(connection)
                self._ids = {entry.relation_id: entry for entry in self._names.values()}
                self._earlier = None
            return self._schemas

    def _read(self, connection: Connection) -> dict[int, Schema]:
        loader = DefinitionLoader(connection, self.snapshot_id)
        schemas, self._damaged_schemas = loader.schemas(self._data_path)
        self._names = loader.names(schemas)
        return schemas

    def _reuse(self, connection: Connection) -> dict[int, Schema] | None:
        """Reuse unchanged definitions of the earlier snapshot and read the names of the rest; None if everything must be read."""
        earlier = self._earlier
        if earlier is None or self._database.older_catalog is not None:
            return None
        with earlier._lock:
            schemas, names, relations = earlier._schemas, earlier._names, dict(earlier._relations)
        if schemas is None:
            return None
        self._damaged_schemas = earlier._damaged_schemas
        changed = _changed_relations(connection, earlier.snapshot_id, self.snapshot_id)
        if changed is None or len(changed) > LOAD_ALL_THRESHOLD:
            return None
        fresh = DefinitionLoader(connection, self.snapshot_id).names(schemas, list(changed))
        self._names = {key: entry for key, entry in names.items() if entry.relation_id not in changed} | fresh
        unchanged = ((key, definition) for key, definition in relations.items() if key not in changed)
        self._relations = {key: definition for key, definition in unchanged if not isinstance(definition, LakeError)}
        return schemas

    def _loaded(self, entries: Collection[NamedRow]) -> list[Definition]:
        """Return the definitions of the entries, in their order. If many are missing, all missing ones of the lake are read."""
        schemas = self._load_names()
        with self._lock:
            missing = [entry for entry in entries if entry.relation_id not in self._relations]
            few = len(missing) <= max(LOAD_ALL_THRESHOLD, len(self._names) // 3)
            if not few:
                missing = [entry for entry in self._names.values() if entry.relation_id not in self._relations]
            if missing:
                with self._reading() as connection:
                    loader = DefinitionLoader(connection, self.snapshot_id)
                    for batch in batches(missing, BATCH_SIZE if few else len(missing)):
                        ids = [entry.relation_id for entry in batch] if few else None
                        self._relations |= loader.relations(batch, schemas, ids)
            return [self._relations[entry.relation_id] for entry in entries]


def _undamaged(definition: Definition) -> Relation | None:
    """Return a definition, or raise the error of a damaged one."""
    if isinstance(definition, LakeError):
        raise definition
    return definition


def _changed_relations(connection: Connection, after: int, until: int) -> frozenset[int] | None:
    """Return the ids of the tables and views that the snapshots after `after`, up to and including `until`, created, changed or dropped.

    The definitions of the others need not be read again: in a lake with thousands of relations, a dbt run creates thousands of schema
    versions, and each differs from the last by one relation. None if everything must be read, because schemas changed or the changes are
    not known: if `after` has expired, rows that ended since then may have been removed. The number of queries is fixed, and their results
    grow only with the changes.
    """
    if connection.execute(select(t.snapshot.c.snapshot_id).where(t.snapshot.c.snapshot_id == after)).first() is None:
        return None
    if connection.execute(select(t.schema.c.schema_id).where(_began_or_ended(t.schema, after, until)).limit(1)).first() is not None:
        return None
    changed: set[int] = set()
    for table, key in _TABLES_OF_RELATIONS:
        changed.update(connection.scalars(select(table.c[key]).where(_began_or_ended(table, after, until)).distinct()))
    schema_ids: set[int] = set(connection.scalars(select(t.schema.c.schema_id)))
    return frozenset(changed) if changed.isdisjoint(schema_ids) else None  # the tags of schemas are in `ducklake_tag` too


def _began_or_ended(table: MetadataTable, after: int, until: int) -> ColumnElement[bool]:
    begin, end = table.c.begin_snapshot, table.c.end_snapshot
    return or_(and_(begin > after, begin <= until), and_(end > after, end <= until))
