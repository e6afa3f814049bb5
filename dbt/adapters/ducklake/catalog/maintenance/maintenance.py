"""Maintenance of the catalog: expire snapshots, and list the files that it needs, knows or has scheduled for deletion.

Specification: "Maintenance". None of these operations creates a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import delete, literal, select
from sqlalchemy.engine import Connection

from ...errors import ConflictError
from ...format.paths import resolve
from ..read.history import SnapshotRecord
from ..store import tables as t
from ..store.database import ConcurrentWriteError, Database, batches, repeat_if_stale
from ..store.known_files import added_files, registered_files, scheduled_paths, schema_directories
from ..store.retries import RetrySettings
from ..store.row_rules import checked
from .expiry import expirable, expire, tables_out_of_reach

T = TypeVar("T")


@dataclass(frozen=True)
class Maintenance:
    """The maintenance operations of a lake's catalog. Thread-safe."""

    database: Database
    data_path: str
    retry: RetrySettings

    def expire(self, *, versions: Collection[int] | None = None, older_than: datetime | None = None, dry_run: bool) -> list[SnapshotRecord]:
        """Expire snapshots and return them, oldest first; with `dry_run` only return them.

        The newest snapshot never expires. Versions that do not exist are ignored.

        Args:
            versions: the ids of the snapshots; if they are given, `older_than` is not used.
            older_than: expire the snapshots from before this time.
            dry_run: change nothing, so neither error below is raised.

        Raises:
            ConfigurationError: the lake is opened read-only.
            ConflictError: other writers kept the catalog busy.
        """

        def work(connection: Connection) -> tuple[list[SnapshotRecord], bool]:
            records = expirable(connection, versions, older_than)
            if not records and not tables_out_of_reach(connection):  # an expiry that did not finish leaves some
                return records, False
            return records, expire(connection, self.data_path, [record.snapshot.snapshot_id for record in records])

        if not dry_run:
            records, remain = self._write(work)
            while remain:
                remain = self._write(
                    lambda connection: expire(connection, self.data_path, ()),
                    if_busy="the snapshots have expired, but not all of their rows are removed; run it again to remove the rest",
                )
            return records
        with self.database.reading() as connection:
            return expirable(connection, versions, older_than)

    def scheduled(self, older_than: datetime | None) -> list[ScheduledFile]:
        """Return the files that were scheduled for deletion before `older_than`, or all if it is None, ordered by `scheduled_at`.

        Raises:
            LakeError: a row is damaged.
        """
        source = t.files_scheduled_for_deletion
        scheduled_at = self.database.dialect.comparable_timestamp(source.c.schedule_start)
        query = select(source).order_by(scheduled_at, source.c.data_file_id)
        if older_than is not None:
            query = query.where(scheduled_at < literal(older_than, t.Timestamp()))
        with self.database.reading() as connection:
            return [
                ScheduledFile(row.data_file_id, resolve(self.data_path, row.path, row.path_is_relative), row.path, row.schedule_start)
                for row in checked(source, connection.execute(query).all())
            ]

    def remove_scheduled_rows(self, files: Collection[ScheduledFile]) -> None:
        """Remove the catalog rows of scheduled files that have been deleted, in transactions of at most `BATCH_SIZE` rows.

        Raises:
            ConfigurationError: the lake is opened read-only.
            ConflictError: other writers kept the catalog busy.
        """
        source = t.files_scheduled_for_deletion.c
        for batch in batches(files):
            statement = delete(t.files_scheduled_for_deletion).where(
                source.data_file_id.in_([file.file_id for file in batch]), source.path.in_([file.stored_path for file in batch])
            )
            self._write(
                lambda connection, statement=statement: connection.execute(statement),  # type: ignore[misc]
                if_busy="the files are removed, but some of their rows are not; run it again to remove the rest",
            )

    def needed_files(self) -> set[str]:
        """Return the paths of the files that some snapshot reads."""
        return self._paths(registered_files)

    def known_files(self) -> set[str]:
        """Return the paths of the files that some snapshot reads or that are scheduled for deletion."""
        # In this order: if a file becomes scheduled between the two reads, the other order would miss it.
        return self.needed_files() | self._paths(scheduled_paths)

    def added_files(self) -> set[str]:
        """Return the paths of the data files that another program wrote, which can be symbolic links, and of clones of them."""
        return self._paths(added_files)

    def schema_directories(self) -> set[str]:
        """Return the directories of all schemas in the catalog, including ended ones."""
        with self.database.reading() as connection:
            return set(schema_directories(connection, self.data_path).values())

    def _paths(self, read: Callable[[Connection, str], Iterable[str]]) -> set[str]:
        with self.database.reading() as connection:
            return set(read(connection, self.data_path))

    def _write(self, work: Callable[[Connection], T], *, if_busy: str = "nothing was changed, so run it again") -> T:
        """Run `work` in a writing transaction, and retry it while other writers keep the catalog busy.

        Args:
            work: changes the catalog.
            if_busy: the end of the message if the catalog stays busy.

        Raises:
            ConfigurationError: the lake is opened read-only.
            ConflictError: the catalog was still busy after the last retry.
        """
        self.database.require_writable()

        def attempt() -> T:
            with self.database.writing() as connection:
                return work(connection)

        try:
            return self.retry.policy(ConcurrentWriteError)(lambda: repeat_if_stale(attempt))
        except ConcurrentWriteError as error:
            raise ConflictError(f"other writers kept the catalog busy ({error}); {if_busy}") from error


@dataclass(frozen=True)
class ScheduledFile:
    """A file that is scheduled for deletion."""

    file_id: int
    path: str
    """The full path or URL."""
    stored_path: str
    """The path in the catalog, which may be relative to the data path."""
    scheduled_at: datetime
