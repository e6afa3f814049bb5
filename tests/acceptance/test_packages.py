"""dbt packages with their own integration tests, unchanged, or with a small project of ours; the known failures with their reasons.

The packages are not part of this repository. `DBT_PACKAGES` names a folder with a checkout of each (`checkouts.py`); docs/packages.md has the
commits and the results.

    make packages PACKAGES=/tmp/packages && DBT_PACKAGES=/tmp/packages pytest tests/acceptance/test_packages.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.checkouts import PACKAGES
from tests.acceptance.package_cases import CASES, Case
from tests.acceptance.package_runs import checkout, run, uncalled, views_in_duckdb
from tests.acceptance.projects import Project, Rows
from tests.acceptance.spark_builds import build_with_spark
from tests.acceptance.target_types import comparisons, macros_for_databricks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("DBT_PACKAGES" not in os.environ, reason="NOT RUN: set DBT_PACKAGES to the folder of `make packages`"),
]

PAGE = Path(__file__).parents[2] / "docs/packages.md"
HERE = Path(__file__).parent / "package_projects"
EFFECTIVE = """
SELECT order_key, customer_key, strftime(start_date, '%d'), year(end_date) = 9999, day(s.load_dt) FROM lake.packages.{} s
JOIN lake.packages.hub_order USING (order_pk) JOIN lake.packages.hub_customer USING (customer_pk) ORDER BY ALL
"""
OPEN = [(1, "c1", "01", True, 1), (1, "c2", "02", True, 2), (2, "c1", "01", True, 1), (3, "c2", "02", True, 2)]
ORDER = "FROM lake.packages.{} t JOIN lake.packages.hub_order o USING (order_pk)"
CUSTOMER = "JOIN lake.packages.link_order ON order_customer_pk = link_order_pk JOIN lake.packages.hub_customer USING (customer_pk)"
SATELLITE = [(1, "open", 1), (1, "paid", 2), (2, "open", 1), (3, "open", 2), (3, "paid", 3)]
VAULT = {
    "hub_order": ("SELECT order_key, day(load_dt) FROM lake.packages.{} ORDER BY ALL", [(1, 1), (2, 1), (3, 2)]),
    "hub_customer": ("SELECT customer_key, day(load_dt) FROM lake.packages.{} ORDER BY ALL", [("c1", 1), ("c2", 2)]),
    "link_order": ("SELECT count(DISTINCT order_customer_pk) FROM lake.packages.{}", [(4,)]),
    "nh_order": (
        f"SELECT order_key, round(amount)::INT, day(t.load_dt) {ORDER} ORDER BY ALL",
        [(1, 11, 1), (1, 11, 2), (2, 20, 1), (3, 30, 2)],
    ),
    "sat_order": (f"SELECT order_key, status, day(t.load_dt) {ORDER} ORDER BY ALL", SATELLITE),
    "sat_by_period": (f"SELECT order_key, status, day(t.load_dt) {ORDER} ORDER BY ALL", SATELLITE),
    "sat_by_rank": (f"SELECT order_key, status, day(t.load_dt) {ORDER} ORDER BY ALL", SATELLITE),
    "ma_order": (f"SELECT order_key, status, day(t.load_dt) {ORDER} ORDER BY ALL", SATELLITE),
    "eff_order": (EFFECTIVE, sorted([*OPEN, (1, "c1", "01", False, 2)])),
    "eff_manual": (EFFECTIVE, OPEN),
    "xts_order": (f"SELECT order_key, day(t.load_dt) {ORDER} ORDER BY ALL", [(1, 1), (1, 2), (2, 1), (3, 2), (3, 3)]),
    "pit_order": (f"SELECT order_key, day(sat_order_ldts) {ORDER} ORDER BY ALL", [(1, 2), (2, 1), (3, 3)]),
    "bridge_order": (f"SELECT order_key, customer_key {ORDER} {CUSTOMER} ORDER BY ALL", [(1, "c2"), (2, "c1"), (3, "c2")]),
    "ref_status": ("SELECT status, day(load_dt) FROM lake.packages.{} ORDER BY ALL", [("open", 1), ("paid", 2)]),
}
"""For each table of the vault of automate_dv, a query and the rows after the three loads."""
SCALEFREE_ORDER = "FROM lake.packages.{} t JOIN lake.packages.hub_order o USING (order_h) WHERE order_key > 0 ORDER BY ALL"
SCALEFREE_LINK = "FROM lake.packages.{} t JOIN lake.packages.link_order l USING (order_customer_l)"
SCALEFREE_HUBS = "JOIN lake.packages.hub_order o ON o.order_h = l.order_h JOIN lake.packages.hub_customer c ON c.customer_h = l.customer_h WHERE order_key > 0"
SCALEFREE_VAULT = {
    "hub_order": ("SELECT order_key, day(ldts) FROM lake.packages.{} WHERE order_key > 0 ORDER BY ALL", [(1, 1), (2, 1), (3, 2)]),
    "hub_customer": (
        "SELECT customer_key, day(ldts) FROM lake.packages.{} WHERE customer_key LIKE 'c_' ORDER BY ALL",
        [("c1", 1), ("c2", 2)],
    ),
    "nh_link_order": (
        f"SELECT order_key, customer_key, day(t.ldts) {SCALEFREE_LINK} {SCALEFREE_HUBS} ORDER BY ALL",
        [(1, "c1", 1), (1, "c2", 2), (2, "c1", 1), (3, "c2", 2)],
    ),
    "eff_sat_link_v0": (
        f"SELECT order_key, customer_key, day(t.ldts), t.is_active::INT {SCALEFREE_LINK} {SCALEFREE_HUBS} ORDER BY ALL",
        [(1, "c1", 1, 1), (1, "c1", 2, 0), (1, "c2", 2, 1), (1, "c2", 3, 0), (2, "c1", 1, 1), (2, "c1", 2, 0), (3, "c2", 2, 1)],
    ),
    "sat_order_v0": (f"SELECT order_key, status, day(t.ldts) {SCALEFREE_ORDER}", SATELLITE),
    "ma_sat_order_v0": (f"SELECT order_key, status, day(t.ldts) {SCALEFREE_ORDER}", SATELLITE),
    "nh_sat_customer": (
        "SELECT customer_key, day(ldts) FROM lake.packages.{} WHERE customer_key LIKE 'c_' ORDER BY ALL",
        [("c1", 1), ("c2", 2)],
    ),
    "rec_track_order": (f"SELECT order_key, day(t.ldts) {SCALEFREE_ORDER}", [(1, 1), (1, 2), (2, 1), (3, 2), (3, 3)]),
    "ref_hub_status": ("SELECT status, day(ldts) FROM lake.packages.{} WHERE len(status) = 4 ORDER BY ALL", [("open", 1), ("paid", 2)]),
    "ref_sat_status_v0": (
        "SELECT status, day(order_date), day(ldts) FROM lake.packages.{} WHERE status IN ('open', 'paid') ORDER BY ALL",
        [("open", 1, 1), ("open", 2, 2), ("paid", 2, 2), ("paid", 3, 3)],
    ),
}
"""The same for datavault4dbt, which is by Scalefree. The queries leave out its ghost records."""


def check(project: Project, case: Case, tests: Path | None = None) -> None:
    """Run a case, and assert that its nodes, the views that DuckDB reads and the macros for Databricks that are not called are those listed."""
    passed, failed = run(project, case, tests)
    assert (failed, passed) == (set(case.failed), case.passed)
    if case.views is not None:
        read, errors = views_in_duckdb(project)
        assert (set(errors), read) == (set(case.unread), case.views), errors
    if case.uncalled is not None:
        assert uncalled(project, case.package) == set(case.uncalled)


@pytest.mark.parametrize("name", CASES)
def test_own_tests_of_a_package(project: Project, tmp_path: Path, same_rows: Callable[[str, Rows, Rows], None], name: str) -> None:
    case = CASES[name]
    check(project, case)
    if case.spark:
        theirs = build_with_spark(project, tmp_path / "theirs", case)
        with project.attach() as lake:
            tables = lake.execute("SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'lake'").fetchall()
            assert set(tables) == set(theirs)
            for schema, table in tables:
                stable = f"SELECT COLUMNS(c -> NOT regexp_matches(c, '{case.timed}')) FROM "
                found = lake.sql(f'{stable} lake."{schema}"."{table}"')
                expected = lake.sql(f"{stable} read_parquet('{theirs[schema, table]}')")
                assert found.columns == expected.columns, table
                same_rows(table, found.fetchall(), expected.fetchall())
    if name == "hubspot":
        senders = rows(project, "SELECT DISTINCT from_email FROM lake.hubspot_integration_tests_hubspot.stg_hubspot__email_event_sent")
        assert sorted(senders) == sorted(rows(project, 'SELECT DISTINCT "from" FROM lake.hubspot_integration_tests.email_event_sent_data'))
        assert len(senders) == 3


def rows_of_page(width: int) -> dict[str, tuple[int, ...]]:
    """Return the numbers between the name of a package and the last cell, in the tables of this width."""
    cells = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return {row[0]: tuple(map(int, row[1:-1])) for row in cells if row[0] in PACKAGES and len(row) == width}


def test_the_page_has_the_comparisons_of_the_target_type() -> None:
    assert rows_of_page(5) == {name: found for name in PACKAGES if any(found := comparisons(checkout(name)))}


def test_the_page_has_the_number_of_macros_for_databricks() -> None:
    assert rows_of_page(3) == {name: (found,) for name in PACKAGES if (found := macros_for_databricks(checkout(name)))}


# -- packages without tests of their own that run elsewhere: small projects -----------------------------------------------------------


def rows(project: Project, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query that DuckDB runs on the lake."""
    with project.attach() as duckdb:
        return duckdb.execute(query).fetchall()


