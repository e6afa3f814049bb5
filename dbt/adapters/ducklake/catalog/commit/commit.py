"""Commit staged changes as a snapshot: one catalog transaction, with a retry if a concurrent writer commits first.

Specification: the pages "Snapshots" and "Conflict Resolution". An attempt waits for other writers, reads the newest snapshot, checks for
conflicts with everything committed since its transaction began, and writes all rows in batches. A retry uses the same files, except for
delete files that contain the id of the new snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ...errors import CatalogBusyError, ConflictError, EngineError, LakeError, StatementError
from ...format.changes import format_changes
from ...format.objects import Snapshot
from ...format.options import truth
from ...format.paths import with_separator
from ..read.history import latest_snapshot
from ..read.reader import DefinitionCache, SnapshotReader
from ..staged import CommitMessage, Staged, StagedDeleteFile
from ..store import tables as t
from ..store.database import ConcurrentWriteError, repeat_if_stale
from ..store.retries import RetrySettings
from .compaction import without_changed_files
from .conflicts import require_no_conflict
from .objects import write_objects
from .options import stored_options, write_staged_options
from .rows import write_rows
from .state import CommitState

_THREADS = 8
"""How many delete files are rewritten at the same time."""


@dataclass
class CommitProgress:
    """The progress of a commit."""

    staged: Staged
    """The changes of the last attempt, in which delete files may have been replaced, and groups of a compaction left out."""
    uncertain: bool = False
    """Whether the database may or may not have committed, because it did not answer."""
    rewritten: list[str] = field(default_factory=list)
    """The paths of delete files that attempts wrote, including failed attempts."""


def commit(
    cache: DefinitionCache,
    base: SnapshotReader,
    retry: RetrySettings,
    next_row_ids: Mapping[int, int],
    progress: CommitProgress,
) -> Snapshot | None:
    """Commit the staged changes of `progress`.

    Args:
        cache: the shared definitions of the lake.
        base: the reader of the snapshot that the transaction is pinned to.
        retry: the retry settings.
        next_row_ids: the next row id that reads in the transaction assumed, by table id.
        progress: the staged changes; updated by each attempt.

    Returns:
        The new snapshot, or None if only options changed.

    Raises:
        ConflictError: a concurrent writer's change forbids the commit.
        CatalogBusyError: the catalog was busy in every attempt.
        StatementError: the lake requires a commit message and none was set.
        EngineError: the database failed.
    """
    attempt = partial(_attempt, cache, base, next_row_ids, progress)
    try:
        return retry.policy(ConcurrentWriteError)(lambda: repeat_if_stale(attempt))
    except ConcurrentWriteError as reason:
        raise CatalogBusyError(
            f"other writers kept the catalog busy for {retry.max_retry_count + 1} attempts ({reason}); nothing was written, "
            "run it again or raise the retry settings"
        ) from reason


def require_committable(cache: DefinitionCache, base: SnapshotReader, staged: Staged) -> None:
    """Require that a commit would find no conflict with what is committed now. A later commit can still find one.

    Args:
        cache: the shared definitions of the lake.
        base: the reader of the snapshot that the transaction is pinned to.
        staged: the changes.

    Raises:
        ConflictError: a concurrent writer's change forbids the commit.
    """

    def check(connection: Connection) -> None:
        require_no_conflict(CommitState(connection, cache.database, cache.data_path, base, latest_snapshot(connection), staged))

    cache.database.read_plan(check)


def _attempt(cache: DefinitionCache, base: SnapshotReader, next_row_ids: Mapping[int, int], progress: CommitProgress) -> Snapshot | None:
    try:
        return _commit_once(cache, base, next_row_ids, progress)
    except ConcurrentWriteError:  # the database certainly did not commit
        progress.uncertain = False
        raise
    except EngineError as error:
        if not progress.uncertain:
            raise
        raise EngineError(
            f"{error}. It failed during the commit, so it is not known whether the snapshot exists: check the newest "
            "snapshots before you run this again. The files that were written were not removed"
        ) from error


def _commit_once(
    cache: DefinitionCache, base: SnapshotReader, next_row_ids: Mapping[int, int], progress: CommitProgress
) -> Snapshot | None:
    start = base.snapshot.snapshot_id
    delete_files = (each for changes in progress.staged.rows.values() for each in changes.delete_files.values())
    if any(each.contains_expected_id(start) for each in delete_files):  # files are slow to write, so write them before taking the lock
        with cache.database.reading() as connection:
            next_snapshot_id = latest_snapshot(connection).snapshot_id + 1
        progress.staged = _with_snapshot_id(progress.staged, start, next_snapshot_id, progress.rewritten)
    with cache.database.writing() as connection:
        state = CommitState(connection, cache.database, cache.data_path, base, latest_snapshot(connection), progress.staged)
        snapshot = _write_changes(state, next_row_ids, progress) if state.staged.has_changes else None
        write_staged_options(state)
        progress.uncertain = True  # for good: an interrupt between the commit and the return must not remove the files of the snapshot
    return snapshot


def _write_changes(state: CommitState, next_row_ids: Mapping[int, int], progress: CommitProgress) -> Snapshot:
    _require_message(state)
    _require_same_data_path(state)
    require_no_conflict(state)
    state.staged = without_changed_files(state)
    progress.staged = _with_snapshot_id(state.staged, state.base.snapshot.snapshot_id, state.snapshot_id, progress.rewritten)
    state.staged = progress.staged
    write_objects(state)
    write_rows(state, next_row_ids)
    snapshot = _write_snapshot(state)
    state.insert_collected_rows()
    return snapshot


def _with_snapshot_id(staged: Staged, start: int, snapshot_id: int, written: list[str]) -> Staged:
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
        outdated = {
            file_id: each
            for file_id, each in changes.delete_files.items()
            if each.contains_expected_id(start) and each.file.max_snapshot != snapshot_id
        }
        if not outdated:
            continue
        rewrite = partial(_rewritten, start=start, snapshot_id=snapshot_id, written=written)
        with ThreadPoolExecutor(_THREADS) as pool:
            files = dict(zip(outdated, pool.map(rewrite, outdated.values()), strict=True))
        staged = staged.with_rows(table_id, replace(changes, delete_files={**changes.delete_files, **files}))
    return staged


def _rewritten(old: StagedDeleteFile, *, start: int, snapshot_id: int, written: list[str]) -> StagedDeleteFile:
    if old.rewrite_with_id is None:
        raise ConflictError(
            f"the delete file {old.file.path} records that snapshot {old.file.max_snapshot} deleted its rows, but a concurrent transaction "
            "has committed that snapshot; nothing was written, so run it again"
        )
    file = old.rewrite_with_id(old.file, start, snapshot_id)
    written.append(file.path)
    return replace(old, file=file)


def _write_snapshot(state: CommitState) -> Snapshot:
    snapshot = Snapshot(state.snapshot_id, state.time, state.schema_version, state.next_catalog_id, state.next_file_id)
    state.add(
        t.snapshot,
        snapshot_id=snapshot.snapshot_id,
        snapshot_time=snapshot.time,
        schema_version=snapshot.schema_version,
        next_catalog_id=snapshot.next_catalog_id,
        next_file_id=snapshot.next_file_id,
    )
    message = state.staged.commit_message or CommitMessage()
    state.add(
        t.snapshot_changes,
        snapshot_id=snapshot.snapshot_id,
        changes_made=format_changes(state.changes),
        author=message.author,
        commit_message=message.message,
        commit_extra_info=message.extra_info,
    )
    return snapshot


def _require_message(state: CommitState) -> None:
    if state.staged.commit_message is not None:
        return
    if truth(stored_options(state).get("require_commit_message")):
        raise StatementError("the lake has require_commit_message = true; write CALL set_commit_message(author, message) before the commit")


def _require_same_data_path(state: CommitState) -> None:
    """Require that the lake has the data path with which this process opened it.

    Another process may change it as long as the lake has no tables.
    """
    if not any(table_id < 0 for table_id in state.staged.tables):
        return
    metadata = t.metadata.c
    stored = state.connection.scalar(select(metadata.value).where(metadata.key == "data_path", metadata.scope.is_(None)))
    if stored is not None and with_separator(stored) != state.data_path:
        raise LakeError(
            f"the lake stores its files at {stored} now, but at {state.data_path} when this process opened it; nothing was committed, "
            "so run it again"
        )
