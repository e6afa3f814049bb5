"""Resolve the names in SQL text into a `Bound`, in which each relation of a lake is a value. Nothing is registered or changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from ..errors import LakeError, NotFoundError, StatementError
from ..format.files import Condition
from ..format.identifiers import backquoted, fold, spark_literal
from ..format.objects import Macro, Table, View
from ..format.view_columns import view_columns
from ..sql.references import references
from ..sql.tokens import QUERY_STARTS, Kind, Token, tokenize
from ..sql.values import Name, Reference, Sql
from ..translate.dialects import PLACEHOLDER
from ..translate.view_text import is_our_text, spark_text
from .bound import Bound, BoundCall, BoundFunction, BoundQuery, BoundRelation, BoundRows, BoundTable, RowsRead
from .conditions import Conditions, RowCondition
from .filters import filters_for_rows
from .names import Found, Names, TemporaryView
from .scans import ScanPlans
from .view import LakeView, Settings, Version

ConditionsOn = Callable[[Reference], tuple[RowCondition, ...]]
"""Returns the conditions on the rows of the relation that a reference names."""
MAX_DEPTH = 64
"""How deep views and functions may be nested."""
MAX_VIEWS_WITH_CONDITIONS = 200
"""After so many resolved views, the conditions of their users do not count: each use of a view with other ones is resolved anew."""
_QUOTED_COLUMN_WARNING = (
    'The query has "{name}" in double quotes, which is a string in Spark\'s SQL, not the column of this name: the rows would have the '
    "string {name!r}. Write `{name}` for the column, or '{name}' for the string. For packages and models that use double quotes, set "
    "`target_type: spark` in the profile, or `spark.sql.ansi.doubleQuotedIdentifiers: true` in `spark_config`"
)
"""DuckDB reads the column, Spark a string."""


@dataclass(frozen=True)
class Planning:
    """What `resolve` needs in addition to names.

    `settings` returns the session's settings. `usual_literals` returns whether literals have Spark's default quotes and types under these
    settings. Both are called only when needed, because they may start Spark. `call` resolves a function call in FROM; it returns None if
    the function is not one of the lake's. `warn` receives warnings about SQL that probably does not do what its author intended.
    """

    settings: Callable[[], Settings]
    usual_literals: Callable[[], bool]
    plans: ScanPlans
    call: Callable[[Names, Reference], BoundCall | None]
    warn: Callable[[str], None] = lambda _message: None


def resolve(sql: Sql, names: Names, planning: Planning, known: tuple[Name, ...] = (), *, only_columns: bool = False) -> Bound:
    """Return the SQL with a value in place of each name of a lake.

    Args:
        sql: the SQL.
        names: resolves its names.
        planning: settings, scan plans and calls.
        known: relations outside the SQL, whose names may qualify columns in it.
        only_columns: only the columns of the result matter: tables have no rows, and no files are looked up.

    Raises:
        NotFoundError: a name can only mean a relation of a lake, and the lake has none with that name.
        LakeError: a view or function that the SQL uses is broken, or refers to itself.
    """
    bound = _Resolver(names, planning, names, only_columns).bind(sql, known)
    quoted = _strings_like_columns(sql.text, bound)
    if quoted and planning.usual_literals():
        for name in quoted:
            planning.warn(_QUOTED_COLUMN_WARNING.format(name=name))
    return bound


def _strings_like_columns(text: str, bound: Bound) -> list[str]:
    """Return the strings in double quotes that are columns which a statement reads, each once, as written.

    The columns are those of the relations, and the aliases in subqueries and common table expressions.

    Args:
        text: the statement.
        bound: the resolved statement.
    """
    if '"' not in text:
        return []
    tokens = tokenize(text)
    quoted = {token.text[1:-1] for token in tokens if token.kind is Kind.STRING and token.text[0] == '"'}
    if not quoted:
        return []
    columns = {fold(name) for name in (*_column_names(bound, set()), *_aliases_in_subqueries(tokens))}
    return sorted(each for each in quoted if fold(each) in columns)


def _aliases_in_subqueries(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the identifiers after AS directly in a subquery in parentheses."""
    in_query = [False]
    for before, token in pairwise(tokens):
        if before.word == "(":
            in_query.append(token.word in QUERY_STARTS)
        elif before.word == ")" and len(in_query) > 1:
            in_query.pop()
        elif before.word == "AS" and token.is_identifier and in_query[-1]:
            yield token.identifier


