"""Files of a lake, local or remote, for the driver: read, write, list, copy and remove them with PyArrow."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from functools import lru_cache

from pyarrow import fs

from ...format.paths import without_file_scheme
from ..session.s3_secrets import S3Secret
from . import s3

_SCHEMES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss", "wasb": "abfs"}
"""Hadoop's scheme → PyArrow's scheme."""
_COPY_BYTES = 8 * 1024 * 1024
"""The size of the buffer for copies."""
THREADS = 8
"""How many files are read, written or removed at the same time."""


def filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of `path` and the path within it.

    Args:
        path: a plain local path, absolute or relative to the working directory, or a URL as Spark takes it (`s3a://…`, `gs://…`), which
            is not percent-decoded.
    """
    scheme = scheme_of(path)
    if scheme in {"", "file"}:
        return fs.LocalFileSystem(), without_file_scheme(path)
    authority, _, inner = path[len(scheme) + len("://") :].partition("/")
    name = _SCHEMES.get(scheme, scheme)
    files, root = _remote(name, authority, s3.secret_of(authority) if name == "s3" else None)
    return files, f"{root.rstrip('/')}/{inner}"


@lru_cache(maxsize=64)
def _remote(scheme: str, authority: str, secret: S3Secret | None) -> tuple[fs.FileSystem, str]:
    """Return a client for the bucket or host. Creating one is slow, and threads can share it."""
    if scheme == "s3":
        return s3.arrow_file_system(authority, secret), authority
    found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(f"{scheme}://{authority}/")
    return found


def scheme_of(path: str) -> str:
    """Return the scheme of a URL in lower case; "" for a plain path."""
    scheme, separator, _ = path.partition("://")
    if separator and scheme.isalnum():
        return scheme.lower()
    return "file" if path.startswith("file:/") else ""


def is_local(path: str) -> bool:
    """Whether the path is on the local file system, where a file can be changed in place."""
    return scheme_of(path) in {"", "file"}


def size(path: str) -> int:
    """Return the size of a file in bytes.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    files, inner = filesystem(path)
    info = files.get_file_info(inner)
    if not info.is_file:
        raise FileNotFoundError(path)
    return int(info.size)


def remove(paths: Iterable[str]) -> None:
    """Remove files; missing files are ignored.

    Raises:
        OSError: a file could not be removed; the others were tried too.
    """
    failed = remove_each(paths)
    for path, error in failed.items():  # the error names the first one only
        raise OSError(f"{path} could not be removed: {error}")


def remove_each(paths: Iterable[str]) -> dict[str, str]:
    """Remove files; missing files are ignored. If the extra `s3` is installed, one request removes many files of a bucket.

    Returns:
        Path → error message, for the files that could not be removed.
    """
    by_bucket: dict[str, dict[str, str]] = {}
    others = []
    for path in dict.fromkeys(paths):
        place = s3.split(path)
        if place is not None:
            by_bucket.setdefault(place[0], {})[place[1]] = path
        else:
            others.append(path)
    failed = _remove_one_by_one(others)
    for bucket, keys in by_bucket.items():
        failed |= _remove_objects(bucket, keys)
    return failed


def _remove_objects(bucket: str, keys: dict[str, str]) -> dict[str, str]:
    """Remove objects of a bucket, given as key → path; return path → error message for those that could not be removed."""
    try:
        return {keys[key]: error for key, error in s3.delete(bucket, list(keys)).items()}
    except OSError as error:
        first, *others = keys.values()
        if _removal_error(first) is not None:  # the store refuses to remove files, not only to remove several together
            return dict.fromkeys(keys.values(), str(error))
        return _remove_one_by_one(others)


def _remove_one_by_one(paths: Sequence[str]) -> dict[str, str]:
    """Remove files with requests for each, several at the same time; return path → error message for those that could not be removed."""
    if not paths:
        return {}
    with ThreadPoolExecutor(THREADS) as pool:
        errors = zip(paths, pool.map(_removal_error, paths), strict=True)
        return {path: error for path, error in errors if error is not None}


def _removal_error(path: str) -> str | None:
    """Remove a file if it exists, and return the error message if that fails."""
    try:
        _remove_one(path)
    except (OSError, ValueError) as error:
        return str(error)
    return None


def _remove_one(path: str) -> None:
    files, inner = filesystem(path)
    is_dangling = is_local(path) and os.path.islink(inner) and not os.path.exists(inner)  # PyArrow sees the target
    if is_dangling or files.get_file_info(inner).is_file:
        with suppress(FileNotFoundError):  # someone else removed it meanwhile
            files.delete_file(inner)


def read_range(path: str, start: int, length: int) -> bytes:
    """Return `length` bytes of a file from the byte position `start`, or fewer if the file ends earlier.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    place = s3.split(path)
    if place is not None:
        return s3.read_range(*place, start, length)
    files, inner = filesystem(path)
    with files.open_input_file(inner) as source:
        return bytes(source.read_at(length, start))


@contextmanager
def removed_after_error(path: str) -> Iterator[None]:
    """Remove a new file if the block that writes it fails: closing a stream to a store can complete a part of an object."""
    try:
        yield
    except BaseException:
        with suppress(OSError, ValueError):
            remove([path])
        raise


@contextmanager
def written_locally(path: str) -> Iterator[str]:
    """Yield the path to write a new file to: the path itself on a local file system, else a temporary file.

    The temporary file is stored under `path` when the block ends. Until then it can be read and changed without a request. After an error
    no file remains.
    """
    if is_local(path):
        make_directory(path.rpartition("/")[0])
        with removed_after_error(path):
            yield path
        return
    with tempfile.TemporaryDirectory(prefix="dbt-ducklake-") as folder:
        local = os.path.join(folder, path.rpartition("/")[2])
        yield local
        files, inner = filesystem(path)
        with removed_after_error(path), open(local, "rb") as source, files.open_output_stream(inner) as target:
            shutil.copyfileobj(source, target, _COPY_BYTES)


