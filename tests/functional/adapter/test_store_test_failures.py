"""dbt.tests.adapter.store_test_failures_tests."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.store_test_failures_tests.basic import (
    StoreTestFailuresAsExceptions,
    StoreTestFailuresAsGeneric,
    StoreTestFailuresAsInteractions,
    StoreTestFailuresAsProjectLevelEphemeral,
    StoreTestFailuresAsProjectLevelOff,
    StoreTestFailuresAsProjectLevelView,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import BaseStoreTestFailures, BaseStoreTestFailuresLimit
from dbt.tests.util import run_dbt, write_file

from dbt.adapters.ducklake.format.objects import View
from tests.functional.adapter.test_one_node_one_snapshot import OnALake


class TestInteractions(StoreTestFailuresAsInteractions):
    pass


class TestProjectLevelOff(StoreTestFailuresAsProjectLevelOff):
    pass


class TestProjectLevelView(StoreTestFailuresAsProjectLevelView):
    pass


class TestProjectLevelEphemeral(StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestGeneric(StoreTestFailuresAsGeneric):
    pass


class TestExceptions(StoreTestFailuresAsExceptions):
    pass


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass


class TestStoredFailures(OnALake):
    """The failures of a test replace those of its last run, as the rows of a model do."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"t.sql": "{{ config(materialized='table') }} select explode(array(1, 2)) as a"}

    @pytest.fixture(scope="class")
    def tests(self):
        return {f"{name}.sql": f"select a from {{{{ ref('t') }}}} where a > {limit}" for name, limit in (("some", 1), ("none_", 9))}

    def test_they_are_one_snapshot_in_which_the_table_stays(self, project, lake):
        def stored(name):
            return lake.reader().find(f"{project.test_schema}_dbt_test__audit", name)

        def run_test(name, *arguments):
            """Return the number of snapshots of a test's run."""
            before = self.newest(lake)
            run_dbt(["test", "--select", name, "--store-failures", *arguments], expect_pass=name == "none_")
            return len(self.since(lake, before))

        run_dbt(["run"])
        assert run_test("some") == 2, "the schema, and the table"
        table = stored("some")
        assert run_test("some") == 1
        assert stored("some").table_id == table.table_id
        assert (run_test("none_"), run_test("none_")) == (1, 0), "there were no failures, and there are none"

        write_file(
            "{{ config(store_failures_as='view') }} select a from {{ ref('t') }} where a > 1", project.project_root, "tests", "some.sql"
        )
        assert (run_test("some"), run_test("some")) == (1, 0), "the view replaces the table, and is unchanged then"
        assert isinstance(stored("some"), View)
