"""Orphans: files below the lake's data path that the catalog does not list, for example after a crash during a write.

Specification: "Cleanup of Files". Only files where the lake itself writes files are found: `<schema>/<table>/` and partitions in it. If the
catalog no longer has the schema, because it was dropped and has expired, the file must also have a name that a lake gives. Other files
below the data path may belong to another lake.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from itertools import accumulate

from ..spark.files.storage import list_files_with_times
from .context import Context
from .data_path import MARK_FILE
from .safe_removal import Removal, SafeRemoval

_NAME = r"ducklake-[0-9a-f-]{36}"
_JOB = rf"{_NAME}/(?:_temporary/(?:[^/=]+/)*)?"
"""Spark's files have a directory for their job, and are in `_temporary` directories in it until the job ends, which it does not if Spark is
killed."""
_KEYS = r"(?:[^/=]+=[^/]*/)*"
_TABLE_FILE = re.compile(rf"[^/]+/(?:{_JOB})?{_KEYS}[^/]+\.(?:parquet|puffin)", re.IGNORECASE)
"""A path below a schema's directory: table, partitions, file."""
_NAMED_FILE = re.compile(rf"[^/]+/[^/]+/(?:{_JOB}{_KEYS}[^/]+|{_KEYS}{_NAME}(?:-delete)?)\.(?:parquet|puffin)", re.IGNORECASE)
"""A path below the data path with a name that a lake gives: schema, table, partitions, file."""


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
    schemas, data_path = maintenance.schema_directories(), context.catalog.data_path
    roots = [data_path, *sorted(each for each in schemas if not each.startswith(data_path))]
    listed = [each for root in roots for each in list_files_with_times(root)]
    found = [path for path, written in listed if (older_than is None or written < older_than) and _is_lake_file(path, schemas, data_path)]
    if not found:
        return []
    known = maintenance.known_files()  # read last, to include newly committed files
    marks = [path for path, _ in listed if path.endswith(f"/{MARK_FILE}")]
    removal = SafeRemoval(context.catalog, known, listed=False, dry_run=dry_run, marks=marks)
    return removal.remove([path for path in found if not removal.is_needed(path)])


def _is_lake_file(path: str, schemas: Collection[str], data_path: str) -> bool:
    """Whether a file is where the lake writes files."""
    folders = accumulate(path.split("/")[:-1], lambda folder, name: f"{folder}/{name}")
    if any(folder + "/" in schemas and _TABLE_FILE.fullmatch(path, len(folder) + 1) for folder in folders):
        return True
    return path.startswith(data_path) and _NAMED_FILE.fullmatch(path, len(data_path)) is not None
