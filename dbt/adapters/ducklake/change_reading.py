"""The methods of the adapter for models that read changes: whether they can continue from their positions, and the new positions."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.base.meta import available
from dbt.flags import get_flags
from dbt_common.invocation import get_invocation_id

from .connections import logger
from .manifest_nodes import READS_CHANGES, calls_macro, inputs_of, names_macro
from .metadata import LakeMetadata
from .relation import DuckLakeRelation


class ChangeReading(LakeMetadata):
    """The adapter's methods for models that read changes."""

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._full_builds: dict[tuple[str, str], str | None] = {}

    @available.parse_none
    def reason_for_full_build(self, relation: DuckLakeRelation, model: Mapping[str, Any], strategy: str | None) -> str | None:
        """Return why an incremental model cannot continue from its positions; None if it can, or if it no longer reads changes.

        The answer stays the same for the whole command, so that the model's query and its materialization agree.
        """
        key = (get_invocation_id(), str(relation))
        if key not in self._full_builds:
            manifest = self.connections.manifest
            with self.connections.exception_handler(f"positions of {relation}"):
                found = self._session().position_problems(relation.name_parts, inputs_of(model, manifest))
            if found is None:  # a wrapper may read changes only sometimes; if it does now, its query fails and asks for a full refresh
                reads = strategy == "changes" or names_macro(model["raw_code"], READS_CHANGES)
                found = ["it has not read changes before"] if reads else []
            elif not (strategy == "changes" or calls_macro(model, READS_CHANGES, manifest)):
                found = []
            reason = "; ".join(found) if found else None
            self._full_builds[key] = reason
            if reason is not None:
                logger.info(f"{relation} must be built from all rows, because {reason}")
        return self._full_builds[key]

    @available
    def leaves_out_rows(self) -> bool:
        """Whether the command has `--empty` or `--sample`; the `flags` of Jinja lack the latter."""
        return any(bool(getattr(get_flags(), name, None)) for name in ("EMPTY", "SAMPLE"))  # type: ignore[no-untyped-call]

    @available.parse_none
    def set_positions(self, relation: DuckLakeRelation, query: str, rebuilt: bool) -> None:
        """Store the positions of a model with its table, in the same snapshot: up to where it has read the changes of each input.

        Args:
            relation: the model's table.
            query: the compiled query of the model.
            rebuilt: whether the model was built from all rows of its inputs.
        """
        with self.connections.exception_handler(f"positions of {relation}"):
            self._session().set_positions(relation.name_parts, query, rebuilt=rebuilt)
