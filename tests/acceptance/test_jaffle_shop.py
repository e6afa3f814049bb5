"""dbt-labs/jaffle-shop-classic, unchanged: built with eight threads; every table and view equals the result of dbt-duckdb.

The project is not part of this repository. `JAFFLE_SHOP` names the folder of a checkout (`checkouts.py`):

    make packages PACKAGES=/tmp/packages && JAFFLE_SHOP=/tmp/packages/jaffle-shop-classic pytest tests/acceptance/test_jaffle_shop.py
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from tests.acceptance.projects import Project, Rows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "JAFFLE_SHOP" not in os.environ,
        reason="NOT RUN: set JAFFLE_SHOP to a checkout of dbt-labs/jaffle-shop-classic",
    ),
]
RELATIONS = (
    "raw_customers",
    "raw_orders",
    "raw_payments",
    "stg_customers",
    "stg_orders",
    "stg_payments",
    "customers",
    "orders",
)


FAILING_TEST = "select order_id from {{{{ ref('orders') }}}} where order_id > {most}"


@pytest.fixture
def theirs(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    """Copy the project, build it with dbt-duckdb, and yield a connection to the expected rows."""
    shutil.copytree(Path(os.environ["JAFFLE_SHOP"]), project.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    ours = project.ducklake("jaffle", threads=8)
    outputs: dict[str, dict[str, object]] = {
        "ours": ours,
        "at_once": {**ours, "publish": "run"},
        "theirs": {"type": "duckdb", "path": "theirs.duckdb", "schema": "jaffle", "threads": 1},
    }
    project.write_profiles("jaffle_shop", outputs, target="ours")
    project.dbt("build", "--target", "theirs")
    with duckdb.connect(str(project.folder / "theirs.duckdb"), read_only=True) as connection:
        yield connection


def check(project: Project, theirs: duckdb.DuckDBPyConnection, same_rows: Callable[[str, Rows, Rows], None]) -> None:
    with project.attach() as lake:
        for name in RELATIONS:
            expected = theirs.sql(f"SELECT * FROM jaffle.{name}")
            found = lake.sql(f"SELECT * FROM lake.jaffle.{name}")
            assert found.columns == expected.columns, name
            same_rows(name, found.fetchall(), expected.fetchall())


def snapshots(project: Project) -> list[tuple[object, ...]]:
    with project.attach() as lake:
        return lake.sql("SELECT commit_message FROM lake.snapshots() ORDER BY snapshot_id").fetchall()


def relations(project: Project) -> set[tuple[object, ...]]:
    with project.attach() as lake:
        return set(lake.sql("SELECT table_name FROM information_schema.tables WHERE table_catalog = 'lake'").fetchall())


def test_two_builds_equal_those_of_dbt_duckdb(
    project: Project, theirs: duckdb.DuckDBPyConnection, same_rows: Callable[[str, Rows, Rows], None]
) -> None:
    for _ in range(2):
        project.dbt("build", "--threads", "8")
        check(project, theirs, same_rows)


def test_a_failed_test_publishes_nothing_and_a_corrected_one_publishes_one_snapshot(
    project: Project, theirs: duckdb.DuckDBPyConnection, same_rows: Callable[[str, Rows, Rows], None]
) -> None:
    project.dbt("run-operation", "ducklake_snapshots", "--target", "at_once")  # creates the lake
    before = snapshots(project)
    added = project.folder / "tests" / "few_orders.sql"
    added.parent.mkdir(exist_ok=True)
    added.write_text(FAILING_TEST.format(most=98), encoding="utf-8")
    output = project.dbt("build", "--target", "at_once", "--threads", "8", code=1)
    assert "Nothing was published: 1 of" in output
    assert "few_orders" in output
    assert snapshots(project) == before
    assert relations(project) == set()
    assert not list(project.folder.glob("data/**/*.parquet"))

    added.write_text(FAILING_TEST.format(most=99), encoding="utf-8")
    project.dbt("retry", "--target", "at_once", "--threads", "8")
    assert snapshots(project) == [*before, ("dbt build",)]
    assert relations(project) == {(name,) for name in RELATIONS}
    check(project, theirs, same_rows)
