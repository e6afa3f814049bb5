"""Where a statement runs: which lake, which schema is current, which snapshot it sees, and which names mean what.

Binding: each lake relation that a text names becomes a temporary view of Spark, pinned at a snapshot, whose name says which:
`lake.main.orders@42`, with `#` and a number behind it if files are left out that the statement's conditions do not need. A one-part
name means, in this order, a CTE (the parser leaves those out), a temporary view, a relation of the current schema. Names that are none
of ours are left to Spark.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ..catalog.reader import SnapshotReader
from ..catalog.transaction import Transaction
from ..errors import LakeError, NotFoundError, StatementError
from ..lake.context import Context
from ..lake.views import SPARK_SQL_TAG
from ..spark.errors import translate
from ..spark.scan import scan
from ..spark.temporary import compares_dates_as_texts, is_temporary_view, timestamp_value, zone_is_utc
from ..spec.files import ColumnFilter, ScanPlan
from ..spec.identifiers import backquoted
from ..spec.objects import Macro, Relation, Table, View
from .dialects import to_spark
from .information_schema import INFORMATION_SCHEMA, information_view
from .macro_calls import expand_macros
from .predicates import of_condition, of_reference
from .references import references
from .result import FilesRead
from .scalars import scalar_call
from .values import Name, Reference, Sql, TimeTravel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Reader = SnapshotReader | Transaction
CATALOG_PLACEHOLDER = "{DUCKLAKE_CATALOG}"
DEEPEST_VIEW = 64


@dataclass
class Pins:
    """The pinned views that a Spark session holds: view name → the user's name for it."""

    names: dict[str, str] = field(default_factory=dict)
    snapshot_id: int = -1
    fresh: dict[tuple[str, tuple[ColumnFilter, ...]], str] = field(default_factory=dict)
    """(relation at a snapshot, what its rows must pass to matter) → the view to read."""
    files: dict[str, int] = field(default_factory=dict)
    """Table at a snapshot → how many files it has."""
    reads: dict[str, tuple[FilesRead, ...]] = field(default_factory=dict)
    """View → the files behind it."""
    scalars: set[str] = field(default_factory=set)
    """The temporary functions that are functions of the lake."""
    staged: object = None
    revision: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def at(self, snapshot_id: int) -> None:
        """Forget which views are fresh when the lake has moved on: what lies behind an older pin may have been compacted since."""
        if snapshot_id != self.snapshot_id:
            self.fresh.clear()
            self.files.clear()
            self.scalars.clear()
            self.snapshot_id = snapshot_id

    def suffix(self, reader: Reader) -> str:
        """What tells the lake with staged changes from the snapshot they are based on; another one after each change."""
        if not isinstance(reader, Transaction) or not reader.has_changes:
            return ""
        if reader.staged is not self.staged:
            self.staged = reader.staged
            self.revision += 1
        return f"+{self.revision}"


