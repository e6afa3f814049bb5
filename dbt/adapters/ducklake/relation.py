"""A table or view in dbt: `database.schema.identifier`, each part in backticks, compared case-insensitively as in DuckLake.

The configs or `meta` of a source may pin it to a snapshot with `snapshot_version` and `snapshot_time`; it is then always rendered with
the time travel clause. A config comes before the same key of `meta`, which a table shares with its source. A source with an
`external_location` is rendered as files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.relation import BaseRelation, SerializableIterable
from dbt.adapters.contracts.relation import ComponentName, HasQuoting, RelationConfig, RelationType
from dbt_common.exceptions import DbtRuntimeError

from .external_location import file_relation, formatted
from .format.identifiers import backquoted, fold
from .snapshot_pin import is_set, pin

if TYPE_CHECKING:
    from typing_extensions import Self

_REPLACEABLE = frozenset({RelationType.Table, RelationType.View})


@dataclass(frozen=True, eq=False, repr=False)
class DuckLakeRelation(BaseRelation):
    """A relation in a lake. If only the identifier is included: a temporary view, or a relation in the current schema."""

    quote_character: str = "`"
    require_alias: bool = False
    snapshot_version: int | None = None
    snapshot_time: str | None = None
    external: str | None = None
    """SQL that reads the files of a source with an `external_location`; rendered instead of the name."""
    renameable_relations: SerializableIterable = field(default_factory=lambda: _REPLACEABLE)
    replaceable_relations: SerializableIterable = field(default_factory=lambda: _REPLACEABLE)

    def quoted(self, identifier: str) -> str:
        """Return one part of the name in backticks."""
        return backquoted(identifier)

    @classmethod
    def create_from(cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any) -> Self:
        """Return the relation of a node; a source may be pinned or read from files by its configs.

        Raises:
            DbtRuntimeError: a config is wrong or contradicts another; the message names the source.
        """
        relation = super().create_from(quoting, relation_config, **kwargs)
        if relation_config.resource_type != "source":
            return relation
        given: Any = relation_config.config
        own = {name: value for name, value in given.extra.items() if is_set(value)} if given else {}
        config = {**relation_config.meta, **own}
        try:
            pinned = relation.at(config.get("snapshot_version"), config.get("snapshot_time"))
            if not config.get("external_location"):
                return pinned
            if pinned.time_travel:
                raise ValueError("files have no snapshots; remove `external_location`, or `snapshot_version` and `snapshot_time`")
            names = {name: getattr(relation_config, name) for name in ("name", "identifier", "schema", "database", "tags")}
            location = formatted(str(config.get("external_location")), str(config.get("formatter") or "newstyle"), {**names, **config})
            return relation.replace(external=file_relation(location))
        except ValueError as error:
            raise DbtRuntimeError(f"The source {relation.path.schema}.{relation.path.identifier}: {error}") from error

    def at(self, version: Any = None, timestamp: Any = None) -> Self:
        """Return the relation at a snapshot or timestamp; without either, return it unchanged.

        Raises:
            ValueError: both are given, one is invalid, or the relation consists of files.
        """
        wanted = pin(version, timestamp)
        if not wanted:
            return self
        if self.external is not None:
            raise ValueError(f"{self.external} has no snapshots: only tables of a lake have earlier versions")
        return self.replace(snapshot_version=wanted.version, snapshot_time=None if wanted.time is None else str(wanted.time))

    @property
    def time_travel(self) -> str:
        """The clause that pins the relation; empty if it is not pinned."""
        if self.snapshot_version is not None:
            return f"version as of {self.snapshot_version}"
        return "" if self.snapshot_time is None else f"timestamp as of '{self.snapshot_time}'"

    def render(self) -> str:
        """Return the name with the clause that pins the relation, or the SQL for its files.

        Without a schema the identifier stands alone, as in dbt-spark: it is the name of a temporary view, or of a relation in the current
        schema.
        """
        if self._names_no_schema:
            return self.include(database=False).render()
        name = super().render()
        if not self.include_policy.identifier or self.path.identifier is None:
            return name
        if self.external is not None:
            return self.external
        return f"{name} {self.time_travel}" if self.time_travel else name

    @property
    def name_parts(self) -> tuple[str, ...]:
        """The rendered parts of the name, unquoted."""
        if self._names_no_schema:
            return self.include(database=False).name_parts
        parts = ((self.include_policy.get_part(key), self.path.get_part(key)) for key in ComponentName)
        return tuple(part for included, part in parts if included and part is not None)

    @property
    def _names_no_schema(self) -> bool:
        """Whether there is a database and an identifier to render, and no schema."""
        included = [self.include_policy.get_part(key) and self.path.get_part(key) is not None for key in ComponentName]
        return included == [True, False, True]

    @property
    def has_one_part(self) -> bool:
        """Whether the rendered name has one part only: a temporary view, or a relation in the current schema."""
        return len(self.name_parts) == 1

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        """Compare names case-insensitively."""
        part = self.path.get_part(field)
        return part is not None and fold(part) == fold(value)
