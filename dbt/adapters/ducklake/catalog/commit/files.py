"""The catalog rows of data files and delete files in a commit, and of files that are replaced.

Specification: the pages "ducklake_data_file", "ducklake_delete_file", "ducklake_file_column_stats", "ducklake_file_variant_stats",
"ducklake_file_partition_value", "ducklake_files_scheduled_for_deletion". At most one delete file per data file is live: a later one
contains all positions, and the row of the earlier one is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from sqlalchemy import select

from ...format.files import ColumnStats, MappedField, WrittenDeleteFile, WrittenFile
from ...format.objects import Table
from ...format.paths import relative_to, resolve
from ...format.variant_stats import parts_of
from ..read.file_rows import read_mappings
from ..store import tables as t
from ..store.database import rows_with_ids
from .state import CommitState


@dataclass(frozen=True)
class FileEntry:
    """The values of a row of `ducklake_data_file` that a commit assigns."""

    file_id: int
    begin_snapshot: int
    """The snapshot from which the file is visible."""
    row_id_start: int | None
    """The row id of the first row; None if row ids are embedded."""
    partition_id: int | None
    """The partition spec of the file; None if unpartitioned."""
    partial_max: int | None = None
    """The greatest snapshot id in the rows of the file; None if the rows have no snapshot ids."""


def write_data_file(state: CommitState, table: Table, file: WrittenFile, entry: FileEntry) -> None:
    """Register a data file with its statistics and partition values.

    Args:
        state: the attempt to commit.
        table: the table's definition, with its id in the catalog.
        file: the file.
        entry: its ids and snapshots.
    """
    path, is_relative = relative_to(table.path, file.path)
    state.add(
        t.data_file,
        data_file_id=entry.file_id,
        table_id=table.table_id,
        begin_snapshot=entry.begin_snapshot,
        path=path,
        path_is_relative=is_relative,
        file_format="parquet",
        record_count=file.record_count,
        file_size_bytes=file.size_bytes,
        footer_size=file.footer_size,
        row_id_start=entry.row_id_start,
        partition_id=entry.partition_id,
        partial_max=entry.partial_max,
        encryption_key=file.encryption_key,
        mapping_id=None if file.mapping is None else _mapping_id(state, table.table_id, file.mapping),
    )
    _write_details(state, table.table_id, entry.file_id, file, entry.partition_id)


def _write_details(state: CommitState, table_id: int, file_id: int, file: WrittenFile, partition_id: int | None) -> None:
    """Write the statistics and partition values of a data file."""
    ids = {"data_file_id": file_id, "table_id": table_id}
    for each in file.column_stats:
        state.add(t.file_column_stats, **ids, column_id=each.column_id, **_stats_values(each), extra_stats=each.extra_stats)
        for part in parts_of(each.extra_stats, each.column_id):
            place = {"column_id": each.column_id, "variant_path": part.path, "shredded_type": part.type}
            state.add(t.file_variant_stats, **ids, **place, **_stats_values(part.stats))
    if partition_id is not None:
        for index, value in enumerate(file.partition_values):
            state.add(t.file_partition_value, **ids, partition_key_index=index, partition_value=value)


def _stats_values(stats: ColumnStats) -> dict[str, Any]:
    """Return the statistics that a column and a part of a variant have."""
    return {
        "column_size_bytes": stats.size_bytes,
        "value_count": stats.value_count,
        "null_count": stats.null_count,
        "min_value": stats.min_value,
        "max_value": stats.max_value,
        "contains_nan": stats.contains_nan,
    }


def write_delete_file(
    state: CommitState,
    table: Table,
    file: WrittenDeleteFile,
    *,
    data_file_id: int,
    begin_snapshot: int,
    partial_max: int | None = None,
    end_snapshot: int | None = None,
) -> None:
    """Register a delete file.

    Args:
        state: the attempt to commit.
        table: the table's definition, with its id in the catalog.
        file: the delete file.
        data_file_id: the id of its data file in the catalog.
        begin_snapshot: the first snapshot that uses it.
        partial_max: the greatest snapshot id in its entries; None if the entries have no snapshot ids.
        end_snapshot: the snapshot that ends it; None if it is live.
    """
    path, is_relative = relative_to(table.path, file.path)
    state.add(
        t.delete_file,
        delete_file_id=state.new_file_id(),
        table_id=table.table_id,
        begin_snapshot=begin_snapshot,
        end_snapshot=end_snapshot,
        data_file_id=data_file_id,
        path=path,
        path_is_relative=is_relative,
        format=file.format,
        delete_count=file.delete_count,
        file_size_bytes=file.size_bytes,
        footer_size=file.footer_size,
        encryption_key=file.encryption_key,
        partial_max=partial_max,
    )


def live_delete_files(state: CommitState, file_ids: Sequence[int]) -> dict[int, Any]:
    """Return data file id → the row of its live delete file, for data files that have one."""
    return {data_file_id: row for data_file_id, row in _newest_delete_files(state, file_ids).items() if row.end_snapshot is None}


def _newest_delete_files(state: CommitState, file_ids: Sequence[int]) -> dict[int, Any]:
    """Return data file id → the row of its newest delete file, which is live or ended with the data file.

    Before format 1.0, a new delete file ended the earlier one, whose row stayed for older snapshots.
    """
    query = select(t.delete_file).order_by(t.delete_file.c.delete_file_id)
    return {row.data_file_id: row for row in rows_with_ids(state.connection, query, t.delete_file.c.data_file_id, file_ids)}


def supersede_delete_files(state: CommitState, table: Table, file_ids: Sequence[int]) -> dict[int, Any]:
    """Remove the newest delete file of each data file, because a new one replaces it, and return data file id → removed row."""
    superseded = _newest_delete_files(state, file_ids)
    for old in superseded.values():
        schedule(state, old.delete_file_id, resolve(table.path, old.path, old.path_is_relative))
    state.remove(t.delete_file, t.delete_file.c.delete_file_id, [old.delete_file_id for old in superseded.values()])
    return superseded


def schedule(state: CommitState, file_id: int, path: str) -> None:
    """Schedule a replaced file for deletion. A relative path in the row is relative to the data path, not to the table's path."""
    path, is_relative = relative_to(state.data_path, path)
    state.add(
        t.files_scheduled_for_deletion,
        data_file_id=file_id,
        path=path,
        path_is_relative=is_relative,
        schedule_start=state.time,
    )


