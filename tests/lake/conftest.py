"""One Spark for all tests of this directory, and lakes written by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.format.files import ScanPlan
from dbt.adapters.ducklake.format.objects import Table
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.duckdb_instances import open_duckdb
from tests.lake.written import WrittenLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_runtime(runtime: SparkRuntime) -> SparkRuntime:
    """The Spark application of this process. `session()` returns separate sessions."""
    return runtime


@pytest.fixture(scope="session")
def spark(spark_runtime: SparkRuntime) -> SparkSession:
    """A session for tests that leave nothing behind in it."""
    return spark_runtime.session()


class DuckLake:
    """A lake on a SQLite catalog that DuckDB's extension writes and our catalog reads."""

    def __init__(self, directory: Path, inlining: int, files: str = "files") -> None:
        self.catalog = directory / "lake.sqlite"
        self.data_path = directory / files
        self.con = open_duckdb("ducklake", "sqlite_scanner")
        quoted = str(self.data_path).replace("'", "''")
        self.con.execute(f"ATTACH 'ducklake:sqlite:{self.catalog}' AS lake (DATA_PATH '{quoted}/', DATA_INLINING_ROW_LIMIT {inlining})")
        self.con.execute("USE lake")
        self.con.execute("SET TimeZone = 'UTC'")

    def sql(self, *statements: str) -> None:
        """Run statements. Each creates its own snapshot."""
        for statement in statements:
            self.con.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows that DuckDB reads."""
        return self.con.execute(query).fetchall()

    def versions(self) -> list[int]:
        """Return all snapshot ids."""
        return [row[0] for row in self.rows("SELECT snapshot_id FROM lake.snapshots() ORDER BY 1")]

    def plan(self, table: str, version: int | None = None, schema: str = "main") -> ScanPlan:
        """Return our catalog's scan plan of a table."""
        with LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{self.catalog}")) as catalog:
            reader = catalog.reader(catalog.latest() if version is None else catalog.resolve(version=version))
            found = reader.find(schema, table)
            assert isinstance(found, Table), f"no table {table} at {version}"
            return reader.scan_plan(found)


@pytest.fixture
def duck_lake(tmp_path: Path) -> Iterator[DuckLake]:
    """A lake without inlining: every row is in a file."""
    lake = DuckLake(tmp_path, inlining=0)
    yield lake
    lake.con.close()


@pytest.fixture
def inlining_lake(tmp_path: Path) -> Iterator[DuckLake]:
    """A lake that inlines small changes in its catalog."""
    lake = DuckLake(tmp_path, inlining=20)
    yield lake
    lake.con.close()


def ordered(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Sort rows in an order that does not depend on the engine."""
    return sorted((tuple(row) for row in rows), key=lambda row: [(value is not None, str(value)) for value in row])


@pytest.fixture
def written(tmp_path: Path) -> WrittenLake:
    """An empty lake to which a test adds files directly."""
    return WrittenLake(tmp_path)
