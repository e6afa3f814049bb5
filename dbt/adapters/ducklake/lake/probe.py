"""Check that files below a data path can be written, read and removed, by this process and by Spark, before a run needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from uuid import uuid4

from ..errors import ConfigurationError
from ..spark.files.s3 import hint
from ..spark.files.storage import filesystem, is_local, make_directory, remove
from ..spark.write.probe import write_and_read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def probe_data_path(path: str, *, read_only: bool) -> timedelta | None:
    """Write a small file below the data path, read it back and remove it; with `read_only`, only ask the storage for the path.

    Returns:
        By how much the clock of the storage is ahead of this machine's; None if nothing was written.

    Raises:
        ConfigurationError: one of these steps fails; the message contains the path and the error of the file system.
    """
    try:
        if not read_only:
            with _temporary_local_folder(path):
                return _write_and_read(path)
        files, inner = filesystem(path.rstrip("/"))
        files.get_file_info(inner)
    except (OSError, ValueError) as error:
        verb = "read" if read_only else "written to"
        raise ConfigurationError(
            f"the data path {path} cannot be {verb}: {error}. Check the path, the permissions on it, and the credentials of its storage "
            f"in `secrets` of the profile or in this process's environment.{hint(str(error))}"
        ) from error
    return None


def probe_with_spark(spark: SparkSession, path: str, *, encrypted: bool) -> None:
    """Let executors write a small file below the data path and read it back, then remove it.

    Args:
        spark: the session.
        path: the data path.
        encrypted: write an encrypted file.

    Raises:
        ConfigurationError: this process cannot see what the executors wrote.
        LakeError: the executors read back other rows, or this process cannot see an encrypted file.
        Exception: Spark's error, if its job fails.
    """
    with _temporary_local_folder(path):
        is_visible = write_and_read(spark, path, encrypted=encrypted)
    if not is_visible:
        raise ConfigurationError(
            f"the executors wrote to {path}, but this machine cannot see the file: data_path must be a folder or an object store that "
            "this machine and all machines of the cluster share, under the same path"
        )


@contextmanager
def _temporary_local_folder(path: str) -> Iterator[None]:
    """Create a missing local folder for the block, then remove the folders that were created, so that a wrong path leaves nothing."""
    missing: list[str] = []
    if is_local(path):
        folder = os.path.abspath(filesystem(path)[1])
        while not os.path.exists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        make_directory(path)
    try:
        yield
    finally:
        for folder in missing:
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)


def _write_and_read(directory: str) -> timedelta:
    """Write, read and remove a file; return by how much the clock of the storage is ahead of this machine's.

    Raises:
        OSError: one of these steps fails.
    """
    name = f"{directory.rstrip('/')}/dbt_ducklake_probe_{uuid4().hex}"
    content = b"dbt-ducklake probe"
    files, inner = filesystem(name)
    try:
        before = datetime.now(timezone.utc)
        with files.open_output_stream(inner) as stream:
            stream.write(content)
        after = datetime.now(timezone.utc)
        with files.open_input_stream(inner) as stream:
            if stream.read() != content:
                raise OSError("a file was read back with different content")
        written: datetime = files.get_file_info(inner).mtime.astimezone(timezone.utc)
    except BaseException:
        with suppress(OSError):  # the first error says more
            remove([name])
        raise
    remove([name])
    return written - min(max(written, before), after)  # zero if the file's time is between our two times