NameMapping = tuple[MappedField, ...]


def _mapping_id(state: CommitState, table_id: int, mapping: NameMapping) -> int:
    """Return the id of a name mapping of a table, registering the mapping if it is new."""
    known = state.mappings.get(table_id)
    if known is None:
        known = state.mappings[table_id] = _stored_mappings(state, table_id)
    if mapping not in known:
        known[mapping] = state.new_file_id()
        _write_mapping(state, table_id, known[mapping], mapping)
    return known[mapping]


def _stored_mappings(state: CommitState, table_id: int) -> dict[NameMapping, int]:
    source = t.column_mapping.c
    query = select(source.mapping_id).where(source.table_id == table_id, source.type == "map_by_name")
    ids: list[int] = list(state.connection.scalars(query))
    return {mapping: known_id for known_id, mapping in read_mappings(state.connection, ids).items()}


def _write_mapping(state: CommitState, table_id: int, new_id: int, mapping: NameMapping) -> None:
    state.add(t.column_mapping, mapping_id=new_id, table_id=table_id, type="map_by_name")
    column_ids = count()

    def write(fields: Iterable[MappedField], parent: int | None) -> None:
        for field in fields:
            column_id = next(column_ids)
            state.add(
                t.name_mapping,
                mapping_id=new_id,
                column_id=column_id,
                source_name=field.source_name,
                target_field_id=field.column_id,
                parent_column=parent,
                is_partition=field.is_partition,
            )
            write(field.children, column_id)

    write(mapping, None)
