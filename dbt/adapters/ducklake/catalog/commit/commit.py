"""Making staged changes a snapshot: one catalog transaction, tried again when a concurrent writer was faster.

Specification: the page "Snapshots" and "Conflict Resolution". An attempt waits for its turn, reads the newest snapshot, compares itself
with everything committed since its transaction began, and writes all rows in batches. No file is written again, apart from delete files
that name the snapshot (`commit_dates.py`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from ...errors import ConfigurationError, ConflictError, EngineError, StatementError
from ...format.changes import format_changes
from ...format.objects import Snapshot
from ...format.options import truth
from ..read.history import latest_snapshot
from ..read.reader import DefinitionCache, SnapshotReader
from ..staged import CommitMessage, RowChanges, Staged, StagedDeleteFile
from ..store import tables as t
from ..store.database import RivalError
from .conflicts import require_no_conflict
from .objects import write_objects
from .options import read_options, write_staged_options
from .rows import write_rows
from .state import CommitState


@dataclass(frozen=True)
class RetrySettings:
    """How often a commit is tried again and how long it waits before: `wait_ms` times `backoff` to the power of the attempt.

    The defaults are the reference's (`ducklake_max_retry_count`, `ducklake_retry_wait_ms`, `ducklake_retry_backoff`).
    """

    max_retry_count: int = 10
    wait_ms: float = 100
    backoff: float = 1.5
    connect_attempts: int = 1
    """How often it is tried to reach the catalog database when a lake is opened."""

    def __post_init__(self) -> None:
        if self.connect_attempts < 1:
            raise ConfigurationError("the retry settings must be: connect_attempts 1 or more")
        if self.max_retry_count < 0 or self.wait_ms < 0 or self.backoff < 1:
            raise ConfigurationError("the retry settings must be: max_retry_count 0 or more, wait_ms 0 or more, backoff 1 or more")

    def seconds(self, attempt: int) -> float:
        """How long to wait before an attempt; somewhat at random, so that concurrent writers part."""
        return self.wait_ms / 1000 * random.uniform(0.5, 1) * self.backoff**attempt


@dataclass
class CommitProgress:
    """How far a commit came."""

    staged: Staged
    """What the last attempt tried to commit: delete files may have taken the place of others."""
    uncertain: bool = False
    """The database was asked to commit and has not answered: it may have done it or not."""
    rewritten: list[str] = field(default_factory=list)
    """The delete files that attempts wrote, those of failed attempts too."""


def commit(
    cache: DefinitionCache,
    base: SnapshotReader,
    retry: RetrySettings,
    next_row_ids: Mapping[int, int],
    progress: CommitProgress,
) -> Snapshot | None:
    """Commit the staged changes of `progress` and give the snapshot they became; options alone become none.

    Raises:
        ConflictError: a concurrent writer's change forbids it, or no attempt found the catalog free.
        StatementError: the lake demands a commit message and none was set.
        EngineError: the database failed.
    """
    for attempt in range(retry.max_retry_count + 1):
        if attempt:
            time.sleep(retry.seconds(attempt))
        try:
            return _attempt(cache, base, next_row_ids, progress)
        except RivalError as error:  # then it was certainly not done
            reason = error
            progress.uncertain = False
        except EngineError as error:
            if not progress.uncertain:
                raise
            raise EngineError(
                f"{error}. It failed while it was committing, so it is not known whether the snapshot exists: look at the newest "
                "snapshots before you run this again. The files that were written are still there"
            ) from error
    raise ConflictError(
        f"other writers kept the catalog busy for {retry.max_retry_count + 1} attempts ({reason}); nothing was written, "
        "run it again or raise the retry settings"
    )


def _attempt(cache: DefinitionCache, base: SnapshotReader, next_row_ids: Mapping[int, int], progress: CommitProgress) -> Snapshot | None:
    start = base.snapshot.snapshot_id
    if names_snapshot(progress.staged, start):  # before the lock is taken, for files are slow; most often it stays right
        with cache.database.reading() as connection:
            following = latest_snapshot(connection).snapshot_id + 1
        progress.staged = dated(progress.staged, start, following, progress.rewritten)
    with cache.database.writing() as connection:
        state = CommitState(connection, cache.database, cache.data_path, base, latest_snapshot(connection), progress.staged)
        snapshot = _write_changes(state, next_row_ids, progress) if state.staged.has_changes else None
        write_staged_options(state)
        progress.uncertain = True
    progress.uncertain = False
    return snapshot


def _write_changes(state: CommitState, next_row_ids: Mapping[int, int], progress: CommitProgress) -> Snapshot:
    _require_message(state)
    require_no_conflict(state)
    progress.staged = dated(state.staged, state.base.snapshot.snapshot_id, state.snapshot_id, progress.rewritten)
    state.staged = progress.staged
    write_objects(state)
    write_rows(state, next_row_ids)
    snapshot = _write_snapshot(state)
    state.flush()
    return snapshot


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
    if truth(read_options(state.connection).get("require_commit_message")):
        raise StatementError("the lake has require_commit_message = true; write CALL set_commit_message(author, message) before the commit")


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
