"""The example shop: the steps of `make demo`, compared with DuckDB, and a build whose test fails, which publishes nothing."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.factory import reset_adapters
from dbt.tests.util import run_dbt_and_capture

from tests.interop.other_process import OtherProcess
from tests.places import CatalogPlace

SHOP = Path(__file__).parents[2] / "examples/shop"
BUILT = shutil.ignore_patterns("target", "logs", "*.parquet", "*.json", "shop.sqlite*", "data")
"""Leaves out what the demo makes."""
DELIVERED = """
    SELECT order_id, customer_id, ordered_at, arg_max(status, landed_day) AS status, max(landed_day) AS landed_day
    FROM lake.landing.orders GROUP BY ALL
"""
EXPECTED = {
    "orders": f"""
        SELECT order_id, customer_id, ordered_at, status, count(*), sum(quantity * unit_price), any_value(o.landed_day)
        FROM ({DELIVERED.replace("GROUP BY ALL", "GROUP BY order_id, customer_id, ordered_at")}) o
        JOIN lake.landing.order_items USING (order_id) GROUP BY ALL""",
    "open_orders": "SELECT order_id, customer_id, ordered_at, amount FROM lake.shop.orders WHERE status = 'placed'",
    "daily_sales": """
        SELECT CAST(ordered_at AS date), region, count(*), sum(amount) FROM lake.shop.orders JOIN lake.shop.customers USING (customer_id)
        WHERE status <> 'returned' GROUP BY ALL""",
    "price_changes": """
        SELECT product_code, product, old, price, dbt_valid_from FROM (
            SELECT *, lag(price) OVER (PARTITION BY product_code ORDER BY dbt_valid_from) AS old FROM lake.shop.price_history
        ) WHERE old IS NOT NULL""",
}
"""What DuckDB computes for a table from the landed rows or from other marts."""
COUNTS = "SELECT (SELECT count(*) FROM lake.shop.orders), (SELECT count(*) FROM lake.shop.open_orders), (SELECT count(*) FROM lake.shop.customers)"
DAY_1, DAY_2 = (300, 30, 60), (340, 50, 65)


def steps(text: str) -> list[list[str]]:
    """Return the commands of a script that call dbt or Python, without comments and the flag --quiet."""
    lines = [line for line in text.splitlines() if re.match(r"(dbt|python) ", line)]
    return [[word for word in shlex.split(line, comments=True) if word != "--quiet"] for line in lines]


DEMO = steps((SHOP / "demo.sh").read_text(encoding="utf-8"))


def test_the_readme_has_the_steps_of_the_demo() -> None:
    block = (SHOP / "README.md").read_text(encoding="utf-8").split("```")[1]
    assert steps(block) == DEMO
    assert DEMO.count(["dbt", "build"]) == 2


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the example without a lake, as the current folder. Its adapter is removed, or the next test would use its profile."""
    shutil.copytree(SHOP, tmp_path, dirs_exist_ok=True, ignore=BUILT)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    reset_adapters()


def run(command: list[str], passes: bool = True) -> str:
    """Run a command of the demo and return its output."""
    if command[0] == "dbt":
        landing = f"landing: {Path.cwd()}/landing"  # this process's Spark was started in another folder
        return str(
            run_dbt_and_capture([*command[1:], "--vars", landing, "--project-dir", ".", "--profiles-dir", "."], expect_pass=passes)[1]
        )
    done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(duckdb: OtherProcess) -> None:
    """Assert that the tables are what DuckDB computes from their inputs."""
    for table, query in EXPECTED.items():
        assert sorted(duckdb.query(f"FROM lake.shop.{table}")) == sorted(duckdb.query(query)), table


def snapshots(duckdb: OtherProcess) -> list[Any]:
    return duckdb.query("SELECT snapshot_id, commit_message FROM ducklake_snapshots('lake') WHERE snapshot_id > 0 ORDER BY 1")


def read_while_the_second_day_is_built(shop: Path, duckdb: OtherProcess, commands: list[list[str]]) -> None:
    build = commands.index(["dbt", "build"])
    published = [(1, "files of day 1 landed"), (2, "dbt build")]
    assert snapshots(duckdb) == published
    assert duckdb.query(COUNTS) == [DAY_1]
    check(duckdb)

    for command in commands[:build]:
        run(command)
    published += [(3, "files of day 2 landed"), (4, "prices from the second day on")]
    failing = shop / "tests" / "no_orders_of_day_2.sql"
    failing.write_text("select order_id from {{ ref('open_orders') }} where order_id > 300")
    with duckdb.watching(COUNTS) as seen:
        output = run(["dbt", "build"], passes=False)
    assert "Nothing was published: 1 of" in output
    assert "no_orders_of_day_2" in output
    assert "shop.open_orders" in output.split("It would have changed", 1)[1]
    assert set(map(tuple, seen)) == {(DAY_1,)}
    assert snapshots(duckdb) == published

    failing.write_text("select order_id from {{ ref('open_orders') }} where order_id > 340")
    with duckdb.watching(COUNTS) as seen:
        run(commands[build])
    assert set(map(tuple, seen)) <= {(DAY_1,), (DAY_2,)}
    assert duckdb.query(COUNTS) == [DAY_2]
    assert snapshots(duckdb) == [*published, (5, "dbt build")]
    check(duckdb)

    failing.unlink()
    changes, report, shown = (run(command) for command in commands[build + 1 :])
    assert "rows by order_id: 40 added, 0 removed, 21 changed" in changes
    assert "order_id = 260: status shipped → returned" in changes
    assert "ducklake_report.html" in report
    assert "model.shop.open_orders" in (shop / "target" / "ducklake_report.html").read_text(encoding="utf-8")
    assert "change feed of snapshot 5" in shown


@pytest.mark.slow
@pytest.mark.nightly
def test_the_demo_and_a_failed_test_on_its_second_day(shop: Path) -> None:
    first = DEMO.index(["dbt", "build"]) + 1
    for command in DEMO[:first]:
        run(command)
    with OtherProcess(CatalogPlace(f"ducklake:sqlite:{shop}/lake/shop.sqlite", f"{shop}/lake/data/")) as duckdb:
        read_while_the_second_day_is_built(shop, duckdb, DEMO[first:])
