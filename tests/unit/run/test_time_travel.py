"""A clause such as TIMESTAMP AS OF means one snapshot in the whole statement, which the transaction may read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import NotFoundError
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.plan.view import LakeView
from dbt.adapters.ducklake.run.environment import OpenLakes
from dbt.adapters.ducklake.sql.values import TimeTravel
from tests.catalog_objects import COLUMNS, committed, main_of
from tests.places import empty_place

FUTURE = TimeTravel(timestamp="'2999-01-01'")
NOW = TimeTravel(timestamp="current_timestamp()")


@dataclass
class Clock:
    """Stands for Spark: every constant expression is the present."""

    queries: list[str] = field(default_factory=list)

    def sql(self, query: str) -> Clock:
        self.queries.append(query)
        return self

    def collect(self) -> list[tuple[int]]:
        return [(int(datetime.now(timezone.utc).timestamp() * 1_000_000),)]


@pytest.fixture
def catalog(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[LakeCatalog]:
    with empty_place("sqlite", request, tmp_path).open() as opened:
        yield opened


def add_table(catalog: LakeCatalog, name: str) -> None:
    committed(catalog, lambda transaction: transaction.objects.new_table(main_of(transaction), name, COLUMNS))


def lakes_of(catalog: LakeCatalog, spark: Any) -> OpenLakes:
    """Return the lakes of a statement in a new transaction."""
    context = Context(catalog, catalog.begin(), lambda: spark)
    return OpenLakes({"lake": lambda: context}, lambda: "UTC", dict)


def has(view: LakeView, name: str) -> bool:
    return view.find("main", name) is not None


@pytest.mark.parametrize("at", [FUTURE, NOW])
def test_a_time_is_not_later_than_the_snapshot_of_the_transaction(catalog: LakeCatalog, at: TimeTravel) -> None:
    add_table(catalog, "t")
    lakes = lakes_of(catalog, Clock())
    add_table(catalog, "later")
    assert has(lakes.view_at("lake", at), "t")
    assert not has(lakes.view_at("lake", at), "later")


def test_a_version_may_be_later_than_the_snapshot_of_the_transaction(catalog: LakeCatalog) -> None:
    lakes = lakes_of(catalog, Clock())
    add_table(catalog, "later")
    assert has(lakes.view_at("lake", TimeTravel(version=catalog.latest().snapshot_id)), "later")


def test_a_clause_is_resolved_once_in_a_statement(catalog: LakeCatalog) -> None:
    clock = Clock()
    lakes = lakes_of(catalog, clock)
    assert lakes.view_at("lake", NOW) is lakes.view_at("lake", NOW)
    assert len(clock.queries) == 1
    first = TimeTravel(version=0)
    assert lakes.view_at("lake", first) is lakes.view_at("lake", TimeTravel(version=0))
    with pytest.raises(NotFoundError, match="snapshot"):
        lakes.view_at("lake", TimeTravel(timestamp="'1999-01-01'"))
