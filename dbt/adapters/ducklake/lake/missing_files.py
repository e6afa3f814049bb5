"""Missing files: removed by concurrent maintenance before they were read, or lost.

Specification: the page "Cleanup of Files". Merge, rewrite and expire remove files from the catalog, and cleanup removes them from storage.
A scan planned before can be planned again. A file that the catalog still lists is lost, and planning again does not help.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from ..catalog.lake import LakeCatalog
from ..errors import ConflictError, MissingFileError
from ..format.paths import plain
from ..spark.errors import translate
from .safe_removal import is_inside


def removed_meanwhile(error: Exception, names: Mapping[str, str], lakes: Iterable[LakeCatalog]) -> ConflictError | None:
    """Return the conflict if an error is about a missing file that the catalog no longer lists; None for any other error.

    A file outside the lakes' data paths does not belong to a lake, so maintenance did not remove it.

    Args:
        error: one of our errors, or an exception from Spark.
        names: as in `translate`.
        lakes: all lakes that may have been read.
    """
    missing = translate(error, names)
    if not isinstance(missing, MissingFileError):
        return None
    spelled = {plain(missing.path), plain(unquote(missing.path))}  # Spark encodes some paths
    homes = [lake for lake in lakes if any(is_inside(path, lake.data_path) for path in spelled)]
    if not homes or any(plain(path) in spelled for lake in homes for path in lake.maintenance.needed_files()):
        return None
    return ConflictError(
        f"the file {missing.path} was merged, rewritten or expired, and then removed, by concurrent maintenance before it was read; "
        "nothing was written, run it again"
    )
