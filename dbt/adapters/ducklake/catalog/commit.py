"""Making staged changes a snapshot: one catalog transaction, tried again when a rival was faster.

Specification: the page "Snapshots" and "Conflict Resolution". An attempt waits for its turn, reads the newest snapshot, compares itself
with everything committed since its transaction began, and writes all rows in batches. No file is written again, apart from delete files
that name the snapshot (`commit_dates.py`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import ConfigurationError, ConflictError, EngineError, StatementError
from ..spec.changes import format_changes
from ..spec.objects import Snapshot
from ..spec.options import truth
from . import tables as t
from .commit_conflicts import require_no_conflict
from .commit_dates import dated, names_snapshot
from .commit_objects import write_objects
from .commit_rows import write_rows
from .commit_state import CommitState
from .database import RivalError
from .history import latest_snapshot
from .options import read_options, write_staged_options
from .reader import DefinitionCache, SnapshotReader
from .staged import CommitMessage, Staged


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
        """How long to wait before an attempt; somewhat at random, so that rivals part."""
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
        ConflictError: a rival's change forbids it, or no attempt found the catalog free.
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
