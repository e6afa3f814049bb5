"""A player of scripts on each of the usual catalog databases. Each script gets a new lake; Spark and DuckDB are shared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.ducklake.catalog.store.settings import ISOLATION_LEVELS
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.places import USUAL_DATABASES

from .model import Model
from .playing import Player, places_on


@pytest.fixture(params=USUAL_DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """The catalog database."""
    return str(request.param)


@pytest.fixture(params=ISOLATION_LEVELS)
def isolation_level(request: pytest.FixtureRequest) -> str:
    """The isolation level of our sessions."""
    return str(request.param)


@pytest.fixture
def player(database: str, request: pytest.FixtureRequest, runtime: SparkRuntime) -> Iterator[Player]:
    """A player that runs scripts on new lakes, at snapshot isolation unless the test asks for `isolation_level`."""
    level = request.getfixturevalue("isolation_level") if "isolation_level" in request.fixturenames else "snapshot"
    server = request.getfixturevalue("postgres_server") if database == "postgres" else None
    player = Player(places_on(database, server), runtime, isolation_level=level)
    yield player
    player.close()


@pytest.fixture(scope="session")
def model() -> Model:
    """The meaning of statements without concurrent writers."""
    return Model()
