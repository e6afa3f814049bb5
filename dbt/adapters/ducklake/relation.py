"""A table or view as dbt names it: `database.schema.identifier`, each part in back-quotes, compared without case as DuckLake does."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base.relation import BaseRelation, SerializableIterable
from dbt.adapters.contracts.relation import ComponentName, RelationType

from .spec.identifiers import backquoted

_REPLACEABLE = frozenset({RelationType.Table, RelationType.View})


@dataclass(frozen=True, eq=False, repr=False)
class DuckLakeRelation(BaseRelation):
    """A relation in a lake, or, when only its identifier is included, one of Spark's temporary views."""

    quote_character: str = "`"
    require_alias: bool = False
    renameable_relations: SerializableIterable = field(default_factory=lambda: _REPLACEABLE)
    replaceable_relations: SerializableIterable = field(default_factory=lambda: _REPLACEABLE)

    def quoted(self, identifier: str) -> str:
        """One part of the name in back-quotes."""
        return backquoted(identifier)

    @property
    def name_parts(self) -> tuple[str, ...]:
        """The parts that are rendered, unquoted."""
        parts = ((self.include_policy.get_part(key), self.path.get_part(key)) for key in ComponentName)
        return tuple(part for included, part in parts if included and part is not None)

    @property
    def is_temporary(self) -> bool:
        """A temporary view of Spark, which no schema holds."""
        return len(self.name_parts) == 1

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        """Two names that differ in case only are one name."""
        part = self.path.get_part(field)
        return part is not None and part.casefold() == value.casefold()
