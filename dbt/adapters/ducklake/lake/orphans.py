"""Orphans: files in the lake's directories that the catalog does not know, as a crash in the middle of a write leaves them.

Specification: "Cleanup of Files". Looked at are only the places where the lake itself puts files, `<schema>/<table>/` with directories of
partitions, below schemas that the catalog knows: what lies elsewhere below `data_path`, another lake for instance, is not ours.
"""

from __future__ import annotations

import re
from datetime import datetime

from ..format.paths import plain
from ..spark.files.storage import list_files_with_times
from .context import Context
from .safe_removal import Removal, remove_file

_PLACE = re.compile(r"[^/]+/(?:ducklake-[0-9a-f-]{36}/)?(?:[^/=]+=[^/]*/)*[^/]+\.(?:parquet|puffin)", re.IGNORECASE)
"""Below a schema's directory: a table's, for what Spark wrote to an object store one of its own, those of partition keys, the file."""


def delete_orphaned_files(context: Context, *, older_than: datetime | None, dry_run: bool = False) -> list[Removal]:
    """Remove files that the catalog does not know and that were last written before a timestamp, or all of them.

    Without a timestamp, files that somebody is writing right now are removed too, and his commit would refer to nothing.

    Raises:
        ConfigurationError: the lake is opened read-only.
    """
    if not dry_run:
        context.catalog.require_writable()
    maintenance = context.catalog.maintenance
    found = []
    for directory in sorted(maintenance.schema_directories()):
        for path, written in list_files_with_times(directory):
            if _PLACE.fullmatch(path[len(directory) :]) and (older_than is None or written < older_than):
                found.append(path)
    known = {plain(path) for path in maintenance.known_files()} if found else set()  # read last: it has what was just committed
    return [remove_file(path, context.catalog.data_path, known, dry_run=dry_run) for path in found if plain(path) not in known]
