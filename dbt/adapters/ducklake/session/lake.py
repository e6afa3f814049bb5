"""A lake that is open in this process: where it is, its catalog, and the Spark that works on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..catalog.lake import LakeCatalog
from ..catalog.location import parse_location
from ..catalog.transaction import RetrySettings
from ..lake.migrate import migrate
from ..spark.runtime import SparkRuntime
from ..spark.settings import SparkSettings
from .session import LakeSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class LakeSettings:
    """Where a lake is and how to work with it; see the README's profile reference for each field."""

    path: str
    data_path: str | None = None
    database: str = "lake"
    metadata_schema: str | None = None
    read_only: bool = False
    create_if_not_exists: bool = True
    data_inlining_row_limit: int | None = None
    automatic_migration: bool = False
    retry: RetrySettings = field(default_factory=RetrySettings)
    spark: SparkSettings = field(default_factory=SparkSettings)


class Lake:
    """A lake that is open in this process: its catalog and the Spark that works on it. Thread-safe."""

    def __init__(self, settings: LakeSettings, catalog: LakeCatalog, runtime: SparkRuntime) -> None:
        self.settings = settings
        self.catalog = catalog
        self.runtime = runtime

    @classmethod
    def open(cls, settings: LakeSettings, spark: SparkSession | None = None) -> Lake:
        """Open the catalog, making it where it does not exist, and migrating it where that is asked for; Spark is not started.

        Raises:
            ConfigurationError: the settings contradict each other or the catalog; LakeError: a format version that is not known.
        """
        location = parse_location(settings.path, metadata_schema=settings.metadata_schema)
        catalog = LakeCatalog.open(
            location,
            data_path=settings.data_path,
            read_only=settings.read_only,
            create_if_not_exists=settings.create_if_not_exists,
            retry=settings.retry,
            data_inlining_row_limit=settings.data_inlining_row_limit,
        )
        if settings.automatic_migration:
            try:
                migrate(catalog)
            except BaseException:
                catalog.close()
                raise
        return cls(settings, catalog, SparkRuntime(settings.spark if spark is None else spark))

    def session(self, schema: str = "main") -> LakeSession:
        """A new session; sessions share nothing but the lake and Spark itself."""
        return LakeSession(self, schema)

    def close(self) -> None:
        """Close the catalog and stop Spark if this process started it."""
        self.runtime.stop()
        self.catalog.close()

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
