"""Distinguish files that concurrent maintenance removed before they were read from files that are lost.

Specification: the page "Cleanup of Files". Merge, rewrite and expire remove files from the catalog, and cleanup removes them from storage.
A scan that was planned earlier can be planned again. A file that the catalog still lists is lost, so a new plan does not help.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from ..catalog.lake import LakeCatalog
from ..errors import ConflictError, MissingFileError
from ..format.paths import normalize
from ..spark.errors import translate
from .safe_removal import is_inside


def removal_conflict(error: Exception, names: Mapping[str, str], lakes: Iterable[LakeCatalog]) -> ConflictError | None:
    """Return a conflict for an error about a missing file that the catalog no longer lists; None for any other error.

    Maintenance does not remove files outside the lakes' data paths, so a missing file there is not a conflict.

    Args:
        error: one of our errors, or an exception from Spark.
        names: temporary view → the name that the user wrote for it.
        lakes: all lakes that may have been read.
    """
    missing = translate(error, names)
    if not isinstance(missing, MissingFileError):
        return None
    forms = {normalize(missing.path), normalize(unquote(missing.path))}  # Spark percent-encodes some paths
    owners = [lake for lake in lakes if any(is_inside(path, lake.data_path) for path in forms)]
    if not owners or any(normalize(path) in forms for lake in owners for path in lake.maintenance.needed_files()):
        return None
    return ConflictError(
        f"the file {missing.path} was merged, rewritten or expired, and then removed, by concurrent maintenance before it was read; "
        "nothing was written, so run it again"
    )
