"""Remove files of a lake, and never a file that does not belong to it.

A file may be removed if it is below the lake's `data_path`, also after symbolic links are resolved, and no snapshot reads it. The paths in
the catalog are not trusted: they may contain `..`, be absolute, or name a file that a live snapshot needs.
"""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass

from ..format.paths import plain
from ..spark.files.storage import is_local, remove


@dataclass(frozen=True)
class Removal:
    """The result for a file: removed (or already missing), or kept for a reason."""

    path: str
    kept_because: str | None = None


def remove_file(path: str, data_path: str, needed: Set[str], *, dry_run: bool) -> Removal:
    """Remove a file if that is safe.

    Args:
        path: the full path, as resolved by the catalog.
        data_path: the lake's data path, with its trailing `/`.
        needed: the files that snapshots read, in the form of `plain`.
        dry_run: only return what the result would be.
    """
    if not is_inside(path, data_path):
        return Removal(path, f"it is outside the lake's data path {data_path}")
    if plain(path) in needed:
        return Removal(path, "a snapshot reads it")
    if not dry_run:
        try:
            remove([path])
        except OSError as error:
            return Removal(path, f"the storage refused: {error}")
    return Removal(path)


def is_inside(path: str, data_path: str) -> bool:
    """Whether a file is below the data path, on a local file system also after symbolic links of its directory are resolved."""
    if is_local(path) != is_local(data_path):
        return False
    root, own = plain(data_path).rstrip("/") + "/", plain(path)
    if not own.startswith(root):
        return False
    if not is_local(path):
        return True
    real_root, real = os.path.realpath(root), os.path.realpath(os.path.dirname(own))
    return real == real_root or real.startswith(real_root.rstrip("/") + "/")
