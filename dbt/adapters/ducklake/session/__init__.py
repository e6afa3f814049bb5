"""The live resources: one lake, one Spark, and a session for each connection; and `connect`, the way in without dbt.

    from dbt.adapters.ducklake.session import connect

    with connect("ducklake:sqlite:lake.sqlite", "lake_files/") as lake:
        lake.execute("CREATE TABLE t AS SELECT 1 AS a")
        lake.sql("SELECT * FROM t").show()

A statement outside BEGIN … COMMIT is a transaction of its own. When it conflicts with a concurrent commit, it is planned again, a few
times. So is a whole transaction, unless its caller received an answer in it that has changed; then the caller gets the conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
    database: str = "lake",
    schema: str = "main",
    spark: SparkSession | None = None,
    spark_config: Mapping[str, str] | None = None,
    read_only: bool = False,
    automatic_migration: bool = False,
    attach: Sequence[LakeSettings] = (),
) -> Iterator[LakeSession]:
    """A session on the lake whose catalog is at `path`.

    Args:
        path: an SQLAlchemy URL or DuckDB's attach string, such as `ducklake:sqlite:lake.sqlite` or `ducklake:postgres:dbname=lake host=db`.
        data_path: where the Parquet files are; needed only to make a lake.
        database: the lake's name in three-part names.
        schema: the current schema.
        spark: a session to work with; it is never stopped. Without it Spark is started when the first statement needs it.
        spark_config: Spark settings, such as `{"spark.master": "local[4]"}`.
        read_only: refuse every change.
        automatic_migration: bring a lake of an older format version to the current one.
        attach: further lakes, each with a `database` of its own: `LakeSettings("ducklake:raw.duckdb", database="raw", snapshot_version=7)`.

    Raises:
        DuckLakeError: see `dbt.adapters.ducklake.errors`.
    """
    config = dict(spark_config or {})
    master = config.pop("spark.master", None)
    settings = SparkSettings(config=config) if master is None else SparkSettings(master=master, config=config)
    opened = LakeSettings(
        path,
        data_path,
        database=database,
        read_only=read_only,
        automatic_migration=automatic_migration,
        spark=settings,
        attached=tuple(attach),
    )
    with Lake.open(opened, spark) as lake, lake.session(schema) as session:
        yield session
