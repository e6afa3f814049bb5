"""Files that no snapshot reads any more and that wait for their removal.

Specification: the table `ducklake_files_scheduled_for_deletion`, whose relative paths begin at `data_path`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, literal, select
from sqlalchemy.engine import Connection

from ..spec.paths import resolve
from . import tables as t
from .dialects import CatalogDialect


@dataclass(frozen=True)
class ScheduledFile:
    """A row of the table; `path` is resolved, `stored_path` is what the row says."""

    file_id: int
    path: str
    stored_path: str
    scheduled: datetime


def read_scheduled(connection: Connection, dialect: CatalogDialect, data_path: str, older_than: datetime | None) -> list[ScheduledFile]:
    """The files scheduled before a moment, or all, oldest first."""
    source = t.files_scheduled_for_deletion
    time = dialect.comparable_timestamp(source.c.schedule_start)
    query = select(source).order_by(time, source.c.data_file_id)
    if older_than is not None:
        query = query.where(time < literal(older_than, t.Timestamp()))
    return [
        ScheduledFile(row.data_file_id, resolve(data_path, row.path, row.path_is_relative), row.path, row.schedule_start)
        for row in connection.execute(query)
    ]


def forget_scheduled(connection: Connection, files: Iterable[ScheduledFile]) -> None:
    """Remove the rows of files that are gone."""
    source = t.files_scheduled_for_deletion
    for file in files:
        connection.execute(delete(source).where(source.c.data_file_id == file.file_id, source.c.path == file.stored_path))
