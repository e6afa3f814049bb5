"""Files that are gone: removed by maintenance of others while they were to be read, or lost.

Specification: the page "Cleanup of Files". Merging, rewriting and expiry take files out of the catalog, and clean-up removes them. Who has
planned to read them before can plan again. A file that the catalog still lists is lost, and no second plan finds it.
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
    """The conflict that an error comes from: a lake's file is missing that its catalog lists no more. None if it has another cause.

    A file outside the lakes' data paths may be anybody's, and is never taken for one that maintenance removed.

    Args:
        error: ours, or what Spark raised.
        names: as of `translate`.
        lakes: all lakes that may have been read.
    """
    told = translate(error, names)
    if not isinstance(told, MissingFileError):
        return None
    spelled = {plain(told.path), plain(unquote(told.path))}  # Spark encodes some paths
    homes = [lake for lake in lakes if any(is_inside(path, lake.data_path) for path in spelled)]
    if not homes or any(plain(path) in spelled for lake in homes for path in lake.maintenance.needed_files()):
        return None
    return ConflictError(
        f"the file {told.path} was merged, rewritten or expired, and then removed, by concurrent maintenance while it was to be read; "
        "nothing was written, run it again"
    )