def replace_end(path: str, kept: int, end: bytes) -> None:
    """Replace what follows the first `kept` bytes of a file with `end`. A remote file is written again as a new object."""
    files, inner = filesystem(path)
    if is_local(path):
        with open(inner, "r+b") as target:
            target.seek(kept)
            target.write(end)
            target.truncate()
        return
    place = s3.split(path)
    if place is not None:
        if kept < s3.MIN_PART_BYTES:
            write_small(path, s3.read_range(*place, 0, kept) + end)
            return
        if s3.replace_end(*place, kept, end):
            return
    with tempfile.TemporaryFile() as copy:  # some stores drop the old content on open; a copy in memory for each thread is too large
        with files.open_input_stream(inner) as source:
            shutil.copyfileobj(source, copy, _COPY_BYTES)
        copy.seek(kept)
        copy.write(end)
        copy.truncate()
        copy.seek(0)
        with files.open_output_stream(inner) as target:
            shutil.copyfileobj(copy, target, _COPY_BYTES)


def read_small(path: str) -> bytes | None:
    """Return the content of a small file; None if it does not exist."""
    files, inner = filesystem(path)
    try:
        with files.open_input_stream(inner) as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        return None


def write_small(path: str, content: bytes) -> None:
    """Write a small file; an existing one is replaced."""
    files, inner = filesystem(path)
    with files.open_output_stream(inner) as stream:
        stream.write(content)


def list_folder(directory: str) -> list[str]:
    """Return the names of the files and folders directly in a directory; none if it does not exist."""
    files, inner = filesystem(directory.rstrip("/"))
    return [info.base_name for info in files.get_file_info(fs.FileSelector(inner, allow_not_found=True))]


def remove_tree(directory: str) -> None:
    """Remove a directory with everything in it; a missing directory is ignored."""
    if s3.split(directory) is not None:
        remove(path for path, _ in list_files(directory))
        return
    files, inner = filesystem(directory.rstrip("/"))
    with suppress(FileNotFoundError):
        files.delete_dir(inner)


def remove_with_prefix(path: str) -> None:
    """Remove the objects whose paths begin with `path`, except those in folders below it."""
    folder, _, name = path.rpartition("/")
    found = [f"{folder}/{each}" for each in list_folder(folder) if each.startswith(name)]
    remove([*found, folder + "/"])  # an executor that deletes a file with PyArrow leaves an empty object for its folder


def list_files(directory: str) -> list[tuple[str, int]]:
    """Return (path, size in bytes) of every file below a directory, ordered by path; each path starts with `directory`."""
    files, inner = filesystem(directory.rstrip("/"))
    base = inner.rstrip("/")
    prefix = directory.rstrip("/")
    found = files.get_file_info(fs.FileSelector(base, allow_not_found=True, recursive=True))
    return sorted((prefix + info.path[len(base) :], int(info.size)) for info in found if info.is_file)


def list_files_with_times(directory: str) -> list[tuple[str, datetime]]:
    """Return (path, modification time) of every file below a directory, ordered by path; links to directories are not followed."""
    prefix = directory.rstrip("/")
    if is_local(directory):
        base = filesystem(prefix)[1]
        found = []
        for folder, _, names in os.walk(base, followlinks=False):
            for name in names:
                path = os.path.join(folder, name)
                with suppress(FileNotFoundError):
                    found.append((prefix + path[len(base) :], datetime.fromtimestamp(os.lstat(path).st_mtime, timezone.utc)))
        return sorted(found)
    files, inner = filesystem(prefix)
    entries = files.get_file_info(fs.FileSelector(inner, allow_not_found=True, recursive=True))
    return sorted((prefix + info.path[len(inner) :], info.mtime.astimezone(timezone.utc)) for info in entries if info.is_file)


def link_or_copy(source: str, target: str) -> None:
    """Make a file available at a second path: as a hard link if possible, else as a copy.

    The modification time of the new file, and of a linked source, becomes the current time, so that the removal of old orphans keeps it.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    if is_local(source) and is_local(target):
        make_directory(target.rpartition("/")[0])
        try:
            os.link(os.path.realpath(filesystem(source)[1]), filesystem(target)[1])  # a linked symbolic link could lead nowhere
            os.utime(filesystem(target)[1])
            return
        except FileNotFoundError:
            raise
        except OSError:  # another file system, no support for links, or no permission
            remove([target])
    copy(source, target)


def copy(source: str, target: str) -> None:
    """Copy a file; within one file system the storage makes the copy itself.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    files, inner = filesystem(source)
    target_files, target_inner = filesystem(target)
    if not files.get_file_info(inner).is_file:
        raise FileNotFoundError(source)
    if is_local(target):
        make_directory(target.rpartition("/")[0])
    if files == target_files:
        files.copy_file(inner, target_inner)
    else:
        fs.copy_files(inner, target_inner, source_filesystem=files, destination_filesystem=target_files)


def make_directory(directory: str) -> None:
    """Create a directory with its parents, if the file system has directories."""
    files, inner = filesystem(directory.rstrip("/"))
    files.create_dir(inner, recursive=True)


def move(source: str, target: str) -> None:
    """Rename a file within its file system; the directory of `target` is created if it is missing."""
    files, inner = filesystem(source)
    if is_local(target):
        make_directory(target.rpartition("/")[0])
    files.move(inner, filesystem(target)[1])
