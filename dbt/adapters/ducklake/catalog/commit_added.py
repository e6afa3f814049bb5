"""Added files in a commit: no concurrent transaction has made them files of the lake.

Specification: the page "Adding Files". A file that two rows name would be read twice, and removed with the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select

from ..errors import ConflictError
from ..spec.paths import plain, resolve
from . import tables as t
from .commit_state import CommitState
from .known_files import scheduled_paths, table_directories


def require_not_added(state: CommitState) -> None:
    """Compare the added files with what was registered or scheduled for deletion since the start.

    Raises:
        ConflictError: one of them belongs to the lake by now.
    """
    for table_id, changes in state.staged.rows.items():
        added = {plain(staged.file.path): staged.file.path for staged in changes.files if staged.file.mapping is not None}
        if not added:
            continue
        for path in _taken(state):
            if plain(path) in added:
                table = state.table(table_id)
                raise ConflictError(
                    f"cannot add {added[plain(path)]} to {table.schema_name}.{table.name}: a concurrent transaction added it to the lake, "
                    "and a file belongs to one table, once; nothing was written, run it again"
                )


def _taken(state: CommitState) -> Iterator[str]:
    directories = table_directories(state.connection, state.data_path)
    data = t.data_file.c
    query = select(data.table_id, data.path, data.path_is_relative).where(data.data_file_id >= state.base.snapshot.next_file_id)
    for row in state.connection.execute(query):
        yield resolve(directories.get(row.table_id, state.data_path), row.path, row.path_is_relative)
    yield from scheduled_paths(state.connection, state.data_path)
