"""Remove files of a lake, and never a file that does not belong to it.

A file may be removed if it is below the lake's `data_path` after symbolic links are resolved, no snapshot reads it under any name, and no
mark says that another lake owns it. The paths in the catalog are not trusted: they may contain `..`, be absolute, or name a file that a
live snapshot needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from ..catalog.lake import LakeCatalog
from ..format.paths import normalize, without_file_scheme
from ..spark.files.storage import is_local, remove_each
from .data_path import Owners, write_mark

_UNMARKED = (
    "it may belong to another lake, because the data path {data_path} has no mark yet. The first removal that is not "
    "a dry run only writes the mark: run it again if no other lake uses this data path"
)


@dataclass(frozen=True)
class Removal:
    """The result for a file: removed (or already missing) if `kept_because` is None, otherwise kept. In a dry run: what would happen."""

    path: str
    kept_because: str | None = None


class CanonicalPaths:
    """Gives each file one path, no matter which symbolic links lead to it. Each folder is resolved only once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return the path of a file with the symbolic links of its folder resolved. If the file is itself a link, that link is kept.

        A URL is normalized.

        Raises:
            ValueError: no file can have this path.
        """
        if "\0" in path:
            raise ValueError("a path cannot contain a NUL character")
        if not is_local(path):
            return normalize(path)
        folder, name = os.path.split(without_file_scheme(path))  # not normalized: `..` after a link leads out of the link's target
        if name in {"", ".", ".."}:
            raise ValueError("the path does not end in a file name")
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return os.path.join(self._folders[folder], name)

    def needed(self, paths: Iterable[str]) -> set[str]:
        """Return the canonical paths of files, and for a file that is a symbolic link also the path of its target.

        A path that no file can have is left out. Only a scheduled file can have one: it is an error in the row of a registered file.
        """
        found = self.canonical(paths)
        return found | {os.path.realpath(path) for path in found if is_local(path) and os.path.islink(path)}

    def canonical(self, paths: Iterable[str]) -> set[str]:
        """Return the canonical paths of files; a path that no file can have is left out."""
        found = set()
        for path in paths:
            with suppress(ValueError):
                found.add(self.of(path))
        return found


class SafeRemoval:
    """Removes files of one lake.

    Args:
        catalog: the lake.
        needed: the absolute paths of the files that must be kept.
        listed: whether the catalog lists the files to remove. Files that it does not list may belong to another lake, so they are kept as
            long as the data path has no mark; the first removal of such files only writes it.
        dry_run: whether to remove nothing and only return what the results would be.
    """

    def __init__(self, catalog: LakeCatalog, needed: Iterable[str], *, listed: bool, dry_run: bool) -> None:
        self._catalog = catalog
        self._listed = listed
        self._dry_run = dry_run
        self._paths = CanonicalPaths()
        self._needed = self._paths.needed(needed)
        self._root = _canonical_folder(self._paths, catalog.data_path)
        self._owners = Owners(self._root, set(catalog.identities()))

    def is_needed(self, path: str) -> bool:
        """Whether a file is one of those that must be kept."""
        return self._paths.of(path) in self._needed

    def remove(self, paths: Sequence[str]) -> list[Removal]:
        """Remove those files whose removal is safe, and return what happened to each."""
        self._owners.read_marks(filter(self._is_below_root, self._paths.canonical(paths)))
        reasons = [self._reason_or_failure(path) for path in paths]
        if not self._dry_run:
            failed = remove_each([path for path, reason in zip(paths, reasons, strict=True) if reason is None])
            refused = {path: f"it could not be removed: {error}" for path, error in failed.items()}
            reasons = [reason or refused.get(path) for path, reason in zip(paths, reasons, strict=True)]
        return [Removal(path, reason) for path, reason in zip(paths, reasons, strict=True)]

    def _reason_or_failure(self, path: str) -> str | None:
        """Return the reason why a file is kept, including an invalid path or a failure of the storage; None if its removal is safe."""
        try:
            return self._reason_to_keep(path)
        except OSError as error:
            return f"it could not be checked: {error}"
        except ValueError as error:
            return str(error)

    def _reason_to_keep(self, path: str) -> str | None:
        """Return the reason why a file must be kept; None if its removal is safe. A removal of unlisted files marks the data path.

        Raises:
            OSError: the storage failed.
            ValueError: no file can have this path.
        """
        canonical = self._paths.of(path)
        if not self._is_below_root(canonical):
            return f"it is outside the lake's data path {self._catalog.data_path}"
        if canonical in self._needed:
            return "a snapshot reads it"
        foreign = self._owners.foreign_mark(canonical)
        if foreign is not None:
            return f"another lake owns it, as the file {foreign} says; give each lake its own data path, or remove that file if it is wrong"
        if not self._listed and self._was_unmarked:  # a removal of listed files writes no mark: no later one would keep the first orphans
            return _UNMARKED.format(data_path=self._catalog.data_path)
        return None

    def _is_below_root(self, canonical: str) -> bool:
        return is_local(canonical) == is_local(self._root) and canonical.startswith(self._root)

    @cached_property
    def _was_unmarked(self) -> bool:
        """Whether the data path had no mark before this removal. The removal writes it when it first asks, unless it is a dry run."""
        unmarked = self._owners.is_unmarked()
        if unmarked and not self._dry_run:
            write_mark(self._catalog)
        return unmarked


def _canonical_folder(paths: CanonicalPaths, folder: str) -> str:
    """Return the canonical path of a folder; both paths end in `/`."""
    return paths.of(folder + "x")[:-1]  # `of` resolves the links of a file's folder, so it needs the name of a file


def is_inside(path: str, data_path: str) -> bool:
    """Whether a file is below the data path. On a local file system, symbolic links in both paths are resolved first.

    Args:
        path: the path of the file.
        data_path: the data path, which ends in `/`.

    Raises:
        ValueError: no file can have this path.
    """
    paths = CanonicalPaths()
    return is_local(path) == is_local(data_path) and paths.of(path).startswith(_canonical_folder(paths, data_path))
