"""Convert rows of `ducklake_data_file`, `ducklake_delete_file` and related tables to values for readers.

Specification: the pages "ducklake_data_file", "ducklake_delete_file", "ducklake_file_column_stats", "ducklake_name_mapping".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.engine import Connection

from ...format.files import ColumnStats, DataFile, DeleteFile, MappedField
from ...format.objects import Table
from ...format.paths import resolve
from ..store import tables as t
from ..store.database import rows_with_ids
from ..store.row_rules import checked, damaged_row

DELETE_LABELS = {
    "delete_file_id": "delete_file_id",
    "path": "delete_path",
    "path_is_relative": "delete_path_is_relative",
    "format": "delete_format",
    "delete_count": "delete_count",
    "file_size_bytes": "delete_size_bytes",
    "footer_size": "delete_footer_size",
    "begin_snapshot": "delete_begin_snapshot",
    "encryption_key": "delete_encryption_key",
}
"""Column of `ducklake_delete_file` → its name in `DELETE_COLUMNS`, which differs from those of data files."""
DELETE_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(t.delete_file.c[name].label(label) for name, label in DELETE_LABELS.items())
"""The columns that `delete_file` reads."""


def data_file(row: Any, table: Table, mappings: Mapping[int, tuple[MappedField, ...]]) -> DataFile:
    """Convert a row of `ducklake_data_file` to a file without deletes.

    Args:
        row: the row.
        table: the table.
        mappings: id → name mapping, for the mappings of the table's files.
    """
    return DataFile(
        row.data_file_id,
        resolve(table.path, row.path, row.path_is_relative),
        row.record_count,
        row.file_size_bytes,
        row.footer_size,
        row.row_id_start,
        row.begin_snapshot,
        mapping=mappings.get(row.mapping_id) if row.mapping_id is not None else None,
        encryption_key=row.encryption_key,
    )


def delete_file(row: Any, table: Table, snapshot_limit: int, others: Sequence[Any] = ()) -> DeleteFile | None:
    """Convert a row with `DELETE_COLUMNS` to a delete file; None if the row has no delete file.

    Args:
        row: the row of the delete file, or of a data file without one.
        table: the table.
        snapshot_limit: the snapshot up to which the entries of the delete file apply.
        others: the rows of other live delete files of the same data file.
    """
    if row.delete_file_id is None:
        return None
    return DeleteFile(
        row.delete_file_id,
        resolve(table.path, row.delete_path, row.delete_path_is_relative),
        row.delete_format,
        row.delete_count,
        row.delete_size_bytes,
        row.delete_footer_size,
        row.delete_begin_snapshot,
        snapshot_limit,
        tuple(filter(None, (delete_file(each, table, snapshot_limit) for each in others))),
        row.delete_encryption_key,
    )


def column_stats(row: Any) -> ColumnStats:
    """Convert a row of `ducklake_file_column_stats`."""
    return ColumnStats(
        row.column_id,
        row.column_size_bytes,
        row.value_count,
        row.null_count,
        row.min_value,
        row.max_value,
        row.contains_nan,
        row.extra_stats,
    )


def read_mappings(connection: Connection, ids: Collection[int]) -> dict[int, tuple[MappedField, ...]]:
    """Return the name mappings with these ids, by id.

    Raises:
        LakeError: a row is damaged, or a mapping has no rows, so that a file would have no columns.
    """
    if not ids:
        return {}
    source = t.name_mapping
    children: dict[tuple[int, int | None], list[Any]] = defaultdict(list)
    for row in checked(source, rows_with_ids(connection, select(source).order_by(source.c.column_id), source.c.mapping_id, ids)):
        children[row.mapping_id, row.parent_column].append(row)

    def mapped_fields(mapping_id: int, parent: int | None) -> tuple[MappedField, ...]:
        return tuple(
            MappedField(row.source_name, row.target_field_id, mapped_fields(mapping_id, row.column_id), bool(row.is_partition))
            for row in children.get((mapping_id, parent), ())
        )

    found = {mapping_id: mapped_fields(mapping_id, None) for mapping_id in ids}
    missing = next((mapping_id for mapping_id, mapped in found.items() if not mapped), None)
    if missing is not None:
        raise damaged_row("ducklake_data_file", f"mapping_id={missing}", "has a mapping without rows in ducklake_name_mapping")
    return found
