"""Cleaning up: files that no snapshot reads any more are removed, some time after they were scheduled for it.

Specification: "Cleanup of Files". The grace period is for queries that began before. First the file goes, then its row: a crash in between
leaves a row whose file is missing, which the next run takes for removed.
"""

from __future__ import annotations

from datetime import datetime

from ..format.paths import plain
from .context import Context
from .safe_removal import Removal, remove_file


def cleanup_old_files(context: Context, *, older_than: datetime | None, dry_run: bool = False) -> list[Removal]:
    """Remove the files that were scheduled before a timestamp, or all of them; one that is kept stays scheduled.

    Raises:
        ConfigurationError: the lake is opened read-only.
    """
    if not dry_run:
        context.catalog.require_writable()
    maintenance = context.catalog.maintenance
    scheduled = maintenance.scheduled(older_than)
    needed = {plain(path) for path in maintenance.needed_files()} if scheduled else set()
    outcomes = [remove_file(file.path, context.catalog.data_path, needed, dry_run=dry_run) for file in scheduled]
    if not dry_run:
        maintenance.forget([file for file, outcome in zip(scheduled, outcomes, strict=True) if outcome.kept_because is None])
    return outcomes
