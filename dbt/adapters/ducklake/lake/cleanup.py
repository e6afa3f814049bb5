"""Cleanup: remove files that no snapshot reads anymore, some time after they were scheduled for deletion.

Specification: "Cleanup of Files". The grace period protects queries that started earlier. The file is removed before its row in the
catalog: a crash in between leaves a row without a file, which the next run treats as removed.
"""

from __future__ import annotations

from datetime import datetime

from .context import Context
from .safe_removal import Removal, SafeRemoval


def cleanup_old_files(context: Context, *, older_than: datetime | None, dry_run: bool = False) -> list[Removal]:
    """Remove the scheduled files; a file that cannot be removed stays scheduled.

    Args:
        context: the catalog and the transaction.
        older_than: remove only files that were scheduled before this time; if None, remove all.
        dry_run: report what would be removed, and change nothing.

    Returns:
        An entry for each scheduled file.

    Raises:
        ConfigurationError: the lake is read-only.
    """
    if not dry_run:
        context.catalog.require_writable()
    maintenance = context.catalog.maintenance
    scheduled = maintenance.scheduled(older_than)
    if not scheduled:
        return []
    removal = SafeRemoval(context.catalog, maintenance.needed_files(), listed=True, dry_run=dry_run)
    outcomes = removal.remove([file.path for file in scheduled])
    if not dry_run:
        maintenance.remove_scheduled_rows([file for file, outcome in zip(scheduled, outcomes, strict=True) if outcome.kept_because is None])
    return outcomes
