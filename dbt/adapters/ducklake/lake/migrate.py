"""Migrate a lake of an older format version to the current one, files included."""

from __future__ import annotations

from ..catalog.lake import LakeCatalog
from ..errors import ConflictError, LakeError
from ..format.versions import MergedFile, RewrittenFile
from ..spark.files.snapshot_ids import with_snapshot_ids
from ..spark.files.storage import remove


def migrate(catalog: LakeCatalog) -> str:
    """Migrate the lake, without Spark; a lake of the current version is not changed.

    Returns:
        The version before the migration.

    Raises:
        DuckLakeError: see `LakeCatalog.migrate`; the lake is unchanged.
    """
    written: list[str] = []

    def rewrite(file: MergedFile) -> RewrittenFile:
        """Write the file again, with the snapshot ids of its rows."""
        if catalog.encrypted:
            raise LakeError(
                f"the file {file.path} was merged by an older version of DuckDB and is encrypted; migrate the lake with DuckDB, "
                "ATTACH … (AUTOMATIC_MIGRATION)"
            )
        rewritten = with_snapshot_ids(file)
        written.append(rewritten.path)
        return rewritten

    try:
        return catalog.migrate(rewrite)
    except (ConflictError, LakeError):  # after any other error the database may have committed, so the files must stay
        remove(written)
        raise
