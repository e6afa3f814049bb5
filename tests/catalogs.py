"""The catalog databases that lake tests run on, as fixtures: `catalog` (one empty place for a lake) and `lake` (a session on it)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from dbt.adapters.ducklake.spark.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.settings import SparkSettings

_numbers = itertools.count()


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


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogUnderTest:
    """An empty place for a lake, on each catalog database in turn."""
    data_path = f"{tmp_path}/lake_files/"
    if request.param == "sqlite":
        return CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/lake.sqlite", data_path)
    postgres = request.getfixturevalue("postgres_url")
    return CatalogUnderTest("postgres", postgres, data_path, metadata_schema=None)


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
    """The one Spark of this test process."""
    with SparkRuntime(SparkSettings(master="local[2]", app_name="dbt-ducklake tests", fast_start=True)) as started:
        yield started
