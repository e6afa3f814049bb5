"""Delete files that say when each row was deleted get the snapshot that their transaction becomes.

Specification: "ducklake_delete_file". A delete file that takes the place of another holds the snapshot of every position. Its transaction
expects to become the snapshot after the one it reads; when others commit first, it becomes a later one. With the earlier id, snapshots in
between would miss the rows, and the change feed would tell the deletes at a snapshot that did not make them.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ..errors import ConflictError
from .staged import RowChanges, Staged, StagedDeleteFile

_THREADS = 8


def names_snapshot(staged: Staged, start: int) -> bool:
    """Whether a delete file names the snapshot that the transaction, which reads the snapshot `start`, is to become."""
    return any(_names(each, start) for changes in staged.rows.values() for each in changes.delete_files.values())


def dated(staged: Staged, start: int, snapshot_id: int, written: list[str]) -> Staged:
    """The same with delete files that name `snapshot_id` in the place of those that name another one after `start`.

    Args:
        written: gets the path of each file as soon as it is written.

    Raises:
        ConflictError: a delete file names another snapshot and cannot be written again.
    """
    for table_id, changes in staged.rows.items():
        outdated = dict(_outdated(changes, start, snapshot_id))
        if not outdated:
            continue

        def renewed(old: StagedDeleteFile) -> StagedDeleteFile:
            return _renewed(old, start, snapshot_id, written)

        with ThreadPoolExecutor(_THREADS) as pool:
            files = dict(zip(outdated, pool.map(renewed, outdated.values()), strict=True))
        staged = staged.with_rows(table_id, replace(changes, delete_files={**changes.delete_files, **files}))
    return staged


def _names(staged: StagedDeleteFile, start: int) -> bool:
    return staged.file.max_snapshot is not None and staged.file.max_snapshot > start


def _outdated(changes: RowChanges, start: int, snapshot_id: int) -> Iterator[tuple[int, StagedDeleteFile]]:
    for file_id, staged in changes.delete_files.items():
        if _names(staged, start) and staged.file.max_snapshot != snapshot_id:
            yield file_id, staged


def _renewed(old: StagedDeleteFile, start: int, snapshot_id: int, written: list[str]) -> StagedDeleteFile:
    if old.redate is None:
        raise ConflictError(
            f"the delete file {old.file.path} says that snapshot {old.file.max_snapshot} deleted its rows, but that one has been committed "
            "by a concurrent transaction; nothing was written, run it again"
        )
    file = old.redate(old.file, start, snapshot_id)
    written.append(file.path)
    return replace(old, file=file)
