"""dbt-labs/jaffle-shop-classic, unchanged: built twice with eight threads; every table and view equals the result of dbt-duckdb.

The project is not part of this repository. `JAFFLE_SHOP` names the folder of a checkout:

    git clone https://github.com/dbt-labs/jaffle-shop-classic && JAFFLE_SHOP=jaffle-shop-classic pytest tests/acceptance
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
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


def test_two_builds_equal_those_of_dbt_duckdb(project: Project, same_rows: Callable[[str, Rows, Rows], None]) -> None:
    shutil.copytree(Path(os.environ["JAFFLE_SHOP"]), project.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    outputs: dict[str, dict[str, object]] = {
        "ours": project.ducklake("jaffle", threads=8),
        "theirs": {"type": "duckdb", "path": "theirs.duckdb", "schema": "jaffle", "threads": 1},
    }
    project.write_profiles("jaffle_shop", outputs, target="ours")
    project.dbt("build", "--target", "theirs")
    theirs = duckdb.connect(str(project.folder / "theirs.duckdb"), read_only=True)

    for run in (1, 2):
        project.dbt("build", "--threads", "8")
        lake = project.attach()
        for name in RELATIONS:
            expected = theirs.sql(f"SELECT * FROM jaffle.{name}")
            found = lake.sql(f"SELECT * FROM lake.jaffle.{name}")
            assert found.columns == expected.columns, name
            same_rows(f"{name} after run {run}", found.fetchall(), expected.fetchall())
        lake.close()
