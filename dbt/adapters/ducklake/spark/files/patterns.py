"""Find files by paths and patterns, as DuckDB does: `*`, `?` and `[…]` match parts of a name, `/**/` any directories.

Only local directories that the pattern can match are read; of an object store, all below the fixed part are listed. `**` does not follow
symbolic links; other parts of a pattern do.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ...errors import LakeError
from . import storage
from .footers import FileToRead


def find_files(patterns: Sequence[str]) -> list[FileToRead]:
    """Find files by paths and patterns, each file once, in order.

    Raises:
        LakeError: a path or pattern matches no file.
    """
    found: dict[str, int] = {}
    for pattern in (os.path.abspath(each) if storage.scheme_of(each) == "" else each for each in patterns):
        matches = _matches(pattern) or _file(pattern)
        if not matches:
            raise LakeError(f"no file is called {pattern}; give the path of a Parquet file, or a pattern such as /data/orders/*.parquet")
        found.update(matches)
    return [FileToRead(path, size) for path, size in found.items()]


def _file(path: str) -> dict[str, int]:
    """Return path and size of a file whose name may contain pattern characters; empty if it does not exist."""
    try:
        return {path: storage.size(path)}
    except FileNotFoundError:
        return {}


def _matches(pattern: str) -> dict[str, int]:
    """Return the paths and sizes of the files that a pattern matches, ordered by path; empty for a path without pattern characters."""
    if not re.search(r"[*?\[]", pattern):
        return {}
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0]
    if not storage.is_local(pattern):
        wanted = _regex(pattern)
        return {path: size for path, size in storage.list_files(fixed) if wanted.fullmatch(path)}
    directory = storage.filesystem(fixed + "/")[1]
    below = sorted(_below(directory, pattern[len(fixed) + 1 :].split("/"), {0}))
    return {f"{fixed}/{path[len(directory) :]}": size for path, size in below}


def _below(directory: str, parts: Sequence[str], places: set[int]) -> Iterator[tuple[str, int]]:
    """Yield the paths and sizes of the files below a local directory that a pattern matches; each directory is read once.

    Args:
        directory: the directory; one that is missing or may not be read has no files.
        parts: the pattern, split at its slashes.
        places: the indices of the parts that the names in this directory may match.
    """
    last = len(parts) - 1
    many = {place for place in places if parts[place] == "**"}
    places = places | {place + 1 for place in many if place < last}
    wanted = {place: _regex(parts[place]) for place in places}
    entries: list[os.DirEntry[str]] = []
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(directory) as found:
        entries = list(found)
    for entry in entries:
        refused = many if entry.is_symlink() else set()
        matched = {place for place, regex in wanted.items() if regex.fullmatch(entry.name)} - refused
        deeper = {place + 1 for place in matched - many if place < last} | matched & many
        status = _status(entry) if last in matched or deeper else None
        if status is None:
            continue
        if last in matched and stat.S_ISREG(status.st_mode):
            yield entry.path, status.st_size
        elif deeper and stat.S_ISDIR(status.st_mode):
            yield from _below(entry.path, parts, deeper)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return the status of a file or directory; None if it was removed, or is a symbolic link that leads nowhere or in a circle."""
    try:
        return entry.stat()
    except OSError:
        return None


def _regex(pattern: str) -> re.Pattern[str]:
    """Translate a glob pattern of DuckDB to a regular expression."""
    parts = {"/**/": "/(?:[^/]+/)*", "/**": "/.*", "**": "[^/]*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(/\*\*/|/\*\*$|\*\*|\*|\?|\[!?\]?[^]]*\])", pattern)
    return re.compile(
        "".join(_class(piece) if piece.startswith("[") and piece.endswith("]") else parts.get(piece, re.escape(piece)) for piece in pieces)
    )


def _class(piece: str) -> str:
    """Translate `[abc]`, `[a-c]` or `[!abc]`, which never match a slash. The end of a range cannot be missing."""
    if piece.endswith("-]"):
        return "(?!)"
    expression = fnmatch.translate(piece).removeprefix("(?s:").rpartition(")")[0]
    return f"(?!/){expression}"
