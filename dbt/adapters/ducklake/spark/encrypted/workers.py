"""Send the functions of `duckdb_files` to Spark's Python workers."""

from __future__ import annotations

from pyspark import cloudpickle

from . import duckdb_files


def send_code() -> None:
    """Let Spark send the code of `duckdb_files` with its functions, because workers of a cluster may not have this package."""
    cloudpickle.register_pickle_by_value(duckdb_files)  # type: ignore[no-untyped-call]
