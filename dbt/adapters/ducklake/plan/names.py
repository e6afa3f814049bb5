"""Resolve a name to a lake, schema and relation at a snapshot.

A one-part name means, in this order, a CTE (`sql.references` leaves these out), a temporary view, a relation of the current schema. A name
with a schema means a relation of a lake, or a temporary view if there is none. The first of three parts names the lake. Spark resolves
the names that belong to no lake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..errors import NotFoundError, StatementError
from ..format.identifiers import INFORMATION_SCHEMA, fold
from ..format.objects import Function, Relation
from ..sql.values import Name, Sql, TimeTravel
from .bound import BoundRows
from .information_schema import information_view
from .view import Lakes, LakeView


@dataclass(frozen=True)
class TemporaryView:
    """A temporary view of the session: its text, and the lake and schema in which its names are resolved at each use."""

    name: str
    query: Sql
    columns: tuple[str, ...]
    lake: str
    schema: str
    visible: frozenset[str] = frozenset()
    """The folded names in its text that meant temporary views when it was created."""


Temporary = Mapping[str, TemporaryView | BoundRows]
"""The temporary views of a session by their folded names."""


class Place(NamedTuple):
    """Where a relation is or would be: the names of its lake, its schema and its own name."""

    names: Names
    schema: str
    name: str

    def is_same(self, other: Place) -> bool:
        """Whether this is the same place of the same lake."""
        parts = self.names.lake, fold(self.schema), fold(self.name)
        return parts == (other.names.lake, fold(other.schema), fold(other.name))


@dataclass(frozen=True)
class Found:
    """A relation, the view of its lake in which it was found, and the names of its lake."""

    names: Names
    view: LakeView
    relation: Relation

    @property
    def is_current(self) -> bool:
        """Whether the relation is read as the statement's transaction sees it, not at an earlier snapshot."""
        return self.view is self.names.lakes.view(self.names.lake)


