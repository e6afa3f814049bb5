"""dbt.tests.adapter.dbt_clone, with each kind of clone; clones that share files, of nodes and of a whole schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseClone,
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)
from dbt.tests.util import run_dbt, run_dbt_and_capture

from tests.duckdb_instances import open_duckdb

pytestmark = pytest.mark.manifest_file


class TestClonesAreViews(BaseCloneNotPossible):
    pass


@pytest.mark.nightly
class TestClonesAreTables(BaseClonePossible):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """Copy tables, as the project configures it."""
        copied = {"+clone_as": "table"}
        return {"models": copied, "seeds": {**copied, "test": {"quote_columns": False}}, "snapshots": copied}


class TestClonesShareFiles(BaseClonePossible):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """Share files, as the project configures it."""
        shared = {"+clone_as": "shared"}
        return {"models": shared, "seeds": {**shared, "test": {"quote_columns": False}}, "snapshots": shared}


ORDERS = """
{{ config(materialized='incremental', unique_key='id', partition_by='day', clone_as=var('clone_as', 'shared'), commit_message='orders built') }}
select id, 'v' || id as v, date'2026-01-01' as day from range({{ var('first', 0) }}, {{ var('first', 0) + 1000 }})
"""
OPEN = """
{{ config(materialized='incremental', incremental_strategy='changes', unique_key='id', clone_as='shared') }}
select id, v, _change_type from {{ ducklake_changes(ref('orders')) }}
"""
RECENT = "{{ config(materialized='view', clone_as=var('clone_as', 'shared')) }} select count(*) as n from {{ ref('orders') }}"


class TestSharedClones(BaseClone):
    @pytest.fixture(scope="class")
    def models(self):
        return {"orders.sql": ORDERS, "open_orders.sql": OPEN, "recent.sql": RECENT}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {}

    @pytest.fixture(scope="class")
    def macros(self):
        return {}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {}

    @pytest.fixture(scope="class")
    def duckdb(self, project: Any) -> Any:
        connection = open_duckdb("ducklake", "sqlite_scanner")
        connection.execute(f"ATTACH '{project.adapter.config.credentials.path}' AS lake")
        connection.execute("USE lake")
        yield connection
        connection.close()

    @pytest.fixture(scope="class")
    def built(self, project: Any) -> None:  # noqa: ARG002 (writes the models)
        """The models after their first run."""
        run_dbt(["run"])

    def count(self, duckdb: Any, *names: str) -> list[int]:
        return [duckdb.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names]

    def files(self, duckdb: Any, schema: str, table: str) -> set[int]:
        """Return the identities of a table's files on the disk."""
        listed = duckdb.execute(f"SELECT data_file FROM ducklake_list_files('lake', '{table}', schema => '{schema}')").fetchall()
        return {Path(path).stat().st_ino for (path,) in listed}

    @pytest.mark.usefixtures("built")
    def test_a_development_environment_starts_from_clones(self, project: Any, unique_schema: str, other_schema: str, duckdb: Any) -> None:
        self.copy_state(project.project_root)
        prod, dev = unique_schema, other_schema
        to_dev = ["--state", "state", "--target", "otherschema"]
        results = run_dbt(["clone", *to_dev])
        assert {result.status for result in results} == {"success"}
        assert self.files(duckdb, prod, "orders") == self.files(duckdb, dev, "orders")
        assert duckdb.execute(f"SELECT count(*) FROM {dev}.orders WHERE day = DATE '2026-01-01'").fetchone() == (1000,)
        types = duckdb.execute(f"SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = '{dev}' ORDER BY 1")
        assert types.fetchall() == [("open_orders", "BASE TABLE"), ("orders", "BASE TABLE"), ("recent", "VIEW")]
        created = f"SELECT commit_message FROM lake.snapshots() WHERE list_contains(changes['tables_created'], '{dev}.orders')"
        assert duckdb.execute(created).fetchall() == [("orders built",)]

        # The incremental models continue from the clones; the change model has not read the changes of its new input.
        _, output = run_dbt_and_capture(["run", "--target", "otherschema", "--vars", "first: 500"])
        assert "open_orders` must be built from all rows, because it has not read changes before" in output
        assert self.count(duckdb, f"{prod}.orders", f"{dev}.orders", f"{prod}.open_orders", f"{dev}.open_orders") == [
            1000,
            1500,
            1000,
            1500,
        ]
        assert duckdb.execute(f"SELECT n FROM {dev}.recent").fetchone() == (1500,)
        assert duckdb.execute(f"SELECT n FROM {prod}.recent").fetchone() == (1000,)

        run_dbt(["clone", *to_dev, "--select", "orders"])  # it exists
        assert self.count(duckdb, f"{dev}.orders") == [1500]
        run_dbt(["clone", *to_dev, "--select", "orders", "--full-refresh"])
        assert self.count(duckdb, f"{dev}.orders") == [1000]
        run_dbt(["clone", *to_dev, "--select", "orders", "--full-refresh", "--vars", "clone_as: view"])
        run_dbt(["clone", *to_dev, "--select", "orders", "--full-refresh"])  # replaces the view
        assert self.files(duckdb, prod, "orders") == self.files(duckdb, dev, "orders")

        results = run_dbt(["clone", *to_dev, "--select", "orders", "recent", "--vars", "clone_as: deep"], expect_pass=False)
        assert len(results) == 2
        for result in results:
            assert "clone_as is 'deep'; it may be 'view', 'table' or 'shared'" in result.message, result.node.name

    @pytest.mark.nightly
    def test_models_of_a_cloned_schema_continue_from_their_positions(self, unique_schema: str, other_schema: str, duckdb: Any) -> None:
        run_dbt(["run", "--full-refresh"])
        duckdb.execute(f"DROP SCHEMA IF EXISTS {other_schema} CASCADE")
        arguments = ["run-operation", "ducklake_clone", "--args", f"{{schema: {unique_schema}, into: {other_schema}}}"]
        run_dbt(arguments)
        select = ["--select", "orders", "open_orders"]
        _, output = run_dbt_and_capture(["run", *select, "--target", "otherschema", "--vars", "first: 500"])
        assert "must be built from all rows" not in output
        assert self.count(duckdb, f"{unique_schema}.open_orders", f"{other_schema}.open_orders") == [1000, 1500]

        # An input that has changed since the position is another one: its clone has no snapshot of the position.
        duckdb.execute(f"INSERT INTO {unique_schema}.orders VALUES (5000, 'new', NULL)")
        duckdb.execute(f"DROP SCHEMA {other_schema} CASCADE")
        run_dbt(arguments)
        _, output = run_dbt_and_capture(["run", *select, "--target", "otherschema", "--vars", "first: 500"])
        assert "open_orders` must be built from all rows, because it has not read changes before" in output
        assert self.count(duckdb, f"{other_schema}.orders", f"{other_schema}.open_orders") == [1501, 1501]

    @pytest.mark.usefixtures("built")
    def test_a_table_and_a_schema_are_cloned_by_an_operation(self, unique_schema: str, duckdb: Any) -> None:

        def clone(*, fails: bool = False, **arguments: Any) -> str:
            return run_dbt_and_capture(["run-operation", "ducklake_clone", "--args", repr(arguments)], expect_pass=not fails)[1]

        assert "1 cloned" in clone(table="orders", into="dev_anna")
        assert "1 cloned" in clone(table_name="orders", schema=unique_schema, into="dev_anna.orders_copy", database="lake")
        assert self.count(duckdb, "dev_anna.orders", "dev_anna.orders_copy") == self.count(duckdb, f"{unique_schema}.orders") * 2
        assert "3 cloned, 0 left out" in clone(schema=unique_schema, into="pr-7")
        assert self.files(duckdb, "pr-7", "orders") == self.files(duckdb, unique_schema, "orders")
        assert "dev_anna.orders already exists" in clone(table="orders", into="dev_anna", fails=True)
        assert "1 cloned" in clone(table="orders", into="dev_anna", replace=True)
        assert "schema dev_anna is not empty (orders, orders_copy)" in clone(schema=unique_schema, into="dev_anna", fails=True)
        assert "ducklake_clone needs into" in clone(table="orders", fails=True)
        assert "ducklake_clone needs table_name or schema" in clone(into="dev", fails=True)


class TestCloneSameSourceAndTarget(BaseCloneSameSourceAndTarget):
    pass


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass
