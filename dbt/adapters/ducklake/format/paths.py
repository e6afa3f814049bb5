"""Paths: directories of schemas and tables, relative and absolute paths, names of files.

Specification: the page "Paths". A stored relative path is relative to its parent: a schema to `data_path`, a table to its schema, a file to
its table; only paths in `ducklake_files_scheduled_for_deletion` are relative to `data_path`. Directories end in `/`.
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
"""URL scheme → the other scheme for the same store that `normalize` gives."""
_WITH_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[^/@]*:(?!\d+(?:/|$))")
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

WITHOUT_PASSWORD = "write the URL without it, and set the credentials in the environment or in Spark's settings"
"""What to do about a secret in a URL, which would be stored in the catalog and shown in errors."""


def directory_name(name: str, identifier: str) -> str:
    """Return the directory of a schema or table below its parent: its name if that is safe in every path, else its uuid."""
    return (name if _PLAIN_NAME.fullmatch(name) else identifier) + "/"


def with_separator(path: str) -> str:
    """Return a directory's path with a trailing `/`."""
    return path if not path or path.endswith("/") else path + "/"


def resolve(parent: str, path: str | None, is_relative: bool | None) -> str:
    """Return the full path of a stored path: `parent` if `path` is None. If `is_relative` is None, the path is relative."""
    if path is None:
        return parent
    return parent + path if is_relative or is_relative is None else path


def relative_to(parent: str, path: str) -> tuple[str, bool]:
    """Return a full path in its stored form: (text, whether it is relative to `parent`)."""
    for start in (parent, absolute(parent)) if parent and not is_url(parent) else (parent,):
        if start and path.startswith(start):
            return path[len(start) :], True
    return path, False


def is_url(path: str) -> bool:
    """Whether a path starts with a scheme and `://`, such as `s3://…`; `file:///…` does, too."""
    return _WITH_SCHEME.match(path) is not None


def without_file_scheme(path: str) -> str:
    """Return the local path of a URL with the scheme `file`, whose host is empty or `localhost`; other paths are unchanged."""
    if not path.lower().startswith("file:/"):
        return path
    return "/" + path[len("file:") :].removeprefix("//localhost/").lstrip("/")


def has_password(path: str) -> bool:
    """Whether a string contains a URL with a password or secret key, as in `s3://KEY:SECRET@bucket/`. A colon may also precede a port."""
    return _WITH_PASSWORD.search(path) is not None


def absolute(path: str) -> str:
    """Return a data path in its stored form: with a trailing `/`, and a local path absolute."""
    if is_url(path):
        return with_separator(path)
    return with_separator(os.path.abspath(os.path.expanduser(path)).replace(os.sep, "/"))


def normalize(path: str) -> str:
    """Normalize a path, so that different forms of the same path become equal.

    The result has no `.`, `..` or repeated slashes. Local paths become absolute, without a scheme. URLs keep their host, and get the
    store's own name for their scheme.
    """
    path = without_file_scheme(path)
    if not is_url(path):
        return os.path.abspath(path)
    scheme, _, rest = path.partition("://")
    host, _, inner = rest.partition("/")
    return f"{_STORES.get(scheme.lower(), scheme.lower())}://{host}{posixpath.normpath('/' + inner.lstrip('/'))}"


def new_uuid() -> str:
    """Return a new uuid of version 7, which sorts by creation time. The reference implementation uses them for tables and files."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | secrets.randbits(80)
    value = (value & ~(0xF << 76)) | (7 << 76)  # the version
    value = (value & ~(0b11 << 62)) | (0b10 << 62)  # the variant of RFC 9562
    return str(uuid.UUID(int=value & (2**128 - 1)))


def data_file_name() -> str:
    """Return a new name for a data file."""
    return f"ducklake-{new_uuid()}.parquet"


def delete_file_name() -> str:
    """Return a new name for a delete file."""
    return f"ducklake-{new_uuid()}-delete.parquet"
