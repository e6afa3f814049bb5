"""The environment of a statement: the lakes with their transactions, the names, and the Spark session that shows relations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..catalog.transaction.transaction import Transaction
from ..errors import StatementError
from ..format.files import ScanPlan
from ..format.identifiers import fold, spark_literal
from ..format.objects import Snapshot, Table
from ..format.timestamps import python_datetime
from ..lake.context import Context
from ..plan.bound import Bound, BoundCall, BoundRows, FilesRead
from ..plan.names import Names, TemporaryView
from ..plan.resolve import Planning, resolve
from ..plan.scans import ScanPlans
from ..plan.view import LakeView, Settings
from ..spark.read.unneeded import unneeded_columns
from ..spark.rows.fetch import column_types
from ..spark.session.temporary import timestamp_value
from ..sql.references import rows_of
from ..sql.values import Name, Sql, TimeTravel
from .registry import Registering, ScanRegistry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIXED_ZONE = re.compile(r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::(?P<minutes>\d{2}))?")
"""Zones of Spark that Python does not have; asking Spark takes long for many values."""
MAX_CACHED = 64
"""The maximum number of views whose columns are cached. A view is usually described soon after it was created."""


@dataclass
class SessionState:
    """The state of a session between statements, besides its transaction."""

    lake: str
    """The current lake, which names without a lake mean."""
    schema: str
    temporary: Mapping[str, TemporaryView] = field(default_factory=dict)
    """The temporary views by folded name. The mapping is replaced, never changed, so that a reference to it is a savepoint."""
    cached: Mapping[str, BoundRows] = field(default_factory=dict)
    """Temporary views whose rows are cached."""
    frames: list[tuple[DataFrame, str]] = field(default_factory=list)
    """The cached rows, each with the view that shows them."""
    columns: dict[tuple[Bound, Settings], Sequence[tuple[str, str]]] = field(default_factory=dict)
    """The columns of views that Spark has analyzed, by the query that reads the view."""
    registry: ScanRegistry = field(default_factory=ScanRegistry)
    plans: ScanPlans = field(default_factory=ScanPlans)
    setting_changes: int = 0
    """How often a setting of the Spark session may have changed."""
    settings_of_transaction: bool = False
    """Whether SET, or another statement that Spark has run, has changed the Spark session since the transaction began."""
    last_committed: dict[str, int] = field(default_factory=dict)
    """The number of the snapshot that this session committed last, by the name of the lake."""

    @property
    def meaning(self) -> tuple[object, ...]:
        """What decides, besides the lakes, what a text means: its names and the settings."""
        return self.lake, self.schema, self.temporary, self.setting_changes

    def forget_spark(self) -> None:
        """Forget what a Spark session had, because its process has ended. Temporary views are resolved from their text again."""
        self.registry.clear()
        self.columns.clear()
        self.frames.clear()
        self.cached = {}
        self.setting_changes += 1
        self.settings_of_transaction = False

    def add_view(self, view: TemporaryView) -> None:
        """Add a temporary view, which replaces one with the same name."""
        key = fold(view.name)
        self.drop_views(lambda name: name == key)
        self.temporary = {**self.temporary, key: view}

    def drop_views(self, is_dropped: Callable[[str], bool]) -> None:
        """Drop the temporary views for whose folded name the function returns true."""
        self.temporary = {name: view for name, view in self.temporary.items() if not is_dropped(name)}
        self.cached = {name: rows for name, rows in self.cached.items() if not is_dropped(name)}


@dataclass(frozen=True)
class OpenLakes:
    """The lakes of a statement, each with its transaction."""

    contexts: Mapping[str, Callable[[], Context]]
    """Returns the context of each lake; the call begins the lake's transaction."""
    time_zone: Callable[[], str]
    """Returns the time zone of the session, without starting Spark."""
    written_files: Callable[[], Mapping[str, int]]
    """Returns the files that the transactions staged, without beginning one: path → size in bytes."""
    earlier: dict[tuple[str, TimeTravel], LakeView] = field(default_factory=dict)
    """The earlier snapshots that the statement has looked up, by lake and clause."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the lakes."""
        return tuple(self.contexts)

    def view(self, lake: str) -> LakeView:
        """Return a lake as its transaction sees it."""
        return self.contexts[lake]().transaction

    def view_at(self, lake: str, at: TimeTravel) -> LakeView:
        """Return a lake at an earlier snapshot, the same one for the whole statement.

        A timestamp without a zone is in the session's zone. A timestamp means no snapshot that is newer than the transaction's.
        """
        if (lake, at) not in self.earlier:
            self.earlier[lake, at] = self._view_at(self.contexts[lake](), at)
        return self.earlier[lake, at]

    def _view_at(self, context: Context, at: TimeTravel) -> LakeView:
        if at.timestamp is None:
            return context.catalog.reader(context.catalog.resolve(version=at.version))
        found = context.catalog.resolve(timestamp=self._instant(at.timestamp, context))
        return context.catalog.reader(min(found, context.transaction.snapshot, key=lambda each: each.snapshot_id))

    def _instant(self, text: str, context: Context) -> datetime:
        try:
            time = python_datetime(text.strip().strip("'"))
        except ValueError:
            return timestamp_value(context.spark(), text)
        return self.localized(time, context)

    def localized(self, time: datetime, context: Context) -> datetime:
        """Return a timestamp with a zone: the session's if it has none."""
        return time if time.tzinfo is not None else self.in_zone(context)(time)

    def in_zone(self, context: Context) -> Callable[[datetime], datetime]:
        """Return a function that gives a local time the session's time zone."""
        zone = self.time_zone()
        fixed = _FIXED_ZONE.fullmatch(zone)
        if fixed is not None:
            offset = timedelta(hours=int(fixed["hours"]), minutes=int(fixed["minutes"] or 0))
            found: tzinfo = timezone(-offset if fixed["sign"] == "-" else offset)
        else:
            try:
                found = ZoneInfo(zone)
            except (ZoneInfoNotFoundError, ValueError):  # only Spark knows it
                return lru_cache(lambda time: timestamp_value(context.spark(), spark_literal(str(time))))
        return lambda time: time.replace(tzinfo=found)


