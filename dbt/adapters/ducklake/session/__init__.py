"""The open lake, its Spark, and a session for each connection; `connect` opens a session without dbt.

    from dbt.adapters.ducklake.session import connect

    with connect("ducklake:sqlite:lake.sqlite", "lake_files/") as lake:
        lake.execute("CREATE TABLE t AS SELECT 1 AS a")
        lake.sql("SELECT * FROM t").show()

A statement outside BEGIN … COMMIT is its own transaction. When it conflicts with a concurrent commit, it is planned again, a few times.
A whole transaction is replayed as well, unless a result that the caller received has changed; then the caller gets the conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..run.result import Result
from ..spark.session.settings import SparkSettings
from .lake import Lake, LakeSettings
from .session import LakeSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Lake", "LakeSession", "LakeSettings", "Result", "connect"]


@contextmanager
def connect(
    path: str,
    data_path: str | None = None,
    *,
    schema: str = "main",
    spark: SparkSession | None = None,
    spark_config: Mapping[str, str] | None = None,
    attach: Sequence[LakeSettings] = (),
    **settings: Any,
) -> Iterator[LakeSession]:
    """Open a session on the lake whose catalog is at `path`.

    Args:
        path: an SQLAlchemy URL or DuckDB's attach string, such as `ducklake:sqlite:lake.sqlite` or `ducklake:postgres:dbname=lake host=db`.
        data_path: where the Parquet files are; needed only to create a lake.
        schema: the current schema.
        spark: a Spark session to use; it is never stopped. Without it, Spark is started when a statement first needs it.
        spark_config: Spark settings, such as `{"spark.master": "local[4]"}`.
        attach: further lakes, each with its own `database`: `LakeSettings("ducklake:raw.duckdb", database="raw", snapshot_version=7)`.
        settings: other fields of `LakeSettings`, such as `database="sales"` or `read_only=True`.

    Raises:
        DuckLakeError: see `dbt.adapters.ducklake.errors`.
    """
    config = dict(spark_config or {})
    master = config.pop("spark.master", None)
    started = SparkSettings(config=config) if master is None else SparkSettings(master=master, config=config)
    opened = LakeSettings(path, data_path, spark=started, attached=tuple(attach), **settings)
    with Lake.open(opened, spark) as lake, lake.session(schema) as session:
        yield session
