"""Resolve the names of a text: a `Bound` comes out, in which each name of a lake is a value. Nothing is registered or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from ..errors import LakeError, NotFoundError, StatementError
from ..format.identifiers import backquoted, fold
from ..format.objects import Macro, Table, View
from ..sql.references import references
from ..sql.values import Name, Reference, Sql
from ..translate.dialects import PLACEHOLDER
from ..translate.view_text import spark_text
from .bound import Bound, BoundCall, BoundFunction, BoundQuery, BoundRelation, BoundRows, BoundTable, RowsRead
from .filters import of_reference
from .names import Found, Names, TemporaryView
from .scans import Filters, ScanPlans
from .view import LakeView, Settings, Version
from .virtual import virtual_columns

DEEPEST = 64
"""How many views and functions may read one another."""

T = TypeVar("T")


@dataclass(frozen=True)
class Planning:
    """What resolving needs besides names.

    `settings` are those of the session, asked for only where they matter, since Spark must be running to tell. `call` says what a call
    in FROM means; None if it is none of the lake's functions.
    """

    settings: Callable[[], Settings]
    plans: ScanPlans
    call: Callable[[Names, Reference], BoundCall | None]


def resolve(sql: Sql, names: Names, planning: Planning, known: tuple[Name, ...] = ()) -> Bound:
    """The text with a value for each name of a lake.

    Args:
        sql: the text.
        names: what its names mean.
        planning: see there.
        known: names of relations outside the text, whose columns it may qualify by them.

    Raises:
        NotFoundError: a name that can only be meant for a lake is not there.
        LakeError: a view or function that the text uses is broken, or refers to itself.
    """
    return _Resolver(names, planning).bind(sql, known)


def version_of(names: Names, view: LakeView) -> Version:
    """Which rows `view`, a view of the lake of `names`, shows."""
    return Version(view.snapshot.snapshot_id, names.lakes.view(names.lake).snapshot.snapshot_id, view.revision)


@dataclass(frozen=True)
class _Resolver:
    """Resolves texts whose names mean `names`; `depth` counts the views and functions around them."""

    names: Names
    planning: Planning
    depth: int = 0
    views: dict[tuple[str, str, str, Version], Bound] = field(default_factory=dict, compare=False)
    """The queries of the views that have been resolved, by lake, schema, name and version."""

    def bind(self, sql: Sql, known: tuple[Name, ...] = ()) -> Bound:
        shown: dict[Reference, tuple[str, ...]] = {}
        return Bound(
            sql.pieces(
                lambda reference: self._relation(sql, reference, shown),
                known,
                self._function,
                lambda reference: shown.get(reference, ()),
            )
        )

    def _relation(self, sql: Sql, reference: Reference, shown: dict[Reference, tuple[str, ...]]) -> BoundRelation | None:
        """What a reference means; `shown` gets the virtual columns that it shows then."""
        if reference.arguments is not None:
            return self.planning.call(self.names, reference)
        temporary = self.names.temporary_view(reference.name)
        if temporary is not None and reference.at is None:
            return temporary if isinstance(temporary, BoundRows) else self._temporary(temporary)
        found = self.names.find(reference.name, reference.at)
        if found is None:
            if reference.at is not None and len(reference.name.parts) == 1:
                raise NotFoundError("table", str(reference.name), "Only tables of the lake have earlier versions")
            return None
        if isinstance(found.relation, View):
            return self._view(found, found.relation, str(reference.name))
        shown[reference] = virtual = virtual_columns(reference.virtual, found.relation)
        return self._table(sql, reference, found, found.relation, virtual)

    def _table(self, sql: Sql, reference: Reference, found: Found, table: Table, virtual: tuple[str, ...]) -> BoundTable:
        def needed() -> Filters:
            settings = self.planning.settings()
            return tuple(of_reference(sql, reference, table, self._known_table, lambda: settings.zone_is_utc)) if settings.can_prune else ()

        lake, version = found.names.lake, version_of(found.names, found.view)
        scan = self.planning.plans.scan(lake, found.view, version, table, needed)
        depends_on = (RowsRead(lake, table.table_id, scan.asked),) if found.is_current else ()
        return BoundTable(lake, table.table_id, version, scan.pruned_by, virtual, table, scan.plan, str(reference.name), depends_on)

    def _known_table(self, other: Reference) -> Table | None:
        """The table that another reference of the same text means."""
        if other.arguments is not None or self.names.is_temporary(other.name):
            return None
        found = self.names.find(other.name, other.at)
        return found.relation if found is not None and isinstance(found.relation, Table) else None

    def _view(self, found: Found, view: View, user_name: str) -> BoundQuery:
        key = (found.names.lake, view.schema_name, view.name, version_of(found.names, found.view))
        if key not in self.views:
            inner = self._deeper(f"view {user_name}", found.names.inside(view.schema_name, found.view))
            with _broken_view(user_name):
                self.views[key] = inner.bind(_references(text_of_view(view, found.names.lake, found.view)))
        return BoundQuery(self.views[key], view.column_aliases, user_name, view)

    def _temporary(self, view: TemporaryView) -> BoundQuery:
        inner = self._deeper(f"temporary view {view.name}", self.names.of_temporary(view))
        with _broken_view(view.name):
            return BoundQuery(inner.bind(view.query), view.columns, view.name)

    def _function(self, name: Name) -> BoundFunction | None:
        found = self.names.function(name)
        if found is None:
            return None
        there, function = found
        user_name = f"{function.schema_name}.{function.name}"
        inner = self._deeper(f"function {user_name}", there.inside(function.schema_name, there.view))
        text = function.definition.replace(PLACEHOLDER, backquoted(there.lake))
        return BoundFunction(inner.bind(_references(text)), user_name)

    def _deeper(self, what: str, names: Names) -> _Resolver:
        if self.depth >= DEEPEST:
            raise LakeError(f"{what} refers to itself; CREATE OR REPLACE it with a text that does not")
        return _Resolver(names, self.planning, self.depth + 1, self.views)


@lru_cache(maxsize=512)
def _references(text: str) -> Sql:
    """The names in the text of a view or function of a lake."""
    return references(text)


@contextmanager
def _broken_view(user_name: str) -> Iterator[None]:
    """What stands in the way of a view's own text is an error of the view."""
    try:
        yield
    except (NotFoundError, StatementError) as error:
        raise broken_view(user_name, error) from error


def broken_view(user_name: str, error: Exception) -> LakeError:
    """The error for a view whose query does not work any more."""
    text = str(error).rstrip(". ")
    return LakeError(f"view {user_name} is broken: {text}. CREATE OR REPLACE VIEW or DROP VIEW mends it")


def text_of_view(view: View, lake: str, catalog: LakeView) -> str:
    """The query of a view in Spark's SQL.

    Args:
        view: a view of the lake.
        lake: the name of the lake.
        catalog: where the macros are that the view may call: without a schema one of the view's own schema, then one of `main`.

    Raises:
        LakeError: DuckDB created the view with SQL that has no counterpart in Spark's.
    """

    def macro(parts: tuple[str, ...], is_table: bool) -> Macro | None:
        if len(parts) == 3 and fold(parts[0]) != fold(lake):
            return None
        schemas = [parts[-2]] if len(parts) > 1 else [view.schema_name, "main"]
        macros = (each for schema in schemas for each in catalog.macros(schema))
        return next((each for each in macros if fold(each.name) == fold(parts[-1]) and each.is_table == is_table), None)

    return spark_text(view, lake, macro)
