"""Where a statement runs: the lakes with their transactions, what names mean, and the Spark session that shows relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..catalog.transaction.transaction import Transaction
from ..format.files import ColumnFilter, ScanPlan
from ..format.identifiers import fold, text_literal
from ..format.objects import Table
from ..lake.context import Context
from ..plan.bound import Bound, BoundCall, BoundRows, FilesRead
from ..plan.filters import filters_for_condition
from ..plan.names import Found, Names, TemporaryView
from ..plan.resolve import Planning, resolve
from ..plan.scans import ScanPlans
from ..plan.view import LakeView, Settings
from ..spark.session.temporary import session_settings, timestamp_value
from ..sql.references import rows_of
from ..sql.values import Name, Sql, TimeTravel
from .registry import ScanRegistry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class SessionState:
    """What a session keeps from one statement to the next, besides its transaction."""

    lake: str
    """The lake that names without one mean."""
    schema: str
    temporary: Mapping[str, TemporaryView] = field(default_factory=dict)
    """By folded name. Never changed in place, so that a copy is what it was."""
    cached: Mapping[str, BoundRows] = field(default_factory=dict)
    """Temporary views whose rows were computed once."""
    frames: list[tuple[DataFrame, str]] = field(default_factory=list)
    """The cached rows, each with the view that shows them."""
    registry: ScanRegistry = field(default_factory=ScanRegistry)
    plans: ScanPlans = field(default_factory=ScanPlans)
    setting_changes: int = 0
    """How often a setting of the Spark session may have changed."""
    last_committed: dict[str, int] = field(default_factory=dict)
    """The snapshot that this session committed last, by the name of the lake."""

    def forget_hidden(self, in_spark: Callable[[str], bool]) -> None:
        """Forget the temporary views in whose place Spark has one of its own now."""
        hidden = {name for name in (*self.temporary, *self.cached) if in_spark(name)}
        self.temporary = {name: view for name, view in self.temporary.items() if name not in hidden}
        self.cached = {name: rows for name, rows in self.cached.items() if name not in hidden}


@dataclass(frozen=True)
class OpenLakes:
    """The lakes of a statement, each with its transaction."""

    contexts: Mapping[str, Callable[[], Context]]
    """What works on each lake; to ask for it begins its transaction."""
    time_zone: Callable[[], str]
    """The time zone of the session; asking does not start Spark."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the lakes are called."""
        return tuple(self.contexts)

    def view(self, lake: str) -> LakeView:
        """A lake as its transaction sees it."""
        return self.contexts[lake]().transaction

    def view_at(self, lake: str, at: TimeTravel) -> LakeView:
        """A lake at an earlier snapshot; a time without a zone is one of the session's zone."""
        context = self.contexts[lake]()
        time = None if at.timestamp is None else self._instant(at.timestamp, context)
        return context.catalog.reader(context.catalog.resolve(version=at.version, timestamp=time))

    def _instant(self, text: str, context: Context) -> datetime:
        try:
            time = datetime.fromisoformat(text.strip().strip("'"))
        except ValueError:
            return timestamp_value(context.spark(), text)
        return self.localized(time, context)

    def localized(self, time: datetime, context: Context) -> datetime:
        """A time, which is one of the session's zone if it has none."""
        if time.tzinfo is not None:
            return time
        try:
            return time.replace(tzinfo=ZoneInfo(self.time_zone()))
        except (ZoneInfoNotFoundError, ValueError):  # Spark knows more zones, such as GMT+8
            return timestamp_value(context.spark(), text_literal(str(time)))


