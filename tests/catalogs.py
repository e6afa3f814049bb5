"""The catalog databases that lake tests run on, as fixtures: `catalog` (one empty place for a lake) and `lake` (a session on it)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.settings import SparkSettings
from tests.places import USUAL_DATABASES, address_of


@dataclass(frozen=True)
class CatalogUnderTest:
    """A place for one lake. `path` is the attach string of both sides."""

    database: str
    path: str
    data_path: str
    metadata_schema: str | None = None

    def open(self, runtime: SparkRuntime | None = None, **more: object) -> Lake:
        """The lake at this place, on a Spark that is shared."""
        settings = LakeSettings(self.path, self.data_path, metadata_schema=self.metadata_schema, **more)  # type: ignore[arg-type]
        lake = Lake.open(settings)
        if runtime is not None:
            lake.runtime = runtime
        return lake


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Which catalog databases a test runs on: `CATALOGS` of its module, else the two usual ones."""
    if "catalog" in metafunc.fixturenames:
        databases = getattr(metafunc.module, "CATALOGS", USUAL_DATABASES)
        metafunc.parametrize("catalog", databases, indirect=True)


@pytest.fixture
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogUnderTest:
    """An empty place for a lake, on each catalog database in turn."""
    path, schema = address_of(request.param, request)
    return CatalogUnderTest(request.param, path, f"{tmp_path}/lake_files/", schema)


@pytest.fixture
def lake(catalog: CatalogUnderTest, runtime: SparkRuntime) -> Iterator[LakeSession]:
    """A session on an empty lake, whose rows are in files however few they are; `test_inlining.py` is about the others."""
    opened = catalog.open(runtime, data_inlining_row_limit=0)
    session = opened.session()
    yield session
    session.close()
    opened.catalog.close()


@pytest.fixture(scope="session")
def runtime() -> Iterator[SparkRuntime]:
    """The one Spark of this test process. A quarter of the machine, Java's own idea, would be too much: there are as many as workers."""
    config = {"spark.driver.memory": "3g"}
    with SparkRuntime(SparkSettings(master="local[2]", app_name="dbt-ducklake tests", config=config, fast_start=True)) as started:
        yield started