@dataclass
class Environment:
    """One statement's surroundings."""

    database: str
    schema: str
    context: Context
    pins: Pins
    spark_started: Callable[[], bool]
    begun: bool
    """The transaction was begun by the user; otherwise it ends with this statement."""
    functions: Callable[[Environment, Reference], DataFrame | None]
    """The rows of a call in FROM, None if it is none of the lake's functions."""
    last_committed: int | None = None
    """The snapshot that this session committed last."""
    reads: list[FilesRead] = field(default_factory=list)
    """The files that the statement reads, table by table."""

    @property
    def transaction(self) -> Transaction:
        return self.context.transaction

    # -- names -----------------------------------------------------------------------------------------------------------------

    def place(self, name: Name) -> tuple[str, str]:
        """(schema, name) of a relation that a statement makes or changes.

        Raises:
            StatementError: the name belongs to another database.
        """
        parts = name.parts
        if len(parts) == 1:
            return self.schema, parts[0]
        if len(parts) == 2:
            return parts[0], parts[1]
        if len(parts) == 3 and parts[0].casefold() == self.database.casefold():
            return parts[1], parts[2]
        raise StatementError(f"{name} is not in this lake, whose name is {self.database}; only its own tables and views can be changed")

    def schema_place(self, name: Name | None) -> str:
        """The schema that `name` (one or two parts) means; without a name the current one."""
        if name is None:
            return self.schema
        if len(name.parts) == 1:
            return name.parts[0]
        if len(name.parts) == 2 and name.parts[0].casefold() == self.database.casefold():
            return name.parts[1]
        raise StatementError(f"schema {name} is not in this lake, whose name is {self.database}")

    def find(self, name: Name, reader: Reader, *, temporary: bool = True) -> Relation | None:
        """The relation of the lake that a name in a query means; None if it is Spark's to judge.

        Raises:
            NotFoundError: the name can only be meant for this lake, and nothing of that name is there.
        """
        parts = name.parts
        if len(parts) == 1:
            if temporary and self.spark_started() and is_temporary_view(self.context.spark(), parts[0]):
                return None
            return reader.find(self.schema, parts[0])
        if len(parts) == 2:
            if reader.schema(parts[0]) is not None:
                return self._required(reader, parts[0], parts[1], name)
            if parts[0].casefold() == self.database.casefold():  # lake.t, as DuckDB stores it in a view
                return self._required(reader, "main", parts[1], name)
            return self._information(parts[0], parts[1], reader)
        if len(parts) == 3 and parts[0].casefold() == self.database.casefold():
            return self._information(parts[1], parts[2], reader) or self._required(reader, parts[1], parts[2], name)
        return None

    def _information(self, schema: str, name: str, reader: Reader) -> View | None:
        """A relation of `information_schema`, unless the lake has a schema of that name."""
        if schema.casefold() != INFORMATION_SCHEMA or reader.schema(schema) is not None:
            return None
        return information_view(name, self.database, reader)

    def _required(self, reader: Reader, schema: str, relation: str, name: Name) -> Relation:
        found = reader.find(schema, relation)
        if found is None:
            if reader.schema(schema) is None:
                raise NotFoundError("schema", schema, f"{name} was asked for; CREATE SCHEMA {schema} makes the schema")
            raise NotFoundError("table or view", str(name))
        return found

    # -- binding ---------------------------------------------------------------------------------------------------------------

    def bound(self, sql: Sql, known: tuple[Name, ...] = ()) -> str:
        """The text with every name of the lake replaced by its pinned view."""
        here = self.transaction
        return sql.bind(lambda reference: self._resolve(sql, reference, here), known, lambda name: scalar_call(self, name, here))

    def query(self, sql: Sql) -> DataFrame:
        """The rows of a query, lazily."""
        return self.context.spark().sql(self.bound(sql))

    def reader_at(self, at: TimeTravel | None, reader: Reader | None = None) -> Reader:
        """The reader for a time-travel clause; without one, the transaction itself (or `reader`)."""
        if at is None:
            return reader if reader is not None else self.transaction
        moment = None if at.timestamp is None else self._moment(at.timestamp)
        return self.context.catalog.reader(self.context.catalog.resolve(version=at.version, timestamp=moment))

    def _moment(self, text: str) -> datetime:
        plain = text.strip().strip("'")
        try:
            moment = datetime.fromisoformat(plain)
        except ValueError:
            moment = timestamp_value(self.context.spark(), text)
        return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)

    def _resolve(self, sql: Sql, reference: Reference, reader: Reader, *, temporary: bool = True, depth: int = 0) -> str | None:
        if reference.arguments is not None:
            return self._called(reference)
        at = self.reader_at(reference.at, reader)
        relation = self.find(reference.name, at, temporary=temporary)
        if relation is None:
            if reference.at is not None and len(reference.name.parts) == 1:
                raise NotFoundError("table", str(reference.name), "Only tables of the lake have earlier versions")
            return None
        if not isinstance(relation, Table):
            return backquoted(self.pinned(relation, at, str(reference.name), depth))

        def lookup(other: Reference) -> Table | None:
            if other.arguments is not None:
                return None
            found = self.find(other.name, self.reader_at(other.at, reader), temporary=temporary)
            return found if isinstance(found, Table) else None

        def needed() -> tuple[ColumnFilter, ...]:
            return tuple(of_reference(sql, reference, relation, lookup, self.zone_is_utc)) if self.can_prune() else ()

        return backquoted(self.pinned(relation, at, str(reference.name), depth, needed))

    def _called(self, reference: Reference) -> str | None:
        """A temporary view of what a function of the lake gives now, by its text; None if it is none of the lake's."""
        frame = self.functions(self, reference)
        if frame is None:
            return None
        pin = f"{self.database}.{reference.name}({reference.arguments})@{self.transaction.snapshot.snapshot_id}"
        frame.createOrReplaceTempView(backquoted(pin))
        self.pins.names[pin] = str(reference.name)
        return backquoted(pin)

    def pinned(
        self,
        relation: Relation,
        reader: Reader,
        user_name: str,
        depth: int = 0,
        needed: Callable[[], tuple[ColumnFilter, ...]] | None = None,
    ) -> str:
        """The name of a temporary view that shows `relation` as `reader` sees it, registered if it is not yet.

        Args:
            needed: what its rows must pass to matter. A view that lacks files for that reason has a name of its own.
        """
        self.pins.at(self.transaction.snapshot.snapshot_id)
        base = f"{self.database}.{relation.schema_name}.{relation.name}@{reader.snapshot.snapshot_id}{self.pins.suffix(reader)}"
        if isinstance(relation, Table):
            pin = self._table_view(relation, reader, base, needed)
        else:
            pin = self._view_view(relation, reader, base, user_name, depth)
        self.pins.names[pin] = user_name
        self.reads += self.pins.reads[pin]
        return pin

    def _table_view(self, table: Table, reader: Reader, base: str, needed: Callable[[], tuple[ColumnFilter, ...]] | None) -> str:
        known = self.pins.files.get(base)
        filters = None if needed is not None and known is None else needed() if needed is not None and (known or 0) > 1 else ()
        pin = None if filters is None else self.pins.fresh.get((base, filters))
        if pin is not None:
            return pin
        asked: list[tuple[ColumnFilter, ...]] = []

        def ask() -> tuple[ColumnFilter, ...]:
            asked.append(() if needed is None else needed())
            return asked[-1]

        plan = reader.scan_plan(table, within=ask if filters is None else filters)
        filters = filters or (asked[0] if asked else ())
        self.pins.files[base] = len(plan.files) + plan.pruned_files
        pin = base if plan.pruned_files == 0 else f"{base}#{next(self.pins.numbers)}"
        if pin != base or (base, ()) not in self.pins.fresh:
            scan(self.context.spark(), plan).createOrReplaceTempView(backquoted(pin))
            self.pins.reads[pin] = (FilesRead.by(base, plan),)
        self.pins.fresh[base, filters] = pin
        if pin == base:
            self.pins.fresh[base, ()] = base
        return pin

    def _view_view(self, view: View, reader: Reader, pin: str, user_name: str, depth: int) -> str:
        if (pin, ()) not in self.pins.fresh:
            inside = replace(self, reads=[])
            inside.view_frame(view, reader, user_name, depth).createOrReplaceTempView(backquoted(pin))
            self.pins.reads[pin] = tuple(inside.reads)
            self.pins.fresh[pin, ()] = pin
        return pin

    def plan(self, table: Table, condition: Sql | None, alias: str) -> ScanPlan:
        """How to read the rows of a table that may satisfy the condition of a DELETE or UPDATE."""

        def needed() -> Sequence[ColumnFilter]:
            return of_condition(condition, table, alias, self.zone_is_utc) if condition is not None and self.can_prune() else ()

        plan = self.transaction.scan_plan(table, within=needed)
        self.note(table, plan)
        return plan

    def note(self, table: Table, plan: ScanPlan) -> None:
        """Remember what is read of a table that the statement changes."""
        name = f"{self.database}.{table.schema_name}.{table.name}@{self.transaction.snapshot.snapshot_id}"
        self.reads.append(FilesRead.by(name, plan))

    def can_prune(self) -> bool:
        """Whether this session compares as conditions are understood here."""
        return not compares_dates_as_texts(self.context.spark())

    def zone_is_utc(self) -> bool:
        """Whether the wall clock of this session is that of instants."""
        return zone_is_utc(self.context.spark())

    def view_frame(self, view: View, reader: Reader, user_name: str, depth: int = 0) -> DataFrame:
        """The rows of a view: its text bound in its own schema, where temporary views do not count.

        Raises:
            LakeError: the text cannot be said in Spark's dialect, or refers to something that is gone.
        """
        if depth > DEEPEST_VIEW:
            raise LakeError(f"view {user_name} refers to itself; CREATE OR REPLACE VIEW it with a query that does not")
        text = self.spark_text(view, reader)
        try:
            frame = self.context.spark().sql(self.bound_within(view.schema_name, text, reader, depth))
        except LakeError:
            raise
        except Exception as error:
            told = translate(error, self.pins.names)
            if not isinstance(told, (NotFoundError, StatementError)):
                raise
            text = str(told).rstrip(". ")
            raise LakeError(f"view {user_name} is broken: {text}. CREATE OR REPLACE VIEW or DROP VIEW mends it") from error
        return frame.toDF(*view.column_aliases) if view.column_aliases else frame

    def bound_within(self, schema: str, text: str, reader: Reader, depth: int) -> str:
        """The text of a view or function of the lake, bound in its own schema, where temporary views do not count."""
        own, sql = replace(self, schema=schema), references(text)
        return sql.bind(
            lambda reference: own._resolve(sql, reference, reader, temporary=False, depth=depth + 1),
            function=lambda name: scalar_call(own, name, reader, depth + 1),
        )

    def spark_text(self, view: View, reader: Reader) -> str:
        """The query of a view in Spark's dialect, with this lake's name in it and without the macros that DuckDB keeps in the lake.

        Raises:
            LakeError: it was made by DuckDB with SQL that has no translation.
        """
        text = view.tags.get(SPARK_SQL_TAG)
        if text is None and view.dialect == "spark":
            text = view.sql
        if text is not None:
            return text.replace(CATALOG_PLACEHOLDER, backquoted(self.database))
        stored = view.sql.replace(CATALOG_PLACEHOLDER, '"' + self.database.replace('"', '""') + '"')
        expanded = expand_macros(stored, lambda parts, is_table: self._macro(view, reader, parts, is_table))
        translated = None if expanded is None else to_spark(expanded)
        if translated is None:
            raise LakeError(
                f"view {view.schema_name}.{view.name} was made by DuckDB with SQL that cannot be said in Spark's: {view.sql}. "
                "Create it again from here, or as a table"
            )
        return translated

    def _macro(self, view: View, reader: Reader, parts: tuple[str, ...], is_table: bool) -> Macro | None:
        """The macro that a call in a view means: without a schema one of the view's own, then one of `main`."""
        if len(parts) == 3 and parts[0].casefold() != self.database.casefold():
            return None
        schemas = [parts[-2]] if len(parts) > 1 else [view.schema_name, "main"]
        found = [
            macro
            for schema in schemas
            for macro in reader.macros(schema)
            if macro.name.casefold() == parts[-1].casefold() and macro.is_table == is_table
        ]
        return found[0] if found else None
