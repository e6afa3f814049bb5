"""One Spark job that writes Parquet: its own fresh directory, the files in it, and where they go then.

Specification: "Data files". On a local file system files move to where DuckDB would put them; elsewhere a move is a copy, and they stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ...format.files import WriteOptions, WrittenFile
from ...format.paths import data_file_name, with_separator
from ..files import storage
from ..files.locations import spark_path
from ..files.write_options import spark_options
from ..values.conform import data_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def fresh_directory(home: str) -> Iterator[str]:
    """A directory below `home` for one job; if the block fails it is removed, with all that is in it.

    Raises:
        DataError: the block failed because a value does not fit its column.
    """
    target = with_separator(home) + data_file_name().removesuffix(".parquet")
    try:
        yield target
    except BaseException as error:
        storage.remove_tree(target)
        told = data_error(error)
        if told is not None:
            raise told from error
        raise


def run(
    rows: DataFrame, target: str, options: WriteOptions, keys: Sequence[str] = (), rows_per_file: int | None = None
) -> list[tuple[str, int]]:
    """Write the rows below `target`, in a directory for each value of `keys`: path and size of each file, in bytes."""
    writer = rows.write.mode("append").options(**spark_options(options, local=storage.is_local(target)))
    if rows_per_file is not None:
        writer = writer.option("maxRecordsPerFile", str(rows_per_file))
    if keys:
        writer = writer.partitionBy(*keys)
    writer.parquet(spark_path(target))
    return [(path, size) for path, size in storage.list_files(target) if not path.rpartition("/")[2].startswith((".", "_"))]


def settle(files: Sequence[WrittenFile], homes: Sequence[str], target: str) -> list[WrittenFile]:
    """Move each file from `target` to its own of `homes`, directories that end with a slash; on an error none of them is left."""
    if not storage.is_local(target):
        return list(files)
    settled: list[WrittenFile] = []
    try:
        for file, home in zip(files, homes, strict=True):
            path = home + data_file_name()
            storage.move(file.path, path)
            settled.append(replace(file, path=path))
    except BaseException:
        storage.remove(file.path for file in settled)
        raise
    storage.remove_tree(target)
    return settled