def _column_names(bound: Bound, seen: set[int]) -> Iterator[str]:
    """Yield the names of the columns of all relations. A temporary view without its own column names has those of what it reads."""
    if id(bound) in seen:
        return
    seen.add(id(bound))
    for relation in bound.relations:
        match relation:
            case BoundTable(table=table):
                yield from (column.name for column in table.columns)
            case BoundQuery(columns=columns) if columns:
                yield from columns
            case BoundQuery(view=View() as view):
                yield from (column.name for column in view_columns(view))
            case BoundQuery(body=body):
                yield from _column_names(body, seen)
            case _:
                pass


def virtual_columns(named: Iterable[str], table: Table) -> tuple[str, ...]:
    """Return those of the named virtual columns that no column of the table hides."""
    return tuple(name for name in named if table.column(name) is None)


def version_of(names: Names, view: LakeView) -> Version:
    """Return the version of the rows that a lake view shows; `names` gives the lake."""
    return Version(view.snapshot.snapshot_id, names.lakes.view(names.lake).snapshot.snapshot_id, view.revision)


@dataclass(frozen=True)
class _Resolver:
    """Resolves SQL with `names`; `depth` counts the enclosing views and functions."""

    names: Names
    planning: Planning
    session: Names
    """The names outside of views and functions."""
    only_columns: bool = False
    """Whether tables have no rows."""
    depth: int = 0
    views: dict[tuple[str, str, str, Version, tuple[RowCondition, ...]], Bound] = field(default_factory=dict, compare=False)
    """The queries of the views that are already resolved, by lake, schema, name, version and the conditions on their rows."""

    def bind(self, sql: Sql, known: tuple[Name, ...] = (), outer: tuple[RowCondition, ...] = ()) -> Bound:
        """Return the SQL with a value in place of each name of a lake; `outer` are conditions on its rows, if it is the query of a view."""
        of_rows = Conditions(sql, self._column_names, outer)
        shown: dict[Reference, tuple[str, ...]] = {}
        unknown: list[Reference] = []

        def conditions(reference: Reference) -> tuple[RowCondition, ...]:
            are_used = not self.only_columns and of_rows.may_exist and self.planning.settings().can_prune
            return of_rows.on(reference) if are_used else ()

        def relation(reference: Reference) -> BoundRelation | None:
            found = self._relation(conditions, reference, shown)
            if found is None and reference.arguments is None:
                unknown.append(reference)
            return found

        pieces: tuple[str | BoundRelation, ...] = sql.pieces(
            relation, known, self._function, lambda reference: shown.get(reference, ()), self.names.are_same
        )
        return Bound(pieces, names_spark=bool(unknown))

    def _relation(self, conditions: ConditionsOn, reference: Reference, shown: dict[Reference, tuple[str, ...]]) -> BoundRelation | None:
        """Return the value of a reference; the virtual columns that it shows are added to `shown`."""
        if reference.arguments is not None:
            return self.planning.call(self.names, reference)
        temporary = self.names.temporary_view(reference.name)
        if temporary is not None and reference.at is None:
            return temporary if isinstance(temporary, BoundRows) else self._temporary(temporary, conditions(reference))
        found = self.names.find(reference.name, reference.at)
        if found is None:
            if reference.at is not None and len(reference.name.parts) == 1:
                raise NotFoundError("table", str(reference.name), "Only tables of the lake have earlier versions")
            return None
        if isinstance(found.relation, View):
            return self._view(found, found.relation, str(reference.name), conditions(reference))
        shown[reference] = virtual = virtual_columns(reference.virtual, found.relation)
        if virtual and reference.joined_naturally:
            message = f"NATURAL JOIN would compare the virtual column {virtual[0]} of {reference.name} too"
            raise StatementError(f"{message}; write JOIN … USING with the names of columns")
        return self._table(conditions, reference, found, found.relation, virtual)

    def _table(self, conditions: ConditionsOn, reference: Reference, found: Found, table: Table, virtual: tuple[str, ...]) -> BoundTable:
        def needed() -> Condition:
            on_rows = conditions(reference)
            return filters_for_rows(on_rows, table, self.planning.settings()) if on_rows else ()

        lake, version = found.names.lake, version_of(found.names, found.view)
        if self.only_columns:
            depends_on = (RowsRead(lake, table.table_id),) if found.is_current else ()
            return BoundTable.without_rows(lake, table, virtual, str(reference.name), depends_on)
        plan, filters = self.planning.plans.scan(lake, found.view, version, table, needed)
        depends_on = (RowsRead(lake, table.table_id, filters),) if found.is_current else ()
        pruned_by = filters if plan.pruned_files else ()  # if no file was left out, the rows are those of a scan without filters
        return BoundTable(lake, table.table_id, version, pruned_by, virtual, table, plan, str(reference.name), depends_on)

    def _column_names(self, reference: Reference) -> Collection[str] | None:
        """Return the names of the columns of the relation that a reference means; None if they are not known."""
        if reference.arguments is not None or self.names.is_temporary(reference.name):
            return None
        found = self.names.find(reference.name, reference.at)
        match found and found.relation:
            case Table(columns=columns):
                return [column.name for column in columns]
            case View() as view:
                return [column.name for column in view_columns(view)] or None
        return None

    def _view(self, found: Found, view: View, user_name: str, conditions: tuple[RowCondition, ...]) -> BoundQuery:
        renames = view.column_aliases or not is_our_text(view)  # columns of DuckDB's views may have other names than in their text
        outer = () if renames or len(self.views) >= MAX_VIEWS_WITH_CONDITIONS else conditions
        key = (found.names.lake, view.schema_name, view.name, version_of(found.names, found.view), outer)
        if key not in self.views:
            inner = self._deeper(f"view {user_name}", found.names.in_view(view.schema_name, found.view))
            with _errors_of_view(user_name):
                self.views[key] = inner.bind(_references(text_of_view(view, found.names.lake, found.view)), outer=outer)
        return BoundQuery(self.views[key], view.column_aliases, user_name, view)

    def _temporary(self, view: TemporaryView, conditions: tuple[RowCondition, ...]) -> BoundQuery:
        inner = self._deeper(f"temporary view {view.name}", self.names.in_temporary_view(view))
        with _errors_of_view(view.name):
            return BoundQuery(inner.bind(view.query, outer=() if view.columns else conditions), view.columns, view.name)

    def _function(self, name: Name) -> BoundFunction | str | None:
        if len(name.parts) == 1:
            return spark_literal(self.session.lake if fold(name.parts[0]) == "current_catalog" else self.session.schema)
        found = self.names.function(name)
        if found is None:
            return None
        owner, function = found
        user_name = f"{function.schema_name}.{function.name}"
        inner = self._deeper(f"function {user_name}", owner.in_view(function.schema_name, owner.view))
        text = function.definition.replace(PLACEHOLDER, backquoted(owner.lake))
        return BoundFunction(inner.bind(_references(text)), user_name)

    def _deeper(self, what: str, names: Names) -> _Resolver:
        if self.depth >= MAX_DEPTH:
            raise LakeError(
                f"{what} is nested more than {MAX_DEPTH} levels deep, so it probably refers to itself; "
                "CREATE OR REPLACE it with SQL that does not"
            )
        return _Resolver(names, self.planning, self.session, self.only_columns, self.depth + 1, self.views)


