"""What every commit of files shares: their statistics and partition values, and delete files that others take the place of.

Specification: the pages "ducklake_file_column_stats", "ducklake_file_partition_value", "ducklake_files_scheduled_for_deletion".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from ..spec.files import WrittenFile
from ..spec.objects import Table
from ..spec.paths import relative_to, resolve
from . import tables as t
from .commit_state import CommitState
from .database import batches


def write_file_details(state: CommitState, table_id: int, file_id: int, file: WrittenFile, partition_id: int | None) -> None:
    """The statistics and partition values of a data file."""
    for each in file.column_stats:
        state.add(
            t.file_column_stats,
            data_file_id=file_id,
            table_id=table_id,
            column_id=each.column_id,
            column_size_bytes=each.size_bytes,
            value_count=each.value_count,
            null_count=each.null_count,
            min_value=each.min_value,
            max_value=each.max_value,
            contains_nan=each.contains_nan,
            extra_stats=each.extra_stats,
        )
    if partition_id is not None:
        for index, value in enumerate(file.partition_values):
            state.add(
                t.file_partition_value,
                data_file_id=file_id,
                table_id=table_id,
                partition_key_index=index,
                partition_value=value,
            )


def live_delete_files(state: CommitState, file_ids: Sequence[int]) -> dict[int, Any]:
    """The row of the delete file of each data file that has one."""
    source = t.delete_file
    found: dict[int, Any] = {}
    for batch in batches(file_ids, state.database.dialect.batch_size):
        query = select(source).where(source.c.data_file_id.in_(batch), source.c.end_snapshot.is_(None))
        found |= {row.data_file_id: row for row in state.connection.execute(query)}
    return found


def schedule(state: CommitState, table: Table, old: Any) -> None:
    """A delete file is to be removed, because another has taken its place. Here alone a relative path begins at `data_path`."""
    path, is_relative = relative_to(state.data_path, resolve(table.path, old.path, old.path_is_relative))
    state.add(
        t.files_scheduled_for_deletion,
        data_file_id=old.delete_file_id,
        path=path,
        path_is_relative=is_relative,
        schedule_start=state.time,
    )
