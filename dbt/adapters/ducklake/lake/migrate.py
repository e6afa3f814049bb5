"""Bringing a lake of an older format version to the current one, files included."""

from __future__ import annotations

from ..catalog.lake import LakeCatalog
from ..errors import ConflictError, LakeError
from ..format.versions import MergedFile, RewrittenFile
from ..spark.files.snapshot_ids import with_snapshot_ids
from ..spark.files.storage import remove


def migrate(catalog: LakeCatalog) -> str:
    """Migrate the lake; nothing happens if it has the current version. Spark is not needed.

    Returns:
        The version that it had.

    Raises:
        DuckLakeError: see `LakeCatalog.migrate`; the lake is as it was.
    """
    written: list[str] = []

    def rewrite(file: MergedFile) -> RewrittenFile:
        rewritten = with_snapshot_ids(file)
        written.append(rewritten.path)
        return rewritten

    try:
        return catalog.migrate(rewrite)
    except (ConflictError, LakeError):  # after any other the database may have committed, and a file that nothing refers to does no harm
        remove(written)
        raise
