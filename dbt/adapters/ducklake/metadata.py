"""The part of the adapter that reads the catalog: relations, columns, schemas, sizes, freshness. It needs neither SQL nor Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.impl import FreshnessResponse
from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation, InformationSchema
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.types import AdapterEventWarning
from dbt.adapters.sql.impl import SQLAdapter
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.events.functions import warn_or_error
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from .column import DuckLakeColumn
from .connections import DuckLakeConnectionManager
from .docs import Described, catalog_rows, catalog_table, describe
from .errors import DataError, NotFoundError, StatementError
from .format.identifiers import fold, without_backquotes
from .format.objects import Table
from .relation import DuckLakeRelation
from .snapshot_pin import Pin, pin

if TYPE_CHECKING:
    from agate.table import Table as AgateTable

    from .catalog.read.definitions import RelationName
    from .catalog.read.reader import SnapshotReader
    from .catalog.transaction.transaction import Transaction
    from .session import LakeSession

FULL = CapabilitySupport(support=Support.Full)


class LakeMetadata(SQLAdapter):
    """The part of the adapter that only reads the catalog."""

    ConnectionManager = DuckLakeConnectionManager
    connections: DuckLakeConnectionManager
    Relation = DuckLakeRelation
    Column = DuckLakeColumn
    _capabilities = CapabilityDict(
        {
            Capability.SchemaMetadataByRelations: FULL,
            Capability.GetCatalogForSingleRelation: FULL,
            Capability.TableLastModifiedMetadata: FULL,
            Capability.TableLastModifiedMetadataBatch: FULL,
            Capability.MicrobatchConcurrency: FULL,
        }
    )

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._warned: set[str] = set()

    @available
    def warn_once(self, message: str) -> str:
        """Warn the user, once per run and message."""
        if message not in self._warned:
            self._warned.add(message)
            warn_or_error(AdapterEventWarning(base_msg=message))
        return ""

    def _session(self) -> LakeSession:
        return self.connections.handle().session

    # -- relations and columns -------------------------------------------------------------------------------------------------

    @available.parse_list
    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Return the tables, views and functions of a schema; none if the schema or its lake does not exist."""
        database = self._lake(schema_relation.database)
        if database is None:
            return []
        with self.connections.exception_handler("list relations"), self._session().reading(database) as reader:
            schema = reader.schema(schema_relation.schema or self._session().schema)
            named = [] if schema is None else reader.names(schema.name)
            found = [(relation.name, "table" if relation.is_table else "view") for relation in named]
        if schema is None:
            return []
        found += [(function.name, "function") for function in schema.functions]
        return [
            self.Relation.create(database=database, schema=schema.name, identifier=name, type=RelationType(kind)) for name, kind in found
        ]

    @available.parse_list
    def get_columns_in_relation(self, relation: BaseRelation) -> list[DuckLakeColumn]:
        """Return the columns of a table, view or temporary view; none if it does not exist."""
        assert isinstance(relation, DuckLakeRelation)
        if relation.external is not None or (not relation.has_one_part and self._lake(relation.database) is None):
            return list(self.get_column_schema_from_query(f"select * from {relation} where false"))
        with self.connections.exception_handler(f"columns of {relation}"):
            try:
                columns = self._session().columns(relation.name_parts, relation.snapshot_version, relation.snapshot_time)
            except NotFoundError:
                return []
        found = [self.Column.from_description(column.name, column.type) for column in columns]
        for column, known in zip(found, columns, strict=True):
            column.comment = known.comment
        return found

    def expand_column_types(self, goal: BaseRelation, current: BaseRelation) -> None:
        """Widen the columns of `current`, and their nested fields, to the types of `goal` where the lake can do it by metadata alone."""
        targets = {fold(column.name): column for column in self.get_columns_in_relation(current)}
        for column in self.get_columns_in_relation(goal):
            target = targets.get(fold(column.name))
            if target is not None and target.wider_fields(column):
                self.alter_column_type(current, target.name, target.widened(column).data_type)

    @available.parse_none
    def convert_column(self, relation: DuckLakeRelation, old: DuckLakeColumn, new: DuckLakeColumn) -> None:
        """Give a new column of a table the values of an old one, as UPDATE assigns them.

        Raises:
            DbtDatabaseError: a value, or every value of the old type, cannot become one of the new type.
        """
        try:
            self.execute(f"update {relation.render()} set {new.quoted} = {old.quoted}")
        except DbtDatabaseError as error:
            if not isinstance(error.__cause__, StatementError | DataError):
                raise
            raise DbtDatabaseError(
                f"column {new.name} of {relation.render()} is {old.dtype} and cannot become {new.dtype}: {error.__cause__}. "
                "Give it a type in the model's query that its values can have, or rebuild the table with --full-refresh"
            ) from error

    @available.parse_none
    def require_absent(self, relation: DuckLakeRelation) -> None:
        """Require that a relation, which dbt did not find, still does not exist; checked again if the open transaction is replayed.

        Raises:
            DbtRuntimeError: it exists now. The first build of a node would replace what another process has just built.
        """
        session = self._session()

        def absent() -> None:
            with session.reading(relation.database) as reader:
                if reader.find(str(relation.schema), str(relation.identifier)) is not None:
                    raise StatementError(
                        f"{relation} was created by another process while this node ran for the first time, so it is not replaced. "
                        "Run the node again, or with --full-refresh to replace it"
                    )

        with self.connections.exception_handler(f"first build of {relation}"):
            session.record_read(absent)

    # -- schemas ---------------------------------------------------------------------------------------------------------------

    @available.parse_list
    def list_schemas(self, database: str) -> list[str]:
        """Return the schemas of a lake; none if the profile has no such lake.

        Args:
            database: the lake's name, which dbt gives in backquotes when it looks for the schemas that a command needs.
        """
        names = self._schemas(without_backquotes(database))
        return [name for name in names if name.lower() == fold(name)]  # dbt would take Ä for ä, which is another schema

    @available.parse(lambda *_, **__: False)
    def check_schema_exists(self, database: str, schema: str) -> bool:
        """Whether a lake has a schema."""
        return fold(schema) in map(fold, self._schemas(database))

    def _schemas(self, database: str) -> list[str]:
        lake = self._lake(database)
        if lake is None:
            return []
        with self.connections.exception_handler("list schemas"), self._session().reading(lake) as reader:
            return [schema.name for schema in reader.schemas()]

    # -- the docs catalog ------------------------------------------------------------------------------------------------------

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """Return columns, comments and statistics of one relation; None if it does not exist."""
        database, found = self._described(relation.database, {_key(relation)})
        return catalog_table(database, found[0]) if found else None

    def _get_one_catalog(
        self,
        information_schema: InformationSchema,
        schemas: Iterable[str | None],
        used_schemas: frozenset[tuple[str, str]],
    ) -> AgateTable:
        return self._filtered(self._described(information_schema.database, {(fold(str(schema)), None) for schema in schemas}), used_schemas)

    def _get_one_catalog_by_relations(
        self,
        information_schema: InformationSchema,
        relations: Iterable[BaseRelation],
        used_schemas: frozenset[tuple[str, str]],
    ) -> AgateTable:
        return self._filtered(self._described(information_schema.database, {_key(relation) for relation in relations}), used_schemas)

    def _filtered(self, described: tuple[str, list[Described]], used_schemas: frozenset[tuple[str, str]]) -> AgateTable:
        """Return the rows of these schemas. dbt's own filter infers the types of the columns again."""
        used = {(fold(database), fold(schema)) for database, schema in used_schemas if database is not None and schema is not None}
        rows: Any = catalog_rows(*described)
        table: AgateTable = rows.where(lambda row: (fold(row["table_database"]), fold(row["table_schema"])) in used)
        return table

    def _described(self, database: str | None, wanted: set[tuple[str, str | None]]) -> tuple[str, list[Described]]:
        """Return the lake and its relations for which (schema, name) or (schema, None) is in `wanted`."""
        lake = self._lake(database)
        if lake is None:
            return str(database), []

        def is_wanted(relation: RelationName) -> bool:
            schema, name = fold(relation.schema_name), fold(relation.name)
            return (schema, name) in wanted or (schema, None) in wanted

        with self.connections.exception_handler("describe relations"):
            return lake, describe(self._session(), lake, is_wanted)

    # -- freshness -------------------------------------------------------------------------------------------------------------

    def calculate_freshness_from_metadata_batch(
        self,
        sources: list[BaseRelation],
        macro_resolver: Any = None,  # noqa: ARG002 (dbt's signature)
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, Any]]:
        """Return when the rows of each source last changed; compaction and schema changes do not count.

        For a pinned source it is the last change before the pinned snapshot. A source that is not a table of a lake is left out;
        `calculate_freshness_from_metadata`, which dbt calls next, raises an error with the reason.
        """
        now = datetime.now(timezone.utc)
        by_pin: dict[tuple[str, Pin], list[BaseRelation]] = {}
        for source in sources:
            lake = None if _is_external(source) else self._lake(source.database)
            if lake is not None:
                by_pin.setdefault((lake, _pin(source)), []).append(source)
        times: dict[BaseRelation, datetime | None] = {}
        for (lake, pinned), pinned_sources in by_pin.items():
            times |= self._last_changes(lake, pinned, pinned_sources)
        return [], {source: self._create_freshness_response(time, now) for source, time in times.items()}

    @contextmanager
    def _reading_at(self, lake: str, pinned: Pin) -> Iterator[SnapshotReader | Transaction]:
        """Yield a lake at a pin, or at its current state without one."""
        session = self._session()
        with self.connections.exception_handler("source freshness"), session.reading(lake) as current:
            catalog = session.lake.catalog_of(lake)
            yield catalog.reader(catalog.resolve(version=pinned.version, timestamp=pinned.time)) if pinned else current

    def _last_changes(self, lake: str, pinned: Pin, sources: list[BaseRelation]) -> dict[BaseRelation, datetime | None]:
        with self._reading_at(lake, pinned) as reader:
            keys = {_key(source) for source in sources}
            reader.named(name for name in reader.names() if (fold(name.schema_name), fold(name.name)) in keys)  # reads them in one query
            found = {source: reader.find(*_key(source)) for source in sources}
            tables = {source: table for source, table in found.items() if isinstance(table, Table)}
            summaries = self._session().lake.catalog_of(lake).table_summaries(reader.snapshot, list(tables.values())) if tables else {}
        return {source: summaries[table.table_id].last_snapshot_time for source, table in tables.items() if table.table_id in summaries}

    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: Any = None
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """Return when the rows of one source last changed.

        Raises:
            DbtRuntimeError: the source is not a table of a lake.
        """
        _, answers = self.calculate_freshness_from_metadata_batch([source], macro_resolver)
        if source not in answers:
            raise DbtRuntimeError(self._why_not_fresh(source))
        return None, answers[source]

    def _why_not_fresh(self, source: BaseRelation) -> str:
        if _is_external(source):
            return f"{source} consists of files, so no metadata has its age. Give the source a `loaded_at_field`"
        lake = self._lake(source.database)
        if lake is None:
            return (
                f"{source} is in no lake of the profile ({', '.join(self._session().lake.names)}), so no metadata has its age. "
                "Give the source a `loaded_at_field`, or a `database` that is a lake's name"
            )
        with self._reading_at(lake, _pin(source)) as reader:
            found = reader.find(*_key(source))
        if found is None:
            return f"{source} does not exist; check `schema` and `identifier` of the source"
        return f"{source} is a view, and the lake records the last change of tables only. Give the source a `loaded_at_field`"

    def _lake(self, database: str | None) -> str | None:
        """Return the lake's name for a database, by default the current lake; None if the profile has no such lake."""
        session = self._session()
        if database is None:
            return session.database
        return session.lake.named(database) if session.lake.has(database) else None


def _pin(relation: BaseRelation) -> Pin:
    return pin(relation.snapshot_version, relation.snapshot_time) if isinstance(relation, DuckLakeRelation) else Pin()


def _is_external(relation: BaseRelation) -> bool:
    return isinstance(relation, DuckLakeRelation) and relation.external is not None


def _key(relation: BaseRelation) -> tuple[str, str]:
    return fold(str(relation.schema)), fold(str(relation.identifier))
