"""The methods of the adapter for the layout and the documentation of tables: the actions of ALTER that give them what configs ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base.meta import available

from .column import DuckLakeColumn
from .format.objects import Table
from .layout import Layout, attribute_actions, documentation_actions, key_actions, layout_actions, layout_of, reset_actions
from .metadata import LakeMetadata
from .relation import DuckLakeRelation


class LayoutChanges(LakeMetadata):
    """The adapter's methods for the layout and the documentation of tables."""

    @available
    def layout(self, configs: Mapping[str, Any]) -> Layout:
        """Return the layout that configs ask for."""
        return layout_of(configs)

    @available.parse_list
    def layout_actions(self, relation: DuckLakeRelation, layout: Layout, resets_only: bool = False) -> list[str]:
        """Return the actions of ALTER TABLE that give a table its layout; none if the relation is not a table.

        Args:
            relation: the table.
            layout: the layout that the configs ask for.
            resets_only: only undo the layout of removed configs.
        """
        with self.connections.exception_handler(f"layout of {relation}"), self._session().reading(relation.database) as reader:
            table = reader.find(str(relation.schema), str(relation.identifier))
            if not isinstance(table, Table):
                return []
            if resets_only:
                return reset_actions(table, layout)
            lake = self._session().lake
            never_inlined = lake.catalog_of(lake.named(str(relation.database))).only_duckdb_inlines(table.columns)
            return layout_actions(table, reader.options(), layout, never_inlined=never_inlined)

    @available.parse_list
    def key_actions(self, relation: DuckLakeRelation, column: DuckLakeColumn, new_type: str) -> list[str]:
        """Return the actions of ALTER TABLE that give the place of `column` among the keys to a new column with its name."""
        with self.connections.exception_handler(f"layout of {relation}"), self._session().reading(relation.database) as reader:
            table = reader.find(str(relation.schema), str(relation.identifier))
            return key_actions(table, column, new_type) if isinstance(table, Table) else []

    @available.parse_list
    def attribute_actions(self, relation: DuckLakeRelation, old: DuckLakeColumn, new: DuckLakeColumn) -> list[str]:
        """Return the actions of ALTER TABLE that give a new column the comment, the default and the NOT NULL of an old one."""
        with self.connections.exception_handler(f"columns of {relation}"), self._session().reading(relation.database) as reader:
            table = reader.find(str(relation.schema), str(relation.identifier))
            return attribute_actions(table, old.name, new) if isinstance(table, Table) else []

    @available.parse_list
    def documentation_actions(self, relation: DuckLakeRelation, tags: list[str] | None, meta: Mapping[str, Any] | None) -> list[str]:
        """Return the actions of ALTER that store dbt's tags and meta with a table or view."""
        with self.connections.exception_handler(f"tags of {relation}"), self._session().reading(relation.database) as reader:
            found = reader.find(str(relation.schema), str(relation.identifier))
            return [] if found is None else documentation_actions(found, tags, meta)
