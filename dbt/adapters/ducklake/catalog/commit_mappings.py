"""Name mappings in a commit: one for all files of a table whose fields have the same names, also those of earlier commits.

Specification: the pages "ducklake_column_mapping" and "ducklake_name_mapping".
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select

from ..spec.files import MappedField
from . import tables as t
from .commit_state import CommitState
from .file_rows import read_mappings

Mapping = tuple[MappedField, ...]


def mapping_id(state: CommitState, table_id: int, mapping: Mapping) -> int:
    """The id of a mapping of a table; it is registered if it is new."""
    known = state.mappings.get(table_id)
    if known is None:
        known = state.mappings[table_id] = _known(state, table_id)
    if mapping not in known:
        known[mapping] = state.new_file_id()
        _write(state, table_id, known[mapping], mapping)
    return known[mapping]


def _known(state: CommitState, table_id: int) -> dict[Mapping, int]:
    source = t.column_mapping.c
    query = select(source.mapping_id).where(source.table_id == table_id, source.type == "map_by_name")
    ids: list[int] = list(state.connection.scalars(query))
    return {mapping: known for known, mapping in read_mappings(state.connection, state.database, ids).items()}


def _write(state: CommitState, table_id: int, new_id: int, mapping: Mapping) -> None:
    state.add(t.column_mapping, mapping_id=new_id, table_id=table_id, type="map_by_name")
    written = 0

    def write(fields: Iterable[MappedField], parent: int | None) -> None:
        nonlocal written
        for field in fields:
            number = written
            written += 1
            state.add(
                t.name_mapping,
                mapping_id=new_id,
                column_id=number,
                source_name=field.source_name,
                target_field_id=field.column_id,
                parent_column=parent,
                is_partition=field.is_partition,
            )
            write(field.children, number)

    write(mapping, None)
