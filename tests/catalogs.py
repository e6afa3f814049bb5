"""Fixtures for tests of lakes: `catalog` (an empty location for a lake on a catalog database) and `lake` (a session on a lake in it)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings
from tests.places import ENCRYPTED, FULL_MATRIX, NIGHTLY, USUAL_DATABASES, address_of, selected_databases


@dataclass(frozen=True)
class CatalogUnderTest:
    """A location for one lake. `path` is what DuckDB's ATTACH and this adapter's profile both accept."""

    database: str
    path: str
    data_path: str
    metadata_schema: str | None = None

    def open(self, runtime: SparkRuntime | None = None, **more: object) -> Lake:
        """Open the lake at this location, on a Spark application that tests share, if one is given."""
        if ENCRYPTED:
            more = {"encrypted": True, **more}
        settings = LakeSettings(self.path, self.data_path, metadata_schema=self.metadata_schema, **more)  # type: ignore[arg-type]
        lake = Lake.open(settings)
        if runtime is not None:
            lake.runtime = runtime
        return lake


@contextmanager
def session_on(lake: Lake) -> Iterator[LakeSession]:
    """Open a session on a lake; at the end both are closed, and Spark keeps running."""
    with lake.session() as session:
        yield session
    lake.catalog.close()


def pytest_report_header() -> str:
    """Report which part of the matrix this run covers."""
    return f"catalog databases: {'all' if FULL_MATRIX else 'one, all for tests marked parity'} (DUCKLAKE_TEST_MATRIX)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked `nightly` unless the full matrix runs."""
    for item in items:
        if not FULL_MATRIX and item.get_closest_marker("nightly") is not None:
            item.add_marker(pytest.mark.skip(reason=NIGHTLY))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `catalog` with the databases in the test module's `CATALOGS`, or `USUAL_DATABASES` if it has none."""
    if "catalog" in metafunc.fixturenames:
        parity = metafunc.definition.get_closest_marker("parity") is not None
        databases = selected_databases(getattr(metafunc.module, "CATALOGS", USUAL_DATABASES), parity=parity)
        metafunc.parametrize("catalog", databases, indirect=True)


@pytest.fixture
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogUnderTest:
    """An empty location for a lake, on each catalog database in turn."""
    path, schema = address_of(request.param, request)
    return CatalogUnderTest(request.param, path, f"{tmp_path}/lake_files/", schema)


@pytest.fixture
def lake(catalog: CatalogUnderTest, runtime: SparkRuntime) -> Iterator[LakeSession]:
    """A session on an empty lake that writes all rows to files. `test_inlining.py` covers inlined rows."""
    with session_on(catalog.open(runtime, data_inlining_row_limit=0)) as session:
        yield session


INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.ui.explainMode": "simple"}
"""Settings with which a small query takes four fifths of its time: Spark interprets it instead of compiling Java for it. `make test-all` compiles."""


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkRuntime]:
    """The Spark application of this test process. Each worker has one, so it gets less memory than Java's default, a quarter."""
    java = {"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-Xms1g -Xmn600m"}  # a small heap is collected more often
    config = {**java, "spark.local.dir": str(tmp_path_factory.mktemp("spark")), **({} if FULL_MATRIX else INTERPRETED)}
    with SparkRuntime(SparkSettings(master="local[2]", app_name="dbt-ducklake tests", config=config, fast_start=True)) as started:
        yield started