def assert_rows(project: Project, expected: dict[str, tuple[str, list[tuple[Any, ...]]]]) -> None:
    """Assert that the query of each table returns the expected rows."""
    assert {name: rows(project, query.format(name)) for name, (query, _) in expected.items()} == {
        name: found for name, (_, found) in expected.items()
    }


def test_automate_dv_loads_a_vault_in_three_runs(project: Project) -> None:
    """Its temporary relations are created by their identifier and read by their schema, in the materializations by period and by rank."""
    builds = [("build", "--vars", f"{{loads: {day}}}") for day in (1, 2, 3)]
    unset = dict.fromkeys(("hash_alg_sha1", "hash_alg_sha256"), "the variable `hash` chooses md5")
    case = Case("automate_dv", 18, needs=["dbt_utils"], target_type="databricks", commands=builds, views=2, uncalled=unset)
    check(project, case, HERE / "automate_dv")
    assert_rows(project, VAULT)


def test_datavault4dbt_loads_a_vault_in_three_runs(project: Project) -> None:
    builds = [("build", "--vars", f"{{loads: {day}}}") for day in (1, 2, 3)]
    check(project, Case("datavault4dbt", 20, target_type="databricks", commands=builds), HERE / "datavault4dbt")
    assert_rows(project, SCALEFREE_VAULT)


def test_elementary_stores_results_of_its_tests(project: Project) -> None:
    case = Case("elementary", 46, needs=["dbt_utils"], target_type="spark", commands=[("build",), ("build",)])
    check(project, case, HERE / "elementary")
    stored = rows(project, "SELECT count(*), count(*) FILTER (status = 'error') FROM lake.packages_elementary.elementary_test_results")
    assert stored[0][0] >= 20
    assert stored[0][1] == 0