@dataclass(frozen=True)
class Names:
    """The names that SQL can use, and the lake and schema of unqualified names."""

    lake: str
    schema: str
    lakes: Lakes
    temporary: Temporary = field(default_factory=dict)
    in_spark: Callable[[str], bool] = lambda _name: False
    """Returns whether Spark itself has a temporary view with a one-part name."""
    pinned: LakeView | None = None
    """The view of this lake that is read; None: the transaction's."""
    only_temporary: frozenset[str] = frozenset()
    """The folded one-part names that can only mean temporary views."""
    session: Names | None = None
    """The names of the session, for the text of a temporary view; None: these."""

    @property
    def view(self) -> LakeView:
        """The view of this lake in which its names are resolved."""
        return self.pinned if self.pinned is not None else self.lakes.view(self.lake)

    @property
    def known(self) -> str:
        """A phrase that lists the lakes, for errors."""
        if len(self.lakes.names) == 1:
            return f"this lake's name is {self.lake}"
        return f"the lakes are {', '.join(self.lakes.names)}"

    def in_lake(self, lake: str) -> Names | None:
        """Return the same names with another lake as the current one; None if no lake has that name."""
        if fold(lake) == fold(self.lake):
            return self
        name = next((each for each in self.lakes.names if fold(each) == fold(lake)), None)
        return None if name is None else replace(self, lake=name, schema="main", pinned=None)

    def in_view(self, schema: str, view: LakeView) -> Names:
        """Return the names that the text of a view or function of this lake uses, which do not include temporary views."""
        return Names(self.lake, schema, self.lakes, pinned=view)

    def in_temporary_view(self, view: TemporaryView) -> Names:
        """Return the names that the text of a temporary view uses.

        Temporary views that were created later do not count. A relation of the lake does not take the place of one that was dropped.
        """
        session = self.session or self  # a view inside another one may read views that the outer one does not name
        temporary = {name: other for name, other in session.temporary.items() if name in view.visible}
        return Names(
            view.lake,
            view.schema,
            self.lakes,
            temporary,
            lambda name: fold(name) in view.visible and session.in_spark(name),
            only_temporary=view.visible,
            session=session,
        )

    def temporary_view(self, name: Name) -> TemporaryView | BoundRows | None:
        """Return the session's temporary view that a name means; None for those that only Spark has.

        Packages create a temporary relation by its identifier and read it by the schema of its model too. So a name with a schema means
        the temporary view, if the schema exists and has no relation with that name.
        """
        found = self.temporary.get(fold(name.parts[-1]))
        if found is None or len(name.parts) == 1:
            return found
        place = self._located(name)
        if place is None or place.names.view.schema(place.schema) is None or place.names.view.find(place.schema, place.name) is not None:
            return None
        return found

    def is_temporary(self, name: Name) -> bool:
        """Whether a name means a temporary view."""
        return self.temporary_view(name) is not None or (len(name.parts) == 1 and self.in_spark(name.parts[0]))

    def are_same(self, one: Name, other: Name) -> bool:
        """Whether two names mean the same temporary view, or the same place of a lake."""
        one_view, other_view = self.temporary_view(one), self.temporary_view(other)
        if one_view is not None or other_view is not None:
            return one_view is other_view
        first, second = self._located(one), self._located(other)
        return first is not None and second is not None and first.is_same(second)

    def place(self, name: Name) -> Place:
        """Return the place of a relation that a statement creates or changes.

        Raises:
            StatementError: the name belongs to no lake.
        """
        place = self._located(name)
        if place is None:
            raise StatementError(f"{name} is in no lake; {self.known}, and only tables and views of a lake can be changed")
        return place

    def find(self, name: Name, at: TimeTravel | None = None) -> Found | None:
        """Return the relation of a lake that a name in a query means; None for a temporary view and for a name that Spark resolves.

        Raises:
            NotFoundError: the name can only mean a relation of a lake, and the lake has none with that name; or it can only mean a
                temporary view, which was dropped.
        """
        place = self._located(name)
        if place is None or (self.is_temporary(name) and (at is None or len(name.parts) == 1)):
            return None
        if len(name.parts) == 1 and fold(place.name) in self.only_temporary:
            raise NotFoundError("temporary view", place.name)
        owner, schema = place.names, place.schema
        view = owner.view if at is None else owner.lakes.view_at(owner.lake, at)
        relation = view.find(schema, place.name)
        if relation is None and len(name.parts) > 1:
            if view.schema(schema) is not None:
                raise NotFoundError("table or view", str(name))
            relation = information_view(place.name, owner.lake, view) if fold(schema) == INFORMATION_SCHEMA else None
            if relation is None and len(name.parts) == 3:
                raise NotFoundError("schema", schema, f"It is needed for {name}; CREATE SCHEMA {schema} creates it")
        return None if relation is None else Found(owner, view, relation)

    def function(self, name: Name) -> tuple[Names, Function] | None:
        """Return the function of a lake that a name of two or three parts means; None for a name that Spark resolves."""
        owner = self.in_lake(name.parts[0]) if len(name.parts) == 3 else self
        if owner is None or len(name.parts) < 2:
            return None
        schema = owner.view.schema(name.parts[-2])
        found = None if schema is None else schema.function(name.parts[-1])
        return None if found is None else (owner, found)

    def _located(self, name: Name) -> Place | None:
        """Return the place that a name means, whether the relation exists or not; None if it belongs to no lake."""
        parts = name.parts
        if len(parts) == 1:
            return Place(self, self.schema, parts[0])
        owner = self.in_lake(parts[0])
        if len(parts) == 2:
            if owner is None or self.view.schema(parts[0]) is not None:
                return Place(self, parts[0], parts[1])
            return Place(owner, "main", parts[1])  # `lake.t`, as DuckDB stores it in a view
        return None if owner is None or len(parts) != 3 else Place(owner, parts[1], parts[2])
