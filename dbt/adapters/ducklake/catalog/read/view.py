"""The definitions of a lake at a snapshot, with or without the staged changes of a transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from ...format.identifiers import fold
from ...format.objects import Macro, Relation, Schema, Snapshot, Table
from ..staged import Staged
from .definitions import Definitions, RelationName


class CatalogView(ABC):
    """The definitions of a snapshot with the staged changes applied: a staged definition replaces the committed one with its id."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @property
    @abstractmethod
    def definitions(self) -> Definitions:
        """The definitions at the snapshot."""

    @property
    @abstractmethod
    def staged(self) -> Staged:
        """The changes staged on top of the snapshot."""

    @property
    def revision(self) -> object | None:
        """The identity of the staged changes; None if there are none."""
        return self.staged.revision if self.staged.has_changes else None

    def schemas(self) -> list[Schema]:
        """Return all schemas, ordered by name."""
        kept = [each for each in self.definitions.schemas() if each.schema_id not in self.staged.schemas]
        new = [each for each in self.staged.schemas.values() if each is not None]
        return sorted([*kept, *new], key=lambda schema: schema.name)

    def schema(self, name: str) -> Schema | None:
        """Return the schema with a name, or None.

        Raises:
            LakeError: the row of the schema is damaged.
        """
        folded = fold(name)
        found = next((each for each in self.schemas() if fold(each.name) == folded), None)
        if found is None:
            self.definitions.schema(name)  # `schemas` leaves out a damaged schema; this raises its error
        return found

    def find(self, schema_name: str, name: str) -> Relation | None:
        """Return the table or view with a name, or None."""
        wanted = (fold(schema_name), fold(name))
        for relation in self._changed():
            if (fold(relation.schema_name), fold(relation.name)) == wanted:
                return relation
        found = self.definitions.find(schema_name, name)
        return None if found is None or self._is_changed(found.relation_id) else found

    def by_id(self, relation_id: int) -> Relation | None:
        """Return the table or view with an id, or None; ids that the transaction creates are negative."""
        for entries in (self.staged.tables, self.staged.views):
            if relation_id in entries:
                return entries[relation_id]
        return self.definitions.by_id(relation_id) if relation_id >= 0 else None

    def relations(self, schema_name: str | None = None) -> list[Relation]:
        """Return all tables and views of one schema or of all, ordered by schema and name."""
        found = [each for each in self.definitions.relations(schema_name) if not self._is_changed(each.relation_id)]
        found += self._changed(schema_name)
        return sorted(found, key=lambda relation: (relation.schema_name, relation.name))

    def names(self, schema_name: str | None = None) -> list[RelationName]:
        """Return the names of tables and views. This is cheaper than `relations`, because no definition is loaded."""
        found = [each for each in self.definitions.names(schema_name) if not self._is_changed(each.relation_id)]
        found += (
            RelationName(each.relation_id, each.schema_name, each.name, isinstance(each, Table)) for each in self._changed(schema_name)
        )
        return sorted(found, key=lambda name: (name.schema_name, name.name))

    def named(self, names: Iterable[RelationName]) -> list[Relation]:
        """Return the definitions of the relations with these names; a relation that does not exist is left out."""
        names = list(names)
        found = [each for name in names if (each := self.staged.tables.get(name.relation_id) or self.staged.views.get(name.relation_id))]
        return [*found, *self.definitions.named(name for name in names if not self._is_changed(name.relation_id))]

    def macros(self, schema_name: str | None = None) -> list[Macro]:
        """Return the macros of one schema or of all, ordered by schema and name."""
        wanted = None if schema_name is None else fold(schema_name)
        kept = (macro for macro in self.definitions.macros() if macro.macro_id not in self.staged.dropped_macros)
        return [macro for macro in kept if wanted is None or fold(macro.schema_name) == wanted]

    def _changed(self, schema_name: str | None = None) -> Iterator[Relation]:
        """Yield the staged tables and views of one schema or of all, without those that are dropped."""
        wanted = None if schema_name is None else fold(schema_name)
        for each in (*self.staged.tables.values(), *self.staged.views.values()):
            if each is not None and (wanted is None or fold(each.schema_name) == wanted):
                yield each

    def _is_changed(self, relation_id: int) -> bool:
        """Whether the staged changes replace or drop a table or view of the snapshot."""
        return relation_id in self.staged.tables or relation_id in self.staged.views