@lru_cache(maxsize=512)
def _references(text: str) -> Sql:
    """Find the names in the SQL of a view or function of a lake, cached."""
    return references(text)


@contextmanager
def _errors_of_view(user_name: str) -> Iterator[None]:
    """Report errors in a view's SQL as errors of the view."""
    try:
        yield
    except (NotFoundError, StatementError) as error:
        raise broken_view(user_name, error) from error


def broken_view(user_name: str, error: Exception) -> LakeError:
    """Return the error for a view whose query no longer works."""
    text = str(error).rstrip(". ")
    return LakeError(f"view {user_name} is broken: {text}. Run CREATE OR REPLACE VIEW or DROP VIEW")


def text_of_view(view: View, lake: str, catalog: LakeView) -> str:
    """Return the query of a view in Spark's SQL.

    Args:
        view: a view of the lake.
        lake: the name of the lake.
        catalog: has the macros that the view may call. Without a schema, a macro is found in the view's schema, then in `main`.

    Raises:
        LakeError: DuckDB created the view with SQL that has no counterpart in Spark.
    """

    def macro(parts: tuple[str, ...], is_table: bool) -> Macro | None:
        if len(parts) == 3 and fold(parts[0]) != fold(lake):
            return None
        schemas = [parts[-2]] if len(parts) > 1 else [view.schema_name, "main"]
        macros = (each for schema in schemas for each in catalog.macros(schema))
        return next((each for each in macros if fold(each.name) == fold(parts[-1]) and each.is_table == is_table), None)

    return spark_text(view, lake, macro)
