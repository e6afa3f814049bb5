"""Send the functions of `worker_tasks` to Spark's Python workers."""

from __future__ import annotations

from pyspark import cloudpickle

from . import duckdb_files, worker_tasks


def send_code() -> None:
    """Let Spark send the code of these modules with their functions, because workers of a cluster may not have this package."""
    for module in (duckdb_files, worker_tasks):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
