"""`publish: tested`: a node becomes visible as its own snapshot when its own data tests have passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from tests.functional.adapter.test_one_node_one_snapshot import OnALake

MODELS = {
    "untested.sql": "{{ config(materialized='table') }} select id, v from {{ ref('given') }}",
    "customers.sql": "{{ config(materialized='table') }} select distinct v from {{ ref('given') }} where v <> '{{ var('without', '') }}'",
    "orders.sql": "{{ config(materialized='incremental', unique_key='id') }} select id, v from {{ ref('given') }}",
    "checked.sql": "{{ config(materialized='view') }} select id, v as {{ var('name', 'v') }} from {{ ref('untested') }}",
    "between.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('orders') }}",
    "report.sql": "{{ config(materialized='table') }} select count(*) as n from {{ ref('between') }}",
    "shop.sql": "{{ config(materialized='table') }} select n, v from {{ ref('report') }} cross join {{ ref('customers') }}",
    "early.sql": "{{ config(materialized='table', publish='node') }} select id from {{ ref('given') }}",
    "schema.yml": """
models:
  - name: customers
    columns: [{name: v, data_tests: [not_null, unique]}]
  - name: orders
    columns:
      - name: v
        data_tests:
          - accepted_values:
              arguments: {values: [a, b]}
              config: {store_failures: true}
          - relationships: {arguments: {to: "ref('customers')", field: v}}
  - name: checked
    columns: [{name: id, data_tests: [{accepted_values: {arguments: {values: [1, 2, 3], quote: false}, config: {severity: warn}}}]}]
  - name: early
    columns: [{name: id, data_tests: [{accepted_values: {arguments: {values: [1, 2, 3], quote: false}}}]}]
""",
}
SINGULAR = {"enough.sql": "select * from {{ ref('report') }} where n < 2"}


class TestNodesAfterTheirTests(OnALake):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, "publish": "tested"}

    @pytest.fixture(scope="class")
    def models(self):
        return MODELS

    @pytest.fixture(scope="class")
    def tests(self):
        return SINGULAR

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"given.csv": "id,v\n1,a\n2,b\n"}

    def published(self, lake: LakeCatalog, since: int) -> list[str]:
        """Return the name of the node of each snapshot."""
        found = [json.loads(record.extra_info or "{}").get("node_id", "") for record in self.since(lake, since)]
        return [node.split(".", 2)[-1] for node in found if node]

    def statuses(self, results) -> dict[str, str]:
        return {result.node.name: str(result.status) for result in results if result.node.resource_type == "model"}

    def test_each_node_is_published_when_its_tests_have_passed(self, project, lake):
        before = self.newest(lake)
        results, log = run_dbt_and_capture(["build"])
        assert {str(result.status) for result in results} == {"success", "pass"}
        assert "was not published" not in log
        nodes = [name for name in self.published(lake, before) if "." not in name]
        assert sorted(nodes) == ["checked", "customers", "early", "given", "orders", "report", "shop", "untested"]
        assert nodes[0] == "given"
        assert nodes.index("customers") < nodes.index("orders") < nodes.index("report") < nodes.index("shop")
        assert self.rows(project, "report") == [(2,)]
        assert self.rows(project, "shop") == [(2, "a"), (2, "b")]

    def test_a_failed_test_discards_its_node_and_what_is_built_on_it(self, project, lake):
        before = self.newest(lake)
        write_file("id,v\n1,a\n2,b\n4,wrong\n", project.project_root, "seeds", "given.csv")
        results, log = run_dbt_and_capture(["build"], expect_pass=False)
        nodes = [name for name in self.published(lake, before) if "." not in name]
        assert sorted(nodes) == ["customers", "early", "given", "untested"]  # the view is the same as before
        assert "orders was not published: accepted_values_orders_v__a__b failed" in log
        statuses = self.statuses(results)
        assert (statuses["orders"], statuses["report"], statuses["customers"]) == ("skipped", "skipped", "success")
        assert len(self.rows(project, "orders")) == 2
        assert len(self.rows(project, "customers")) == 3
        audit = f"{project.test_schema}_dbt_test__audit.accepted_values_orders_v__a__b"
        assert project.run_sql(f"select value_field from {audit}", fetch="all") == [("wrong",)]

        project.run_sql(f"update {project.test_schema}.given set id = 3, v = 'a' where v = 'wrong'")
        before = self.newest(lake)
        run_dbt(["retry"], expect_pass=False)  # `early` is published with the wrong row
        nodes = [name for name in self.published(lake, before) if "." not in name]
        assert sorted(nodes) == ["orders", "report", "shop"]
        assert len(self.rows(project, "orders")) == 3

    def test_a_test_of_two_nodes_holds_back_only_the_one_that_declares_it(self, project, lake):
        before = self.newest(lake)
        results, log = run_dbt_and_capture(["build", "--vars", "without: b"], expect_pass=False)
        nodes = [name for name in self.published(lake, before) if "." not in name]
        assert "customers" in nodes
        assert "orders" not in nodes
        assert "relationships_orders_v__v__ref_customers_ failed" in log
        assert self.statuses(results)["orders"] == "skipped"
        assert self.rows(project, "customers") == [("a",), ("wrong",)]

    def test_run_without_tests_publishes_at_once(self, project, lake):
        before = self.newest(lake)
        run_dbt(["run"])
        assert sorted(self.published(lake, before)) == ["customers", "early", "orders", "report", "shop", "untested"]

    def test_publish_on(self, project, lake):
        write_file("id,v\n1,a\n2,b\n9,b\n", project.project_root, "seeds", "given.csv")
        before = self.newest(lake)
        _, log = run_dbt_and_capture(
            ["build", "--vars", "{publish_on: success, name: checked_2}", "--select", "given", "early", "untested", "checked"],
            expect_pass=False,
        )
        assert sorted(self.published(lake, before)) == ["early", "given", "untested"]
        assert "checked was not published: accepted_values_checked_id__False__1__2__3 warned, and publish_on is success" in log

    def test_a_config_that_contradicts_the_command_is_refused(self, project, lake):
        before = self.newest(lake)
        Path(project.project_root, "models", "alone.sql").write_text("{{ config(publish='run') }} select 1 as a")
        with pytest.raises(Exception, match="`publish: run` does not fit this command, whose `publish` is tested: alone"):
            run_dbt(["build"])
        assert self.newest(lake) == before
        run_dbt(["build", "--vars", "publish: node", "--select", "alone"])
        Path(project.project_root, "models", "alone.sql").unlink()
