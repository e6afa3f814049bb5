"""A table or view as dbt names it: `database.schema.identifier`, each part in back-quotes, compared without case as DuckLake does.

A source may be pinned to a snapshot by its configs `snapshot_version` and `snapshot_time`, which also `meta` may hold; it is rendered with
the clause for it, wherever dbt renders it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.relation import BaseRelation, SerializableIterable
from dbt.adapters.contracts.relation import ComponentName, HasQuoting, RelationConfig, RelationType
from dbt_common.exceptions import DbtRuntimeError

from .snapshot_pin import pin
from .spec.identifiers import backquoted

if TYPE_CHECKING:
    from typing_extensions import Self

_REPLACEABLE = frozenset({RelationType.Table, RelationType.View})


@dataclass(frozen=True, eq=False, repr=False)
class DuckLakeRelation(BaseRelation):
    """A relation in a lake, or, when only its identifier is included, one of Spark's temporary views."""

    quote_character: str = "`"
    require_alias: bool = False
    snapshot_version: int | None = None
    snapshot_time: str | None = None
    renameable_relations: SerializableIterable = field(default_factory=lambda: _REPLACEABLE)
    replaceable_relations: SerializableIterable = field(default_factory=lambda: _REPLACEABLE)

    def quoted(self, identifier: str) -> str:
        """One part of the name in back-quotes."""
        return backquoted(identifier)

    @classmethod
    def create_from(cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any) -> Self:
        """The relation of a node; that of a source is pinned where its configs say so.

        Raises:
            DbtRuntimeError: they contradict each other, or are no snapshot; the text names the source.
        """
        relation = super().create_from(quoting, relation_config, **kwargs)
        if relation_config.resource_type != "source":
            return relation
        config: Any = relation_config.config
        meta = relation_config.meta
        version = meta["snapshot_version"] if "snapshot_version" in meta else config.get("snapshot_version")
        time = meta["snapshot_time"] if "snapshot_time" in meta else config.get("snapshot_time")
        try:
            return relation.at(version, time)
        except ValueError as error:
            raise DbtRuntimeError(f"The source {relation.path.schema}.{relation.path.identifier}: {error}") from error

    def at(self, version: Any = None, timestamp: Any = None) -> Self:
        """The relation as of a snapshot or of a moment; without either as it is.

        Raises:
            ValueError: both are given, or one that is no snapshot.
        """
        wanted = pin(version, timestamp)
        if not wanted:
            return self
        return self.replace(snapshot_version=wanted.version, snapshot_time=None if wanted.time is None else str(wanted.time))

    @property
    def time_travel(self) -> str:
        """The clause that pins it; empty if nothing does."""
        if self.snapshot_version is not None:
            return f"version as of {self.snapshot_version}"
        return "" if self.snapshot_time is None else f"timestamp as of '{self.snapshot_time}'"

    def render(self) -> str:
        """The name, and the clause that pins it."""
        name = super().render()
        is_whole = self.include_policy.identifier and self.path.identifier is not None
        return f"{name} {self.time_travel}" if is_whole and self.time_travel else name

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
