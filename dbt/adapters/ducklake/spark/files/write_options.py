"""Translate the write options of a lake to the options of Spark's, PyArrow's and DuckDB's Parquet writers.

Specification: "Configuration". DuckDB's `lz4` is the raw block format, not Hadoop's framed format of the same name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...errors import ConfigurationError
from ...format.files import ROW_GROUP_ROWS, WriteOptions
from ...format.option_values import HIGHEST_LEVEL
from ...format.statistics import MAX_BOUND_BYTES

logger = logging.getLogger(__name__)

FIRST_WITH_ROW_LIMIT = (4, 1)
"""The first version of Spark whose Parquet writer limits the rows of a row group."""
SPARK_ROW_GROUP_ROWS = 524_288
"""The maximum number of rows in a row group of Spark, if the lake does not set it.

With groups of DuckDB's size a write takes up to a third longer, because Spark starts a dictionary of each column in each group.
"""
_CODECS = {
    "uncompressed": "uncompressed",
    "none": "uncompressed",
    "snappy": "snappy",
    "gzip": "gzip",
    "zstd": "zstd",
    "brotli": "brotli",
    "lz4": "lz4_raw",
    "lz4_raw": "lz4_raw",
}
_HIGHEST_LEVELS = {"zstd": 22, "gzip": 9, "brotli": 11}
_GZIP_LEVELS = ("NO_COMPRESSION", "BEST_SPEED", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "BEST_COMPRESSION")
"""Hadoop's names of the gzip levels 0 to 9."""


def codec(options: WriteOptions) -> str:
    """Return the codec's name in Spark, PyArrow and DuckDB.

    Raises:
        ConfigurationError: the codec is unknown.
    """
    name = _CODECS.get(options.compression.lower())
    if name is None:
        raise ConfigurationError(f"parquet_compression is {options.compression!r}: set it to one of {', '.join(sorted(_CODECS))}")
    return name


def spark_options(options: WriteOptions, *, local: bool) -> dict[str, str]:
    """Return the options of Spark's Parquet writer; with `local` it writes no checksum files.

    Raises:
        ConfigurationError: the codec is unknown.
    """
    compression = codec(options)
    writer_options = {
        "compression": compression,
        "parquet.writer.version": "v2" if options.parquet_version == 2 else "v1",
        "parquet.block.row.count.limit": str(options.row_group_size or SPARK_ROW_GROUP_ROWS),
        "parquet.statistics.truncate.length": str(MAX_BOUND_BYTES),
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }
    if options.row_group_size_bytes is not None:
        writer_options["parquet.block.size"] = str(options.row_group_size_bytes)
    level = _level(options, compression)
    if level is not None and compression == "zstd":
        writer_options["parquet.compression.codec.zstd.level"] = str(level)
    elif level is not None and compression == "gzip":
        writer_options["zlib.compress.level"] = _GZIP_LEVELS[level]
    elif level is not None and compression == "brotli":
        writer_options["compression.brotli.quality"] = str(level)
    if local:
        writer_options["fs.file.impl"] = "org.apache.hadoop.fs.RawLocalFileSystem"
        writer_options["fs.file.impl.disable.cache"] = "true"
    return writer_options | dict(options.extra)


def ignored_option(options: WriteOptions, spark_version: Callable[[], str]) -> str | None:
    """Return a message about an option that Spark ignores; None: there is none.

    Args:
        options: the lake's options.
        spark_version: returns the version of Spark, which a Spark Connect server has to be asked for.
    """
    if options.row_group_size is None:
        return None
    version = spark_version()
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) >= FIRST_WITH_ROW_LIMIT:
        return None
    return (
        f"parquet_row_group_size is {options.row_group_size}, and Spark {version} ignores it: install pyspark "
        f"{'.'.join(map(str, FIRST_WITH_ROW_LIMIT))} or newer, or set parquet_row_group_size_bytes"
    )


def arrow_options(options: WriteOptions, row_bytes: float = 0.0) -> dict[str, Any]:
    """Return the arguments of `pyarrow.parquet.write_table`, without `options.extra`, which is for Spark only.

    Args:
        options: the lake's options.
        row_bytes: the size of a row in memory in bytes, as an estimate of its size in a row group.

    Raises:
        ConfigurationError: the codec is unknown.
    """
    compression = codec(options)
    rows = options.row_group_size or ROW_GROUP_ROWS
    if options.row_group_size_bytes is not None and row_bytes > 0:
        rows = max(1, min(rows, int(options.row_group_size_bytes / row_bytes)))
    arguments: dict[str, Any] = {
        "compression": "none" if compression == "uncompressed" else compression,
        "data_page_version": "2.0" if options.parquet_version == 2 else "1.0",
        "row_group_size": rows,
        "store_decimal_as_integer": True,
        "store_schema": False,
    }
    level = _level(options, compression)
    if level is not None:
        arguments["compression_level"] = level
    return arguments


def duckdb_options(options: WriteOptions) -> str:
    """Return the options of DuckDB's `COPY`, without the size of row groups.

    Raises:
        ConfigurationError: the codec is unknown.
    """
    compression = codec(options)
    chosen = f"COMPRESSION '{compression}', PARQUET_VERSION V{options.parquet_version}, GEOPARQUET_VERSION 'NONE'"
    level = _level(options, compression) if compression == "zstd" else None  # DuckDB accepts no level of another codec
    return chosen if level is None else f"{chosen}, COMPRESSION_LEVEL {level}"


def _level(options: WriteOptions, compression: str) -> int | None:
    """Return the level for a codec that has levels, at most its highest; None to use the codec's default."""
    level = options.compression_level
    if level is None or compression not in _HIGHEST_LEVELS:
        return None
    if level > HIGHEST_LEVEL:
        logger.warning("parquet_compression_level is %s, but no codec has a level above %s; it is ignored", level, HIGHEST_LEVEL)
        return None
    return min(level, _HIGHEST_LEVELS[compression])
