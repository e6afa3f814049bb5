"""Write a small file with a Spark job and read it back, as a model does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import LakeError
from ...format.files import WriteOptions
from ..files import storage
from ..read.manifest import read_files
from .job import new_directory, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 3


def write_and_read(spark: SparkSession, directory: str) -> bool:
    """Return whether this process sees the file that the executors wrote below a directory; the file is removed.

    Raises:
        LakeError: the executors read back other rows.
        Exception: Spark's error, if a job fails.
    """
    rows = spark.range(0, ROWS, 1, 1)
    with new_directory(directory) as target:
        files = run(rows, target, WriteOptions())
        if files:
            found = read_files(spark, files, rows.schema).count()
            if found != ROWS:
                raise LakeError(f"the executors wrote {ROWS} rows to {target} and read {found}")
        storage.remove_tree(target)
    return bool(files)
