"""Orphans: files in the lake's directories that the catalog does not list, for example after a crash during a write.

Specification: "Cleanup of Files". Only directories where the lake itself writes files are searched: `<schema>/<table>/` and partitions in
it, for schemas in the catalog. Other files below `data_path` may belong to another lake.
"""

from __future__ import annotations

import re
from datetime import datetime

from ..spark.files.storage import list_files_with_times
from .context import Context
from .safe_removal import Removal, SafeRemoval

_LAKE_FILE = re.compile(
    r"[^/]+/(?:ducklake-[0-9a-f-]{36}/(?:_temporary/(?:[^/=]+/)*)?)?(?:[^/=]+=[^/]*/)*[^/]+\.(?:parquet|puffin)", re.IGNORECASE
)
"""A path below a schema's directory: table, partitions, file. Spark's files have a directory for their job, and are in `_temporary`
directories in it until the job ends, which it does not if Spark is killed."""


def delete_orphaned_files(context: Context, *, older_than: datetime | None, dry_run: bool = False) -> list[Removal]:
    """Remove files that the catalog does not list.

    Args:
        context: the catalog and the transaction.
        older_than: remove only files that were last written before this time. If None, files that a concurrent writer is writing
            now are removed too, and its commit would refer to missing files.
        dry_run: report what would be removed, and change nothing.

    Returns:
        An entry for each orphan.

    Raises:
        ConfigurationError: the lake is read-only.
    """
    if not dry_run:
        context.catalog.require_writable()
    maintenance = context.catalog.maintenance
    found = []
    for directory in sorted(maintenance.schema_directories()):
        for path, written in list_files_with_times(directory):
            if _LAKE_FILE.fullmatch(path[len(directory) :]) and (older_than is None or written < older_than):
                found.append(path)
    if not found:
        return []
    known = maintenance.known_files()  # read last, to include newly committed files
    removal = SafeRemoval(context.catalog, known, listed=False, dry_run=dry_run)
    return removal.remove([path for path in found if not removal.is_needed(path)])
