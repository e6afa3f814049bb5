"""Write a small file with a Spark job and read it back, as a model does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import LakeError
from ...format.files import DataFile, ScanPlan, WriteOptions
from ...format.objects import Column
from ..files import storage
from ..read.manifest import read_files
from ..read.scan import scan
from .encrypted import write_files
from .job import new_directory, run_write_job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 3
"""The number of rows in the file."""
_COLUMN = Column(1, "id", "int64")


def write_and_read(spark: SparkSession, directory: str, *, encrypted: bool) -> bool:
    """Write a file with the executors and read it, then remove it; return whether this process sees it.

    Args:
        spark: the session.
        directory: the directory below which the file is written.
        encrypted: write and read an encrypted file, as the models of an encrypted lake do.

    Raises:
        LakeError: the executors read back another number of rows, or this process cannot see an encrypted file.
        Exception: Spark's error, if a job fails.
    """
    with new_directory(directory) as target:
        paths, rows = _encrypted(spark, target) if encrypted else _plain(spark, target)
        if paths:
            row_count = rows.count()
            if row_count != ROWS:
                raise LakeError(
                    f"the executors wrote {ROWS} rows to {target} and read {row_count}; make sure that all of them see the same storage"
                )
        storage.remove(paths)
        storage.remove_tree(target)
    return bool(paths)


def _plain(spark: SparkSession, target: str) -> tuple[list[str], DataFrame]:
    rows = spark.range(0, ROWS, 1, 1)
    files = run_write_job(rows, target, WriteOptions())
    return [path for path, _ in files], read_files(spark, files, rows.schema) if files else rows


def _encrypted(spark: SparkSession, target: str) -> tuple[list[str], DataFrame]:
    written = write_files(spark.range(0, ROWS, 1, 1), (_COLUMN,), target, WriteOptions(encrypted=True))
    files = [
        DataFile(number, file.path, file.record_count, file.size_bytes, file.footer_size, 0, 0, encryption_key=file.encryption_key)
        for number, (_, file) in enumerate(written)
    ]
    return [file.path for file in files], scan(spark, ScanPlan("the probe", (_COLUMN,), tuple(files)))
