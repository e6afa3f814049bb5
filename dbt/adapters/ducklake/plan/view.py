"""What a statement sees: the lakes, each with its transaction's staged changes, and the settings that change what SQL means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..format.files import Filters, ScanPlan
from ..format.objects import Macro, Relation, Schema, Snapshot, Table
from ..sql.values import TimeTravel


class LakeView(Protocol):
    """A lake at a snapshot, with or without staged changes."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that is read."""

    @property
    def revision(self) -> object | None:
        """A value that is equal for equal staged changes; None if nothing is staged."""

    def schemas(self) -> list[Schema]:
        """Return all schemas, by name."""

    def schema(self, name: str) -> Schema | None:
        """Return the schema with a name."""

    def relations(self, schema_name: str | None = None) -> list[Relation]:
        """Return all tables and views, by schema and name."""

    def find(self, schema_name: str, name: str) -> Relation | None:
        """Return the table or view with a name."""

    def macros(self, schema_name: str | None = None) -> list[Macro]:
        """Return the macros that DuckDB keeps in the lake."""

    def scan_plan(self, table: Table, within: Filters = ()) -> ScanPlan:
        """Return how to read a table."""


class Lakes(Protocol):
    """The lakes that a statement can name."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the lakes."""

    def view(self, lake: str) -> LakeView:
        """Return a lake as the statement's transaction sees it; the first call begins that transaction."""

    def view_at(self, lake: str, at: TimeTravel) -> LakeView:
        """Return a lake at an earlier snapshot.

        Raises:
            NotFoundError: there is no such snapshot.
        """


@dataclass(frozen=True)
class Version:
    """The version of the rows of a lake that are read.

    `planned_at` is the newest snapshot when the files were found: maintenance may replace the files of an older snapshot.
    """

    snapshot_id: int
    planned_at: int
    revision: object | None = None


@dataclass(frozen=True)
class Settings:
    """The settings of a Spark session that change what SQL means.

    `changes` counts the SET statements of the session, since any setting may matter to Spark's analysis of a query.
    """

    time_zone: str = "UTC"
    ansi: bool = True
    case_sensitive: bool = False
    timestamps_are_instants: bool = True
    compares_dates_as_texts: bool = False
    changes: int = 0

    @property
    def zone_is_utc(self) -> bool:
        """Whether local times are those of UTC."""
        return self.time_zone.upper() in _UTC

    @property
    def can_prune(self) -> bool:
        """Whether Spark compares values as `filters` assumes when it leaves out files."""
        return self.timestamps_are_instants and not self.compares_dates_as_texts


_UTC = frozenset({"UTC", "ETC/UTC", "GMT", "Z", "+00:00", "ZULU"})
