"""Where a statement runs: which lake and schema are current, which snapshots it sees, and which names mean what.

Binding: each lake relation that a text names becomes a temporary view of Spark, pinned at a snapshot, whose name says which:
`lake.main.orders@42`, with `#` and a number behind it if files are left out that the statement's conditions do not need. A one-part
name means, in this order, a CTE (the parser leaves those out), a temporary view, a relation of the current schema. The first of three
parts says which lake is meant; there the same rules hold (`elsewhere`). Names that are none of ours are left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING

from ..catalog.transaction import Transaction
from ..errors import LakeError, NotFoundError, StatementError
from ..lake.context import Context
from ..spark.errors import translate
from ..spark.plan_types import differing
from ..spark.scan import scan
from ..spark.temporary import compares_dates_as_texts, is_temporary_view, timestamp_value, timestamps_are_instants, zone_is_utc
from ..spec.files import ColumnFilter, ScanPlan
from ..spec.identifiers import backquoted
from ..spec.objects import Macro, Relation, Table, View
from .information_schema import INFORMATION_SCHEMA, information_view
from .pins import ANY_TABLE, Looked, Pins, Reader
from .predicates import of_condition, of_reference
from .references import references
from .result import FilesRead
from .scalars import scalar_call
from .values import Name, Reference, Sql, TimeTravel
from .view_text import is_our_text, spark_text, without_counterpart
from .virtual import virtual_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DEEPEST_VIEW = 64


Shown = dict[Reference, tuple[str, ...]]
"""The virtual columns that a reference shows."""


@dataclass(frozen=True)
class Found:
    """A relation that a name in a query means, with the surroundings in its lake and the snapshot at which it is seen."""

    env: Environment
    reader: Reader
    relation: Relation


@dataclass
class Environment:
    """One statement's surroundings, in the lake that is current or in another one."""

    database: str
    """The name of the lake that names without one mean."""
    schema: str
    lakes: Mapping[str, Callable[[], Context]]
    """Every lake there is by its name, and what works on it; to ask for that begins its transaction."""
    pins: Pins
    spark_started: Callable[[], bool]
    begun: bool
    """The transaction was begun by the user; otherwise it ends with this statement."""
    functions: Callable[[Environment, Reference], DataFrame | None]
    """The rows of a call in FROM, None if it is none of the lake's functions."""
    last_committed: Mapping[str, int] = field(default_factory=dict)
    """The snapshot that this session committed last, by the name of the lake."""
    reads: list[FilesRead] = field(default_factory=list)
    """The files that the statement reads, table by table."""
    touched: set[str] = field(default_factory=set)
    """The lakes that a query has looked into."""
    looked: set[Looked] = field(default_factory=set)
    """The tables whose rows a query may read."""

    @property
    def context(self) -> Context:
        return self.lakes[self.database]()

    @property
    def transaction(self) -> Transaction:
        return self.context.transaction

    def elsewhere(self, database: str) -> Environment | None:
        """The same surroundings in the lake of that name, compared without case; None if there is none."""
        if database.casefold() == self.database.casefold():
            return self
        name = next((each for each in self.lakes if each.casefold() == database.casefold()), None)
        return None if name is None else replace(self, database=name, schema="main")

    # -- names -----------------------------------------------------------------------------------------------------------------

    def place(self, name: Name) -> tuple[Environment, str, str]:
        """(surroundings in its lake, schema, name) of a relation that a statement makes or changes.

        Raises:
            StatementError: the name belongs to no lake.
        """
        place = self._located(name)
        if place is None:
            raise StatementError(f"{name} is in no lake; {self.known}, and only its own tables and views can be changed")
        return place

    def schema_place(self, name: Name | None) -> tuple[Environment, str]:
        """(surroundings in its lake, schema) that `name` (one or two parts) means; without a name the current one."""
        if name is None:
            return self, self.schema
        if len(name.parts) == 1:
            return self, name.parts[0]
        there = self.elsewhere(name.parts[0]) if len(name.parts) == 2 else None
        if there is None:
            raise StatementError(f"schema {name} is in no lake; {self.known}")
        return there, name.parts[1]

    @property
    def known(self) -> str:
        """Which lakes there are, for errors."""
        if len(self.lakes) == 1:
            return f"this lake's name is {self.database}"
        return f"the lakes here are {', '.join(self.lakes)}"

    def _located(self, name: Name, reader: Reader | None = None) -> tuple[Environment, str, str] | None:
        """(surroundings, schema, relation) of a name, whether there is such a relation or not; None if it belongs to no lake.

        Args:
            reader: the snapshot whose schemas count; the transaction's without it.
        """
        parts = name.parts
        if len(parts) == 1:
            return self, self.schema, parts[0]
        there = self.elsewhere(parts[0])
        if len(parts) == 2:
            if there is None or (reader or self.transaction).schema(parts[0]) is not None:
                return self, parts[0], parts[1]
            return there, "main", parts[1]  # lake.t, as DuckDB stores it in a view
        return None if there is None or len(parts) != 3 else (there, parts[1], parts[2])

    def find(self, name: Name, at: TimeTravel | None = None, reader: Reader | None = None, *, temporary: bool = True) -> Found | None:
        """The relation of a lake that a name in a query means; None if it is Spark's to judge.

        Args:
            at: the time travel behind the name.
            reader: at what names of this lake are seen without it; other lakes are seen as their transactions see them.

        Raises:
            NotFoundError: the name can only be meant for a lake, and nothing of that name is there.
        """
        place = self._located(name, reader)
        if place is None:
            return None
        there, schema, relation_name = place
        seen = there.reader_at(at, reader if there is self else None)
        parts = len(name.parts)
        if parts == 1 and temporary and self.spark_started() and is_temporary_view(self.context.spark(), relation_name):
            return None
        relation = seen.find(schema, relation_name)
        if relation is None and parts > 1 and schema.casefold() == INFORMATION_SCHEMA and seen.schema(schema) is None:
            relation = information_view(relation_name, there.database, seen)
        if relation is not None:
            return Found(there, seen, relation)
        if parts == 1 or (parts == 2 and seen.schema(schema) is None):
            return None
        if seen.schema(schema) is None:
            raise NotFoundError("schema", schema, f"{name} was asked for; CREATE SCHEMA {schema} makes the schema")
        raise NotFoundError("table or view", str(name))

    # -- binding ---------------------------------------------------------------------------------------------------------------

    def bound(self, sql: Sql, known: tuple[Name, ...] = ()) -> str:
        """The text with every name of the lake replaced by its pinned view."""
        shown: Shown = {}
        return sql.bind(
            lambda reference: self._resolve(sql, reference, shown),
            known,
            lambda name: scalar_call(self, name),
            lambda reference: shown.get(reference, ()),
        )

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

    def _resolve(
        self, sql: Sql, reference: Reference, shown: Shown, reader: Reader | None = None, *, temporary: bool = True, depth: int = 0
    ) -> str | None:
        """What takes the place of a reference; `shown` is told which virtual columns it has then."""
        if reference.arguments is not None:
            return self._called(reference)
        found = self.find(reference.name, reference.at, reader, temporary=temporary)
        if found is None:
            if reference.at is not None and len(reference.name.parts) == 1:
                raise NotFoundError("table", str(reference.name), "Only tables of the lake have earlier versions")
            return None
        table = found.relation
        if not isinstance(table, Table):
            return backquoted(found.env.pinned(table, found.reader, str(reference.name), depth))

        def lookup(other: Reference) -> Table | None:
            named = None if other.arguments is not None else self.find(other.name, other.at, reader, temporary=temporary)
            return named.relation if named is not None and isinstance(named.relation, Table) else None

        def needed() -> tuple[ColumnFilter, ...]:
            return tuple(of_reference(sql, reference, table, lookup, self.zone_is_utc)) if self.can_prune() else ()

        shown[reference] = virtual = virtual_columns(reference.virtual, table)
        return backquoted(found.env.pinned(table, found.reader, str(reference.name), depth, needed, virtual))

    def _called(self, reference: Reference) -> str | None:
        """A temporary view of what a function of the lake gives now, by its text; None if it is none of the lake's."""
        frame = self.functions(self, reference)
        if frame is None:
            return None
        pin = f"{self.database}.{reference.name}({reference.arguments})@{self.transaction.snapshot.snapshot_id}"
        self.look(ANY_TABLE, self.transaction)
        frame.createOrReplaceTempView(backquoted(pin))
        self.pins.names[pin] = str(reference.name)
        return backquoted(pin)

    def touch(self) -> None:
        """Say that the query looks into this lake, at its snapshot of now."""
        self.touched.add(self.database)
        self.pins.at(self.database, self.transaction.snapshot.snapshot_id)

    def look(self, tables: Iterable[Looked], reader: Reader) -> None:
        """Say that a query reads rows of these tables, as `reader` sees them."""
        self.looked.update(tables)
        if isinstance(reader, Transaction):
            for table_id, condition in tables:
                reader.reads_rows(table_id, condition)

    def pinned(
        self,
        relation: Relation,
        reader: Reader,
        user_name: str,
        depth: int = 0,
        needed: Callable[[], tuple[ColumnFilter, ...]] | None = None,
        virtual: tuple[str, ...] = (),
    ) -> str:
        """The name of a temporary view that shows `relation` as `reader` sees it, registered if it is not yet.

        Args:
            needed: what its rows must pass to matter. A view that lacks files for that reason has a name of its own.
            virtual: the virtual columns that the view shows as real ones, behind its own.
        """
        self.touch()
        base = f"{self.database}.{relation.schema_name}.{relation.name}@{reader.snapshot.snapshot_id}{self.pins.suffix(reader)}"
        if isinstance(relation, Table):
            pin, filters = self._table_view(relation, reader, "+".join((base, *virtual)), needed, virtual)
            self.look([(relation.table_id, filters)], reader)
        else:
            pin = self._view_view(relation, reader, base, user_name, depth)
            self.look(self.pins.looked[pin], reader)
        self.pins.names[pin] = user_name
        self.reads += self.pins.reads[pin]
        return pin

    def _table_view(
        self,
        table: Table,
        reader: Reader,
        base: str,
        needed: Callable[[], tuple[ColumnFilter, ...]] | None,
        virtual: tuple[str, ...],
    ) -> tuple[str, tuple[ColumnFilter, ...]]:
        known = self.pins.files.get(base)
        filters = None if needed is not None and known is None else needed() if needed is not None and (known or 0) > 1 else ()
        pin = None if filters is None else self.pins.fresh.get((base, filters))
        if pin is not None and filters is not None:
            return pin, filters
        asked: list[tuple[ColumnFilter, ...]] = []

        def ask() -> tuple[ColumnFilter, ...]:
            asked.append(() if needed is None else needed())
            return asked[-1]

        plan = reader.scan_plan(table, within=ask if filters is None else filters)
        filters = filters or (asked[0] if asked else ())
        self.pins.files[base] = len(plan.files) + plan.pruned_files
        pin = base if plan.pruned_files == 0 else f"{base}#{next(self.pins.numbers)}"
        if pin != base or (base, ()) not in self.pins.fresh:
            scan(self.context.spark(), plan, virtual=virtual).createOrReplaceTempView(backquoted(pin))
            self.pins.reads[pin] = (FilesRead.by(base, plan),)
        self.pins.fresh[base, filters] = pin
        if pin == base:
            self.pins.fresh[base, ()] = base
        return pin, filters

    def _view_view(self, view: View, reader: Reader, pin: str, user_name: str, depth: int) -> str:
        if (pin, ()) not in self.pins.fresh:
            inside = replace(self, reads=[], touched=set(), looked=set())
            inside.view_frame(view, reader, user_name, depth).createOrReplaceTempView(backquoted(pin))
            self.pins.reads[pin], self.pins.looked[pin] = tuple(inside.reads), frozenset(inside.looked)
            self.touched |= inside.touched
            if inside.touched <= {self.database}:  # another lake may be at another snapshot the next time
                self.pins.fresh[pin, ()] = pin
        return pin

    def plan(self, table: Table, condition: Sql | None, alias: str) -> tuple[ScanPlan, Sequence[ColumnFilter]]:
        """How to read the rows of a table that may satisfy the condition of a DELETE or UPDATE, and what such rows must pass."""

        @cache
        def within() -> Sequence[ColumnFilter]:
            return of_condition(condition, table, alias, self.zone_is_utc) if condition is not None and self.can_prune() else ()

        plan = self.transaction.scan_plan(table, within=within)
        self.note(table, plan)
        rows = bool(plan.files or plan.inlined or plan.pruned_files)  # of an empty table Spark is not started to say which they are
        return plan, within() if rows or self.spark_started() else ()

    def note(self, table: Table, plan: ScanPlan) -> None:
        """Remember what is read of a table that the statement changes."""
        name = f"{self.database}.{table.schema_name}.{table.name}@{self.transaction.snapshot.snapshot_id}"
        self.reads.append(FilesRead.by(name, plan))

    def can_prune(self) -> bool:
        """Whether this session compares as conditions are understood here."""
        spark = self.context.spark()
        return not compares_dates_as_texts(spark) and timestamps_are_instants(spark)

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
            if not is_our_text(view):
                piece = differing(frame, from_spark=False)
                if piece is not None:
                    raise without_counterpart(view, piece)
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
        shown: Shown = {}
        return sql.bind(
            lambda reference: own._resolve(sql, reference, shown, reader, temporary=False, depth=depth + 1),
            function=lambda name: scalar_call(own, name, reader, depth + 1),
            virtual=lambda reference: shown.get(reference, ()),
        )

    def spark_text(self, view: View, reader: Reader) -> str:
        """The query of a view in Spark's dialect, with this lake's name in it."""
        return spark_text(view, self.database, lambda parts, is_table: self._macro(view, reader, parts, is_table))

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
