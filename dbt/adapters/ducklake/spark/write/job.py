"""A Spark job that writes Parquet files to a new directory, and moving the files to their final directories.

Specification: "Data files". On a local file system the files move to the directories that DuckDB would use. In an object store a move is a
copy, so the files stay, except those of partitions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ...format.files import WriteOptions, WrittenFile
from ...format.identifiers import backquoted
from ...format.paths import data_file_name, with_separator
from ..files import storage
from ..files.locations import spark_path
from ..files.storage import THREADS
from ..files.write_options import ignored_option, spark_options
from ..values.conform import data_errors
from .direct import is_available, write_direct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


logger = logging.getLogger(__name__)

MAX_COPIED_BYTES = 5 * 2**30
"""The size up to which S3 copies a file with one request; a larger file stays where Spark has written it."""


@contextmanager
def new_directory(parent: str) -> Iterator[str]:
    """Yield the path of a new directory below `parent` for one job; if the block fails, the directory is removed.

    In an object store, files whose names begin with that path are removed too.

    Raises:
        DataError: the block failed because a value does not fit its column.
    """
    target = with_separator(parent) + data_file_name().removesuffix(".parquet")
    with data_errors():
        try:
            yield target
        except BaseException:
            try:
                storage.remove_tree(target)
                if not storage.is_local(target):
                    storage.remove_with_prefix(target)
            except OSError as error:  # the storage may be what failed
                logger.warning("the files of a failed write in %s could not be removed: %s", target, error)
            raise


def run_write_job(
    rows: DataFrame, target: str, options: WriteOptions, keys: Sequence[str] = (), rows_per_file: int | None = None
) -> list[tuple[str, int]]:
    """Write rows as Parquet files.

    Args:
        rows: the rows.
        target: the directory of the job.
        options: the options of the files.
        keys: the partition key columns; each value has a directory.
        rows_per_file: the maximum number of rows of a file, 0 for no limit; None for that of Spark's setting.

    Returns:
        (path, size in bytes) of each file.

    Raises:
        ConfigurationError: the codec is unknown.
    """
    local = storage.is_local(target)
    writer_options = spark_options(options, local=local)
    if (ignored := ignored_option(options, lambda: rows.sparkSession.version)) is not None:
        logger.warning("%s", ignored)
    if rows_per_file is not None:
        writer_options["maxRecordsPerFile"] = str(rows_per_file)
    if not local and is_available(rows.sparkSession):
        return [(target + path, size) for path, size in write_direct(_keys_last(rows, keys), spark_path(target), writer_options, keys)]
    writer = rows.write.mode("append").options(**writer_options)
    if keys:
        writer = writer.partitionBy(*keys)
    writer.parquet(spark_path(target))
    return [(path, size) for path, size in storage.list_files(target) if not path.rpartition("/")[2].startswith((".", "_"))]


def _keys_last(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    names = [name for name in rows.columns if name not in keys]
    return rows.select(*(backquoted(name) for name in (*names, *keys))) if keys else rows


def move_files(files: Sequence[WrittenFile], directories: Sequence[str], target: str) -> list[WrittenFile]:
    """Move files to their directories; after an error no moved files are left.

    In an object store only files of partitions move: DuckDB merges the files of a partition only if their directories are equal.

    Args:
        files: the files of a job, in the directory `target` or with names that begin like it.
        directories: the directory of each file, which ends with a slash.
        target: the directory of the job.
    """
    if not storage.is_local(target):
        return _copy_partitions(files, directories)
    moved: list[WrittenFile] = []
    try:
        for file, directory in zip(files, directories, strict=True):
            path = directory + data_file_name()
            storage.move(file.path, path)
            moved.append(replace(file, path=path))
        storage.remove_tree(target)
    except BaseException:
        storage.remove(file.path for file in moved)
        raise
    return moved


def _copy_partitions(files: Sequence[WrittenFile], directories: Sequence[str]) -> list[WrittenFile]:
    new_paths = {
        file.path: directory + data_file_name()
        for file, directory in zip(files, directories, strict=True)
        if file.partition_values and file.path.rpartition("/")[0] + "/" != directory and file.size_bytes <= MAX_COPIED_BYTES
    }
    try:
        with ThreadPoolExecutor(max_workers=THREADS) as pool:
            list(pool.map(storage.copy, new_paths.keys(), new_paths.values()))
        storage.remove(new_paths.keys())
    except BaseException:
        storage.remove(new_paths.values())
        raise
    return [replace(file, path=new_paths.get(file.path, file.path)) for file in files]
