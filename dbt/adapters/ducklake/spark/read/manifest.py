"""Pass a list of Parquet files to Spark, so that it lists no directories.

In classic mode the list is written as the log of a file sink, which Spark reads as `MetadataLogFileIndex`: 0.07 s for 5,000 files, where
`read.parquet(*paths)` takes 9.8 s. Only the driver reads it. With Spark Connect the driver shares no directory with us, so the paths are
passed.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import LakeError
from ..files import locations
from ..session.runtime import SCRATCH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

NEVER = "(?!)"
"""A pattern that nothing matches."""
BLOCK_SIZE = 128 * 1024 * 1024
FILE_INDEX = "unix_millis(_metadata.file_modification_time)"
"""SQL for the index of a row's file in the list of `read_files`: the list gives it to Spark as the file's time, which nothing else uses."""


def read_files(spark: SparkSession, files: Sequence[tuple[str, int]], schema: StructType) -> DataFrame:
    """Read Parquet files, given as (path, size in bytes), with the columns of `schema`."""
    reader = spark.read.schema(schema).option("recursiveFileLookup", "true").option("mergeSchema", "false")
    reader = _with_hidden_names(spark, reader, files)
    scratch = spark.conf.get(SCRATCH, None)
    if scratch is None:
        return reader.parquet(*[locations.reader_path(path) for path, _ in files])
    with manifest(Path(scratch), files) as directory:
        return reader.parquet(f"file://{directory}")  # Spark reads the list now, and never again


def has_file_index(spark: SparkSession) -> bool:
    """Whether `FILE_INDEX` works: not with Spark Connect, which reads the paths."""
    return spark.conf.get(SCRATCH, None) is not None


@contextlib.contextmanager
def manifest(scratch: Path, files: Sequence[tuple[str, int]]) -> Iterator[Path]:
    """Yield a directory that lists exactly these files, until the block ends."""
    os.makedirs(scratch, mode=0o700, exist_ok=True)  # programs that tidy up temporary folders may have removed it
    with tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as directory:
        lines = ["v1", *[_entry(path, size, index) for index, (path, size) in enumerate(files)]]
        log = Path(directory, "_spark_metadata", "0")
        log.parent.mkdir()
        log.write_text("\n".join(lines), encoding="utf-8")
        yield Path(directory)


def _entry(path: str, size: int, index: int) -> str:
    return json.dumps(
        {
            "path": locations.manifest_path(path),
            "size": size,
            "isDir": False,
            "modificationTime": index,
            "blockReplication": 1,
            "blockSize": BLOCK_SIZE,
            "action": "add",
        },
        ensure_ascii=False,
    )


def _with_hidden_names(spark: SparkSession, reader: DataFrameReader, files: Sequence[tuple[str, int]]) -> DataFrameReader:
    """Have Spark read files whose names begin with `_` or `.`, which it skips silently; only Spark 4.3 and later can.

    Raises:
        LakeError: such a file exists and Spark is older.
    """
    hidden = next((path for path, _ in files if path.rsplit("/", 1)[-1].startswith(("_", "."))), None)
    if hidden is None:
        return reader
    major, minor = (int(part) for part in spark.version.split(".")[:2])
    if (major, minor) < (4, 3):
        raise LakeError(
            f"data file {hidden} begins with '{hidden.rsplit('/', 1)[-1][0]}', and Spark {spark.version} would skip it. "
            "Use Spark 4.3 or newer, or rewrite the file with DuckDB"
        )
    return reader.option("ignoredPathSegmentRegex", NEVER)
