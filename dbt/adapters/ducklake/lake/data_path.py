"""The mark of a data path: a small file that says which lake owns the Parquet files below it.

Two lakes with one data path would remove each other's files as orphans, because neither catalog lists those of the other. A lake is
identified by the uuids of its schemas. DuckDB's own removal of orphans finds only names that end in `.parquet` or `.puffin`, so it leaves
the mark alone.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from ..catalog.lake import LakeCatalog
from ..errors import ConfigurationError
from ..format.paths import with_separator
from ..spark.files.storage import THREADS, is_local, list_folder, make_directory, read_small, remove, write_small

logger = logging.getLogger(__name__)

MARK_FILE = "_dbt_ducklake.json"
"""The name of the file; Spark ignores files whose names start with an underscore."""
_NOTE = "The files below this folder belong to the DuckLake whose catalog has a schema with this uuid."
_UNREADABLE = "unknown"
_JOB_FOLDER = re.compile(r"/(?:ducklake-[0-9a-f-]{36}|__ducklake_(?:key_\d+|group)=[^/]*)/$")
"""A folder that one of our jobs created in an object store. No lake has its data path there, so we send no request for its mark."""


def require_own_path(data_path: str) -> None:
    """Require that a new lake can use a data path: no file below it may belong to another lake.

    If the storage cannot be read, this only logs a warning.

    Args:
        data_path: the data path, which ends in `/`.

    Raises:
        ConfigurationError: another lake may have files there.
    """
    try:
        names = set(list_folder(data_path))
        # A lake of which all rows are inlined has its mark alone. The first schema of a DuckLake is `main`, whose files are in a folder of
        # that name.
        occupied = MARK_FILE in names or ("main" in names and bool(list_folder(data_path + "main/")))
    except (OSError, ValueError) as error:
        logger.warning("the data path %s could not be searched for another lake's files: %s", data_path, error)
        return
    if occupied:
        raise ConfigurationError(
            f"the data path {data_path} already has files of another lake, and two lakes with one data path remove each other's files. "
            f"Choose another data_path, or remove these files and {MARK_FILE} if no lake needs them"
        )


def require_own_mark(data_path: str, own: Sequence[str]) -> None:
    """Require that the data path of a lake that exists does not have the mark of another lake; it may have none.

    If the mark cannot be read, this only logs a warning.

    Args:
        data_path: the data path, which ends in `/`.
        own: the uuids of the lake's schemas, oldest first.

    Raises:
        ConfigurationError: the mark is another lake's.
    """
    try:
        owner = owner_of(data_path)
    except (OSError, ValueError) as error:
        logger.warning("the mark of the data path %s could not be read: %s", data_path, error)
        return
    if owner is not None and own and owner not in own:
        raise ConfigurationError(
            f"the data path {data_path} belongs to another lake: its mark {MARK_FILE} names the lake {owner}, and this is the lake "
            f"{own[0]}. Two lakes with one data path remove each other's files: remove no files of either lake until the tables of one are "
            "copied into a new lake with its own data path. If no other lake uses this data path, remove the mark"
        )


def write_mark(catalog: LakeCatalog) -> None:
    """Write the mark of a lake into its data path; a failure is only logged."""
    data_path, own = catalog.data_path, catalog.identities()
    if not own:
        return
    content = json.dumps({"lake": own[0], "note": _NOTE}, indent=1) + "\n"
    try:
        if is_local(data_path):
            make_directory(data_path)
        write_small(data_path + MARK_FILE, content.encode())
    except (OSError, ValueError) as error:
        logger.warning("the mark of this lake could not be written to the data path %s: %s", data_path, error)


def remove_mark(data_path: str, own: Collection[str]) -> None:
    """Remove a lake's mark from its earlier data path, so that another lake can use it; a failure is only logged.

    Args:
        data_path: the earlier data path.
        own: the uuids of the lake's schemas. The mark of another lake is kept.
    """
    try:
        if owner_of(with_separator(data_path)) in own:
            remove([with_separator(data_path) + MARK_FILE])
    except (OSError, ValueError) as error:
        logger.warning(
            "the earlier data path %s still has the mark of this lake: %s. Remove %s there before another lake uses it",
            data_path,
            error,
            MARK_FILE,
        )


def owner_of(folder: str) -> str | None:
    """Return the uuid in the mark of a folder, whose path ends in `/`: `unknown` if the mark is unreadable, None if there is no mark."""
    content = read_small(folder + MARK_FILE)
    if content is None:
        return None
    try:
        owner = json.loads(content)["lake"]
    except (ValueError, KeyError, TypeError):
        return _UNREADABLE
    return owner if isinstance(owner, str) else _UNREADABLE


@dataclass(frozen=True)
class Owners:
    """Finds the owners of folders below a data path; the mark of each folder is read once, those of several folders at the same time."""

    data_path: str
    own: Set[str]
    """The uuids of the lake's schemas."""
    _known: dict[str, str | None] = field(default_factory=dict)
    """Folder → the owner in its mark, for the folders that were read."""

    def foreign_mark(self, path: str) -> str | None:
        """Return the path of the nearest mark above a file, up to the data path; None if it is this lake's or there is none.

        Args:
            path: a file below the data path, in the same form as the data path.
        """
        for folder in self._folders(path):
            owner = self._owner(folder)
            if owner is not None:
                return None if owner in self.own else folder + MARK_FILE
        return None

    def read_marks(self, paths: Iterable[str]) -> None:
        """Read the marks above files at the same time; one that cannot be read is left to `foreign_mark`, which raises the error."""

        def read(folder: str) -> None:
            with suppress(OSError, ValueError):
                self._owner(folder)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(read, {folder: None for path in paths for folder in self._folders(path)}))

    def _folders(self, path: str) -> Iterator[str]:
        """Yield the folders above a file that may have a mark, up to the data path, the nearest first."""
        while len(path) > len(self.data_path):
            path = path[: path.rstrip("/").rfind("/") + 1]
            if not _JOB_FOLDER.search(path):
                yield path

    def is_unmarked(self) -> bool:
        """Whether the data path itself has no mark."""
        return self._owner(self.data_path) is None

    def _owner(self, folder: str) -> str | None:
        if folder not in self._known:
            self._known[folder] = owner_of(folder)
        return self._known[folder]
