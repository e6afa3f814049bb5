"""Find snapshots by version or timestamp, and read their logged changes.

Specification: the tables `ducklake_snapshot` and `ducklake_snapshot_changes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import Row, func, literal, select
from sqlalchemy.engine import Connection

from ...errors import ConflictError, LakeError, NotFoundError
from ...format.changes import Change, parse_changes
from ...format.objects import Snapshot
from ..store import tables as t
from ..store.database import Database
from ..store.dialects import dialect_of
from ..store.retries import RetrySettings
from ..store.row_rules import checked


@dataclass(frozen=True)
class SnapshotRecord:
    """A snapshot with its logged changes."""

    snapshot: Snapshot
    changes: tuple[Change, ...]
    changes_made: str | None
    author: str | None
    message: str | None
    extra_info: str | None

    @property
    def title(self) -> str:
        """How errors name this snapshot: its id, author and message."""
        author, message = f" by {self.author}" if self.author else "", f" ({self.message})" if self.message else ""
        return f"snapshot {self.snapshot.snapshot_id}{author}{message}"


def resolve(database: Database, retry: RetrySettings, version: int | None, timestamp: datetime | None) -> Snapshot:
    """Return the snapshot of a version or of a timestamp; by default the newest, or the one at which the lake was opened.

    The read is retried as a commit is, because every transaction starts with it.

    Args:
        database: the catalog database.
        retry: how often the read is retried.
        version: the id of the snapshot.
        timestamp: returns the newest snapshot at or before this time (UTC if it has no zone); not used if `version` is given.

    Raises:
        NotFoundError: the snapshot does not exist.
        LakeError: the catalog has no snapshots.
    """
    if version is None and timestamp is None and database.opened_at_snapshot is not None:
        return database.opened_at_snapshot

    def read(connection: Connection) -> Snapshot:
        if version is not None:
            return snapshot_of_version(connection, version)
        return latest_snapshot(connection) if timestamp is None else snapshot_at(connection, timestamp)

    return database.read(read, retry)


def latest_snapshot(connection: Connection) -> Snapshot:
    """Return the newest snapshot.

    Raises:
        LakeError: the catalog has no snapshots.
    """
    row = connection.execute(select(t.snapshot).order_by(t.snapshot.c.snapshot_id.desc()).limit(1)).first()
    if row is None:
        raise LakeError("the catalog has no snapshot: ducklake_snapshot is empty; restore it from a backup")
    return _snapshot(row)


def oldest_snapshot_id(connection: Connection) -> int:
    """Return the id of the oldest snapshot that has not expired."""
    return int(connection.scalar(select(func.min(t.snapshot.c.snapshot_id))) or 0)


def snapshot_of_version(connection: Connection, version: int) -> Snapshot:
    """Return the snapshot with an id.

    Raises:
        NotFoundError: it never existed, or has expired.
    """
    row = connection.execute(select(t.snapshot).where(t.snapshot.c.snapshot_id == version)).first()
    if row is None:
        first, last = connection.execute(select(func.min(t.snapshot.c.snapshot_id), func.max(t.snapshot.c.snapshot_id))).one()
        raise NotFoundError("snapshot", str(version), f"The lake has snapshots from {first} to {last}, apart from expired ones")
    return _snapshot(row)


def require_not_expired(connection: Connection, database: Database, snapshot_id: int) -> None:
    """Require that a snapshot has not expired while it is read, because an expired snapshot's catalog rows may be incomplete.

    Raises:
        ConflictError: the snapshot has expired.
        NotFoundError: the snapshot has expired, and the lake was opened at it.
    """
    key = t.snapshot.c.snapshot_id
    if connection.execute(select(key).where(key == snapshot_id)).first() is not None:
        return
    if database.opened_at_snapshot is not None and database.opened_at_snapshot.snapshot_id == snapshot_id:
        hint = f"{database.title} was opened at it, and it has expired since. Open the lake at a newer snapshot"
        raise NotFoundError("snapshot", str(snapshot_id), hint)
    raise ConflictError(
        f"snapshot {snapshot_id}, which this transaction reads, was expired by a concurrent expire_snapshots; "
        "nothing was written. Run the statement or transaction again"
    )


def snapshot_at(connection: Connection, timestamp: datetime, *, or_later: bool = False) -> Snapshot:
    """Return the newest snapshot that was committed at or before a timestamp (UTC if it has no zone).

    Args:
        connection: a connection to the catalog database.
        timestamp: the timestamp.
        or_later: return the oldest snapshot at or after the timestamp instead.

    Raises:
        NotFoundError: all snapshots are later than the timestamp, or with `or_later` all are earlier.
    """
    timestamp = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=timezone.utc)
    time, key = dialect_of(connection).comparable_timestamp(t.snapshot.c.snapshot_time), t.snapshot.c.snapshot_id
    wanted = literal(timestamp, t.Timestamp())
    if or_later:
        query = select(t.snapshot).where(time >= wanted).order_by(time, key)
    else:
        query = select(t.snapshot).where(time <= wanted).order_by(time.desc(), key.desc())
    row = connection.execute(query.limit(1)).first()
    if row is None:
        side, other = ("after", "earlier") if or_later else ("before", "later")
        hint = f"Every snapshot of the lake is {other}. Give {'an earlier' if or_later else 'a later'} time"
        raise NotFoundError("snapshot", f"at or {side} {timestamp.isoformat()}", hint)
    return _snapshot(row)


def snapshot_records(
    connection: Connection, *, after: int | None = None, until: int | None = None, limit: int | None = None
) -> list[SnapshotRecord]:
    """Return snapshots with their logged changes, oldest first.

    Args:
        connection: a connection to the catalog database.
        after: only snapshots after this id; None for all.
        until: only snapshots up to and including this id; None for all.
        limit: only this number of the newest of these; None for all.
    """
    key = t.snapshot.c.snapshot_id
    query = select(t.snapshot, *list(t.snapshot_changes.c)[1:]).outerjoin(t.snapshot_changes, t.snapshot_changes.c.snapshot_id == key)
    if after is not None:
        query = query.where(key > after)
    if until is not None:
        query = query.where(key <= until)
    rows = connection.execute(query.order_by(key.desc()).limit(limit)).all()
    return [snapshot_record(row) for row in reversed(rows)]


def snapshot_record(row: Row[Any]) -> SnapshotRecord:
    """Convert a row with the columns of `ducklake_snapshot` and `ducklake_snapshot_changes`."""
    return SnapshotRecord(
        _snapshot(row), parse_changes(row.changes_made), row.changes_made, row.author, row.commit_message, row.commit_extra_info
    )


def _snapshot(row: Row[Any]) -> Snapshot:
    checked(t.snapshot, [row])
    return Snapshot(row.snapshot_id, row.snapshot_time, row.schema_version, row.next_catalog_id, row.next_file_id)
