"""Where things lie: directories of schemas and tables, relative and absolute paths, names of files.

Specification: the page "Paths". A path that is stored as relative belongs to its parent: a schema to `data_path`, a table to its schema,
a file to its table; only `ducklake_files_scheduled_for_deletion` is relative to `data_path`. Directories end in `/`.
"""

from __future__ import annotations

import os
import posixpath
import re
import secrets
import time
import uuid

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
_STORES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss", "wasb": "abfs", "gcs": "gs"}
"""Hadoop's names of schemes with those of the stores."""
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def directory_name(name: str, identifier: str) -> str:
    """The directory of a schema or table below its parent: its name if that is safe in any path, else its uuid."""
    return (name if _PLAIN_NAME.fullmatch(name) else identifier) + "/"


def with_separator(path: str) -> str:
    """A directory's path with its trailing `/`."""
    return path if not path or path.endswith("/") else path + "/"


def resolve(parent: str, path: str | None, is_relative: bool | None) -> str:
    """A stored path as a reader uses it; a missing one is the parent's."""
    if path is None:
        return parent
    return parent + path if is_relative or is_relative is None else path


def relative_to(parent: str, path: str) -> tuple[str, bool]:
    """A resolved path as it is stored: (text, is relative to `parent`)."""
    for start in (parent, absolute(parent)) if parent and not is_url(parent) else (parent,):
        if start and path.startswith(start):
            return path[len(start) :], True
    return path, False


def is_url(path: str) -> bool:
    """Whether a path names a store other than the local file system, such as `s3://…`."""
    return _WITH_SCHEME.match(path) is not None


def absolute(path: str) -> str:
    """A data path as it should be stored: a URL as it is, a local path made absolute, either with its trailing `/`."""
    if is_url(path):
        return with_separator(path)
    return with_separator(os.path.abspath(os.path.expanduser(path)).replace(os.sep, "/"))


def plain(path: str) -> str:
    """The path in the one form in which paths of the same file are equal, however they were written.

    Without `.`, `..` and repeated slashes; local ones absolute and without a scheme. A URL keeps its host, and its scheme under the store's
    own name.
    """
    if path.startswith("file:/"):
        path = "/" + path[len("file:") :].lstrip("/")
    if not is_url(path):
        return os.path.abspath(path)
    scheme, _, rest = path.partition("://")
    host, _, inner = rest.partition("/")
    return f"{_STORES.get(scheme.lower(), scheme.lower())}://{host}{posixpath.normpath('/' + inner.lstrip('/'))}"


def new_uuid() -> str:
    """A uuid of version 7: sortable by the time it was made, as the reference gives to tables and files."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | secrets.randbits(80)
    value = (value & ~(0xF << 76)) | (7 << 76)
    value = (value & ~(0b11 << 62)) | (0b10 << 62)
    return str(uuid.UUID(int=value & (2**128 - 1)))


def data_file_name() -> str:
    """A new name for a data file."""
    return f"ducklake-{new_uuid()}.parquet"


def delete_file_name() -> str:
    """A new name for a delete file."""
    return f"ducklake-{new_uuid()}-delete.parquet"
