"""Removing files of a lake without ever removing one of somebody else.

A file may be removed if it lies below the lake's `data_path`, by its path and by the place that symbolic links lead to, and no snapshot
reads it. What the catalog's rows say is not trusted: they may hold `..`, absolute paths, and paths that a live snapshot needs.
"""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass

from ..format.paths import plain
from ..spark.files.storage import is_local, remove


@dataclass(frozen=True)
class Removal:
    """What became of a file: removed (or gone already), or kept for a reason."""

    path: str
    kept_because: str | None = None


def remove_file(path: str, data_path: str, needed: Set[str], *, dry_run: bool) -> Removal:
    """Remove a file if that is safe; with `dry_run` only say what would become of it.

    Args:
        path: resolved, as the catalog resolves it.
        data_path: the lake's, with its trailing `/`.
        needed: the files that snapshots read, by `plain`.
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
    """Whether a file lies below the data path, by its name and, on a local file system, by where its directory really is."""
    if is_local(path) != is_local(data_path):
        return False
    root, own = plain(data_path).rstrip("/") + "/", plain(path)
    if not own.startswith(root):
        return False
    if not is_local(path):
        return True
    real_root, real = os.path.realpath(root), os.path.realpath(os.path.dirname(own))
    return real == real_root or real.startswith(real_root.rstrip("/") + "/")
