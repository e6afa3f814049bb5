"""Rewrite staged delete files whose rows contain a snapshot id other than that of the commit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from ...errors import ConflictError
from ..staged import RowChanges, Staged, StagedDeleteFile

_THREADS = 8


def contains_expected_id(staged: Staged, start: int) -> bool:
    """Whether a delete file contains the expected snapshot id of the transaction, which is pinned to the snapshot `start`."""
    return any(_has_expected_id(each, start) for changes in staged.rows.values() for each in changes.delete_files.values())


def with_snapshot_id(staged: Staged, start: int, snapshot_id: int, written: list[str]) -> Staged:
    """Rewrite the delete files whose expected snapshot id is not `snapshot_id`.

    Args:
        staged: the staged changes.
        start: the snapshot that the transaction is pinned to; greater ids in a delete file are expected ids.
        snapshot_id: the id of the new snapshot.
        written: the path of each new file is appended as soon as it is written.

    Returns:
        The staged changes with the new delete files.

    Raises:
        ConflictError: a delete file has another expected snapshot id and cannot be rewritten.
    """
    for table_id, changes in staged.rows.items():
        outdated = dict(_outdated(changes, start, snapshot_id))
        if not outdated:
            continue
        rewrite = partial(_rewritten, start=start, snapshot_id=snapshot_id, written=written)
        with ThreadPoolExecutor(_THREADS) as pool:
            files = dict(zip(outdated, pool.map(rewrite, outdated.values()), strict=True))
        staged = staged.with_rows(table_id, replace(changes, delete_files={**changes.delete_files, **files}))
    return staged


def _has_expected_id(staged: StagedDeleteFile, start: int) -> bool:
    return staged.file.max_snapshot is not None and staged.file.max_snapshot > start


def _outdated(changes: RowChanges, start: int, snapshot_id: int) -> Iterator[tuple[int, StagedDeleteFile]]:
    for file_id, staged in changes.delete_files.items():
        if _has_expected_id(staged, start) and staged.file.max_snapshot != snapshot_id:
            yield file_id, staged


def _rewritten(old: StagedDeleteFile, *, start: int, snapshot_id: int, written: list[str]) -> StagedDeleteFile:
    if old.rewrite_with_id is None:
        raise ConflictError(
            f"the delete file {old.file.path} records that snapshot {old.file.max_snapshot} deleted its rows, but a concurrent transaction "
            "has committed that snapshot; nothing was written, so run it again"
        )
    file = old.rewrite_with_id(old.file, start, snapshot_id)
    written.append(file.path)
    return replace(old, file=file)