@dataclass(frozen=True)
class Environment:
    """One statement's surroundings in the lake of `names`.

    Args:
        names: what names mean.
        lakes: all lakes.
        planning: what resolving needs besides names.
        state: what the session keeps.
        spark_started: whether the Spark session has been started.
        begun: the transaction was begun by the user; otherwise it ends with this statement.
    """

    names: Names
    lakes: OpenLakes
    planning: Planning
    state: SessionState
    spark_started: Callable[[], bool]
    begun: bool
    frame_of_call: Callable[[Environment, BoundCall], DataFrame]
    reads: list[FilesRead] = field(default_factory=list)
    """The files that the statement reads, table by table."""

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
        """What works on the lake."""
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

    def of(self, names: Names) -> Environment:
        """The same statement in the lake of other names."""
        return self if names is self.names else replace(self, names=names)

    def elsewhere(self, lake: str) -> Environment | None:
        """The same statement in the lake of that name; None if there is none."""
        names = self.names.elsewhere(lake)
        return None if names is None else self.of(names)

    def place(self, name: Name) -> tuple[Environment, str, str]:
        """(surroundings in its lake, schema, name) of a relation that a statement creates or changes.

        Raises:
            StatementError: the name belongs to no lake.
        """
        place = self.names.place(name)
        return self.of(place.names), place.schema, place.name

    def schema_place(self, name: Name | None) -> tuple[Environment, str]:
        """(surroundings in its lake, schema) of a name of one or two parts; without a name the current schema."""
        names, schema = self.names.schema_place(name)
        return self.of(names), schema

    def find(self, name: Name, at: TimeTravel | None = None) -> Found | None:
        """As `Names.find`."""
        return self.names.find(name, at)

    def is_temporary(self, name: Name) -> bool:
        """Whether a name means a temporary view."""
        return self.names.is_temporary(name)

    def localized(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a call; a time without a zone is one of the session's zone."""
        return {
            name: self.lakes.localized(value, self.context) if isinstance(value, datetime) else value for name, value in arguments.items()
        }

    # -- texts -----------------------------------------------------------------------------------------------------------------

    def resolve(self, sql: Sql, known: tuple[Name, ...] = ()) -> Bound:
        """The text with values for its names; what it reads is noted for the report and for conflicts with concurrent writers."""
        bound = resolve(sql, self.names, self.planning, known)
        self.reads.extend(bound.reads)
        for rows in bound.depends_on:
            self.lakes.contexts[rows.lake]().transaction.reads_rows(rows.table_id, rows.filters)
        return bound

    def text(self, bound: Bound) -> str:
        """The text for Spark, whose relations are registered there."""
        return self.state.registry.text(bound, self.spark, self.planning.settings(), lambda call: self.frame_of_call(self, call))

    def bound(self, sql: Sql, known: tuple[Name, ...] = ()) -> str:
        """A text for Spark."""
        return self.text(self.resolve(sql, known))

    def query(self, sql: Sql) -> DataFrame:
        """The rows of a query, which Spark has analysed but not computed."""
        return self.frame(self.resolve(sql))

    def frame(self, bound: Bound) -> DataFrame:
        """The rows of a query that is resolved."""
        return self.spark.sql(self.text(bound))

    def analysed(self, sql: Sql) -> DataFrame:
        """A query whose columns matter, but no rows: nothing is noted as read."""
        return self.frame(resolve(sql, self.names, self.planning))

    def analysed_text(self, sql: Sql) -> str:
        """As `bound`, with nothing noted as read."""
        return self.text(resolve(sql, self.names, self.planning))

    def described(self, name: Name, at: TimeTravel | None = None) -> DataFrame:
        """The columns of a relation."""
        return self.analysed(rows_of(name, at))

    # -- rows that are changed -------------------------------------------------------------------------------------------------

    def plan(self, table: Table, condition: Sql | None, alias: str) -> tuple[ScanPlan, Sequence[ColumnFilter]]:
        """How to read the rows of a table that may satisfy the condition of a DELETE or UPDATE, and what such rows must pass."""

        @cache
        def within() -> Sequence[ColumnFilter]:
            if condition is None:
                return ()
            settings = self.planning.settings()
            return filters_for_condition(condition, table, alias, lambda: settings.zone_is_utc) if settings.can_prune else ()

        plan = self.transaction.scan_plan(table, within=within)
        self.note_scan(table, plan)
        rows = bool(plan.files or plan.inlined or plan.pruned_files)  # of an empty table Spark is not started to say which they are
        return plan, within() if rows or self.spark_started() else ()

    def note_scan(self, table: Table, plan: ScanPlan) -> None:
        """Note what is read of a table that the statement changes."""
        name = f"{self.lake}.{table.schema_name}.{table.name}@{self.transaction.snapshot.snapshot_id}"
        self.reads.append(FilesRead.by(name, plan))

    # -- temporary views -------------------------------------------------------------------------------------------------------

    def with_temporary(self, view: TemporaryView) -> Environment:
        """The same statement where a temporary view takes the place of one of its name."""
        return self.of(replace(self.names, temporary={**self.names.temporary, fold(view.name): view}))

    def keep_temporary(self) -> None:
        """Make the temporary views of the names those of the session."""
        views = self.names.temporary.items()
        self.state.temporary = {name: view for name, view in views if isinstance(view, TemporaryView)}
        self.state.cached = {name: view for name, view in views if isinstance(view, BoundRows)}

    def drop_temporary(self, name: str) -> None:
        """Drop a temporary view of the session."""
        key = fold(name)
        self.state.temporary = {other: view for other, view in self.state.temporary.items() if other != key}
        self.state.cached = {other: rows for other, rows in self.state.cached.items() if other != key}


def settings_of(spark: SparkSession, changes: int) -> Settings:
    """The settings of a Spark session that change what a text means."""
    return Settings(*session_settings(spark), changes=changes)
