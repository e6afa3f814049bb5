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

from pyspark.sql.types import DoubleType, FloatType, StructType

from ...errors import LakeError
from ...format.identifiers import spark_literal
from ..files import locations
from ..session.runtime import SCRATCH
from ..values.conversions import REFUSED
from ..values.types import contains_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

UNKNOWN_FILE = f"{REFUSED}Spark read a file that is not in the scan plan"
NEVER = "(?!)"
"""A pattern that nothing matches."""
FILTERS_BY_VALUE = ("parquet.filter.dictionary.enabled", "parquet.filter.bloom.enabled")
"""Parquet's filters that take -0.0 for another value than 0.0, so that a condition such as `x = 0.0` would lose rows."""
FILTERS_BY_BOUNDS = ("parquet.filter.stats.enabled", "parquet.filter.columnindex.enabled")
"""Parquet's filters that take a file's bounds for those of all values, NaN included, so that `x > 1` would lose rows."""
BLOCK_SIZE = 128 * 1024 * 1024
MAX_COMPARED_PATHS = 32
"""Up to this number of files, Spark Connect finds the index of a row's file by comparing its path; a join with more paths is faster."""


def read_files(spark: SparkSession, files: Sequence[tuple[str, int]], schema: StructType, *, by_name: bool = False) -> DataFrame:
    """Read Parquet files with the columns of a schema.

    Args:
        spark: the session of the scan.
        files: the path and the size in bytes of each file.
        schema: the columns to read.
        by_name: whether the files are of other writers and match by name, so that their bounds may leave out NaN.
    """
    reader = spark.read.schema(schema).option("recursiveFileLookup", "true").option("mergeSchema", "false")
    reader = _with_hidden_names(spark, reader, files)
    if contains_type(schema, (FloatType, DoubleType)):
        for name in (*FILTERS_BY_VALUE, *(FILTERS_BY_BOUNDS if by_name else ())):
            reader = reader.option(name, "false")
    scratch = spark.conf.get(SCRATCH, None)
    if scratch is None:
        return reader.parquet(*[locations.reader_path(path) for path, _ in files])
    with manifest(Path(scratch), files) as directory:
        return reader.parquet(f"file://{directory}")  # Spark reads the list now, and never again


def file_index(spark: SparkSession, paths: Sequence[str]) -> str | None:
    """Return SQL for the index of a row's file in the list of `read_files`, a BIGINT; None with Spark Connect and many files.

    In classic mode the list gives the index to Spark as the file's time, which nothing else uses. Spark Connect compares the path, and a
    file that is not in the list is an error: a NULL would hide its deletes.

    Args:
        spark: the session of the scan.
        paths: the files, each once.
    """
    if spark.conf.get(SCRATCH, None) is not None:
        return "unix_millis(_metadata.file_modification_time)"
    if len(paths) > MAX_COMPARED_PATHS:
        return None
    cases = " ".join(f"WHEN {plain_literal(locations.metadata_path(path))} THEN {index}L" for index, path in enumerate(paths))
    return f"CASE _metadata.file_path {cases} ELSE CAST(raise_error('{UNKNOWN_FILE}') AS BIGINT) END"


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


def plain_literal(text: str) -> str:
    """Return a text as a SQL literal in which Spark substitutes no `${name}`."""
    return spark_literal(text).replace("$", "\\u0024")


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