@dataclass(frozen=True)
class Environment:
    """The environment of one statement in the lake of `names`.

    Args:
        names: resolves names.
        lakes: all lakes.
        planning: the settings, scan plans and function calls that `resolve` uses.
        state: the session's state.
        spark_started: returns whether the Spark session has been started.
        in_user_transaction: whether the user began the transaction with BEGIN; otherwise it ends with this statement.
        frame_of_call: returns the rows of a lake function.
        run_alone: runs an action in a transaction of its own, as a statement is, and returns its result and the snapshot.
        reads: the files that the statement reads, table by table.
    """

    names: Names
    lakes: OpenLakes
    planning: Planning
    state: SessionState
    spark_started: Callable[[], bool]
    in_user_transaction: bool
    frame_of_call: Callable[[Environment, BoundCall], DataFrame]
    run_alone: Callable[[Callable[[Environment], Context]], tuple[Context, Snapshot | None]]
    reads: list[FilesRead] = field(default_factory=list)

    @property
    def lake(self) -> str:
        """The name of the lake."""
        return self.names.lake

    @property
    def schema(self) -> str:
        """The current schema."""
        return self.names.schema

    @property
    def context(self) -> Context:
        """The context of the lake."""
        return self.lakes.contexts[self.lake]()

    @property
    def transaction(self) -> Transaction:
        """The lake's transaction."""
        return self.context.transaction

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started if it is not running."""
        return self.context.spark()

    # -- names -----------------------------------------------------------------------------------------------------------------

    def with_names(self, names: Names) -> Environment:
        """Return this environment with other names, in their lake."""
        return self if names is self.names else replace(self, names=names)

    def in_lake(self, lake: str) -> Environment | None:
        """Return this environment in another lake; None if there is no such lake."""
        names = self.names.in_lake(lake)
        return None if names is None else self.with_names(names)

    def place(self, name: Name) -> tuple[Environment, str, str]:
        """Return (environment in its lake, schema, name) of a relation that a statement creates or changes.

        Raises:
            StatementError: the name belongs to no lake.
        """
        names, schema, relation = self.names.place(name)
        return self.with_names(names), schema, relation

    def schema_place(self, name: Name | None) -> tuple[Environment, str]:
        """Return (environment in its lake, schema) for a name of one or two parts; without a name the current schema.

        Raises:
            StatementError: the name belongs to no lake.
        """
        if name is None:
            return self, self.schema
        if len(name.parts) == 1:
            return self, name.parts[0]
        owner = self.in_lake(name.parts[0]) if len(name.parts) == 2 else None
        if owner is None:
            raise StatementError(f"schema {name} is in no lake; {self.names.known}")
        return owner, name.parts[1]

    def localized(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call; a timestamp without a zone gets the session's zone."""
        return {
            name: self.lakes.localized(value, self.context) if isinstance(value, datetime) else value for name, value in arguments.items()
        }

    # -- SQL -------------------------------------------------------------------------------------------------------------------

    def resolve(self, sql: Sql, known: tuple[Name, ...] = (), *, only_columns: bool = False) -> Bound:
        """Return the text with values for its names; record the files and rows that it reads.

        If only its columns matter, nothing is recorded and tables have no rows.
        """
        bound = resolve(sql, self.names, self.planning, known, only_columns=only_columns)
        if only_columns:
            return bound
        self.reads.extend(bound.reads)
        for rows in bound.depends_on:
            self.lakes.contexts[rows.lake]().transaction.record_read(rows.table_id, rows.filters)
        return bound

    def text(self, bound: Bound) -> str:
        """Return the text for Spark, after registering its relations in Spark."""
        how = Registering(self.spark, self.planning.settings(), partial(self.frame_of_call, self))
        return self.state.registry.text(bound, how)

    def spark_text(self, sql: Sql, known: tuple[Name, ...] = ()) -> str:
        """Resolve SQL and return it for Spark."""
        return self.text(self.resolve(sql, known))

    def query(self, sql: Sql) -> DataFrame:
        """Return the rows of a query, which is analyzed but not run yet."""
        return self.rows(self.resolve(sql))

    def rows(self, bound: Bound) -> DataFrame:
        """Return the rows of a resolved query, not run yet; columns that it does not need are left out of encrypted files."""
        frame = self.frame(bound)
        unneeded = unneeded_columns(frame) if self.state.registry.reads_encrypted else {}
        return self.frame(bound.without(unneeded)) if unneeded else frame

    def frame(self, bound: Bound) -> DataFrame:
        """Return the rows of a resolved query, which is analyzed but not run yet."""
        return self.state.registry.query(bound, self.text(bound), self.spark)

    def analyzed(self, sql: Sql) -> DataFrame:
        """Analyze a query of which only the columns matter."""
        return self.frame(self.resolve(sql, only_columns=True))

    def columns(self, name: Name, at: TimeTravel | None = None) -> Sequence[tuple[str, str]]:
        """Return the name and Spark's name of the type of each column of a view. Spark analyzes the view unless they are cached."""
        bound = self.resolve(rows_of(name, at), only_columns=True)
        known = self.state.columns.get((bound, self.planning.settings())) if self.state.columns else None
        return self._cache_columns(bound, column_types(self.frame(bound))) if known is None else known

    def add_view(self, view: TemporaryView, columns: Sequence[tuple[str, str]]) -> None:
        """Add a temporary view, whose columns Spark has just analyzed, to the session.

        Raises:
            LakeError: the view reads itself.
        """
        updated = self.with_names(replace(self.names, temporary={**self.names.temporary, fold(view.name): view}))
        self._cache_columns(updated.resolve(rows_of(Name((view.name,))), only_columns=True), columns)
        self.state.add_view(view)

    def _cache_columns(self, bound: Bound, columns: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        if bound.has_fixed_columns:
            if len(self.state.columns) >= MAX_CACHED:
                self.state.columns.clear()
            self.state.columns[bound, self.planning.settings()] = columns
        return columns

    def note_scan(self, table: Table, plan: ScanPlan) -> None:
        """Record the files that are read of a table that the statement changes."""
        self.reads.append(FilesRead.from_plan(self.lake, table, self.transaction.snapshot.snapshot_id, plan))
