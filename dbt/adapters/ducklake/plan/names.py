"""What a name means: which lake, schema and relation, at which snapshot.

A one-part name means, in this order, a CTE (`sql.references` leaves those out), a temporary view, a relation of the current schema. The
first of three parts names the lake. Names that belong to no lake are left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..errors import NotFoundError, StatementError
from ..format.identifiers import fold
from ..format.objects import Function, Relation
from ..sql.values import Name, Sql, TimeTravel
from .bound import BoundRows
from .information_schema import INFORMATION_SCHEMA, information_view
from .view import Lakes, LakeView


@dataclass(frozen=True)
class TemporaryView:
    """A temporary view of the session: its text, resolved whenever it is used, where it was created."""

    name: str
    query: Sql
    columns: tuple[str, ...]
    lake: str
    schema: str
    visible: frozenset[str] = frozenset()
    """The folded names in its text that meant temporary views when it was created."""


Temporary = Mapping[str, TemporaryView | BoundRows]
"""The temporary views of a session by their folded names."""


def _none(name: str) -> bool:
    return False


@dataclass(frozen=True)
class Place:
    """Where a relation is or would be."""

    names: Names
    schema: str
    name: str


@dataclass(frozen=True)
class Found:
    """A relation, and the view of its lake in which it was found; `names` are those of its lake."""

    names: Names
    view: LakeView
    relation: Relation

    @property
    def is_current(self) -> bool:
        """Whether it is seen as the statement's transaction sees it, not at an earlier snapshot."""
        return self.view is self.names.lakes.view(self.names.lake)


@dataclass(frozen=True)
class Names:
    """The names that a text can use, with a lake and a schema for those that do not say one."""

    lake: str
    schema: str
    lakes: Lakes
    temporary: Temporary = field(default_factory=dict)
    in_spark: Callable[[str], bool] = _none
    """Whether Spark itself has a temporary view of that one-part name."""
    pinned: LakeView | None = None
    """At what this lake is seen; None: as the transaction sees it."""

    @property
    def view(self) -> LakeView:
        """This lake as its names are resolved."""
        return self.pinned if self.pinned is not None else self.lakes.view(self.lake)

    @property
    def known(self) -> str:
        """Which lakes there are, for errors."""
        if len(self.lakes.names) == 1:
            return f"this lake's name is {self.lake}"
        return f"the lakes here are {', '.join(self.lakes.names)}"

    def elsewhere(self, lake: str) -> Names | None:
        """The same names with another lake as the current one; None if there is none of that name."""
        if fold(lake) == fold(self.lake):
            return self
        name = next((each for each in self.lakes.names if fold(each) == fold(lake)), None)
        return None if name is None else replace(self, lake=name, schema="main", pinned=None)

    def inside(self, schema: str, view: LakeView) -> Names:
        """The names that the text of a view or function in this lake uses: temporary views do not count."""
        return Names(self.lake, schema, self.lakes, pinned=view)

    def of_temporary(self, view: TemporaryView) -> Names:
        """The names that the text of a temporary view uses: as when it was created, so that a later temporary view hides none of them."""
        temporary = {name: other for name, other in self.temporary.items() if name in view.visible}
        return Names(view.lake, view.schema, self.lakes, temporary, lambda name: fold(name) in view.visible and self.in_spark(name))

    def temporary_view(self, name: Name) -> TemporaryView | BoundRows | None:
        """The session's temporary view of a name; of those that Spark has itself only Spark knows more."""
        return self.temporary.get(fold(name.parts[0])) if len(name.parts) == 1 else None

    def is_temporary(self, name: Name) -> bool:
        """Whether a name means a temporary view."""
        return len(name.parts) == 1 and (fold(name.parts[0]) in self.temporary or self.in_spark(name.parts[0]))

    def place(self, name: Name) -> Place:
        """Where a relation is that a statement creates or changes.

        Raises:
            StatementError: the name belongs to no lake.
        """
        place = self._located(name)
        if place is None:
            raise StatementError(f"{name} is in no lake; {self.known}, and only its own tables and views can be changed")
        return place

    def schema_place(self, name: Name | None) -> tuple[Names, str]:
        """(names of its lake, schema) of a name of one or two parts; without a name the current schema.

        Raises:
            StatementError: the name belongs to no lake.
        """
        if name is None:
            return self, self.schema
        if len(name.parts) == 1:
            return self, name.parts[0]
        there = self.elsewhere(name.parts[0]) if len(name.parts) == 2 else None
        if there is None:
            raise StatementError(f"schema {name} is in no lake; {self.known}")
        return there, name.parts[1]

    def find(self, name: Name, at: TimeTravel | None = None) -> Found | None:
        """The relation of a lake that a name in a query means; None for a temporary view and for what is Spark's to judge.

        Raises:
            NotFoundError: the name can only be meant for a lake, and nothing of that name is there.
        """
        place = self._located(name)
        if place is None or self.is_temporary(name):
            return None
        there, schema = place.names, place.schema
        view = there.view if at is None else there.lakes.view_at(there.lake, at)
        relation = view.find(schema, place.name)
        parts = len(name.parts)
        if relation is None and parts > 1 and fold(schema) == INFORMATION_SCHEMA and view.schema(schema) is None:
            relation = information_view(place.name, there.lake, view)
        if relation is not None:
            return Found(there, view, relation)
        if parts == 1 or (parts == 2 and view.schema(schema) is None):
            return None
        if view.schema(schema) is None:
            raise NotFoundError("schema", schema, f"{name} was asked for; CREATE SCHEMA {schema} makes the schema")
        raise NotFoundError("table or view", str(name))

    def function(self, name: Name) -> tuple[Names, Function] | None:
        """The function of a lake that a name of two or three parts means; None if it is Spark's to judge."""
        there = self.elsewhere(name.parts[0]) if len(name.parts) == 3 else self
        if there is None or len(name.parts) < 2:
            return None
        schema = there.view.schema(name.parts[-2])
        found = None if schema is None else schema.function(name.parts[-1])
        return None if found is None else (there, found)

    def _located(self, name: Name) -> Place | None:
        """Where a name points, whether there is such a relation or not; None if it belongs to no lake."""
        parts = name.parts
        if len(parts) == 1:
            return Place(self, self.schema, parts[0])
        there = self.elsewhere(parts[0])
        if len(parts) == 2:
            if there is None or self.view.schema(parts[0]) is not None:
                return Place(self, parts[0], parts[1])
            return Place(there, "main", parts[1])  # lake.t, as DuckDB stores it in a view
        return None if there is None or len(parts) != 3 else Place(there, parts[1], parts[2])
