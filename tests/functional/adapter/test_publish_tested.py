"""`publish: tested`: a node becomes visible as its own snapshot when its own data tests have passed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

from dbt import selected_resources
from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.interop.other_process import OtherProcess
from tests.places import CatalogPlace
from tests.postgres import fresh_database

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
SINGULAR = {
    "enough.sql": "select * from {{ ref('report') }} where n < 2",
    "no_result.sql": "{{ config(enabled=var('no_result', false), fail_calc='max(id)') }} select id from {{ ref('untested') }} where id < 0",
}


class PublishedByNode(OnALake):
    """A project whose nodes are snapshots of their own."""

    def published(self, lake: LakeCatalog, since: int) -> list[str]:
        """Return the name of the node of each snapshot."""
        found = [json.loads(record.extra_info or "{}").get("node_id", "") for record in self.since(lake, since)]
        return [node.split(".", 2)[-1] for node in found if node]

    def statuses(self, results) -> dict[str, str]:
        return {result.node.name: str(result.status) for result in results if result.node.resource_type == "model"}


class TestNodesAfterTheirTests(PublishedByNode):
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

        selected_resources.set_selected_resources(set())  # as in a new process, since `dbt retry` leaves it as it is
        before = self.newest(lake)
        _, log = run_dbt_and_capture(["retry"], expect_pass=False)
        assert [name for name in self.published(lake, before) if "." not in name] == []
        assert "orders was not published: accepted_values_orders_v__a__b failed" in log
        assert len(self.rows(project, "orders")) == 2

        project.run_sql(f"update {project.test_schema}.given set id = 3, v = 'a' where v = 'wrong'")
        selected_resources.set_selected_resources(set())
        before = self.newest(lake)
        run_dbt(["retry"], expect_pass=False)  # `early` is published with the wrong row
        nodes = [name for name in self.published(lake, before) if "." not in name]
        assert sorted(nodes) == ["orders", "report", "shop"]
        assert len(self.rows(project, "orders")) == 3

    def test_a_test_of_two_nodes_holds_back_only_the_one_that_declares_it(self, project, lake):
        write_file("id,v\n1,a\n2,b\n", project.project_root, "seeds", "given.csv")  # so that no other test fails first
        before = self.newest(lake)
        results, log = run_dbt_and_capture(["build", "--vars", "without: b"], expect_pass=False)
        nodes = [name for name in self.published(lake, before) if "." not in name]
        assert "customers" in nodes
        assert "orders" not in nodes
        assert "relationships_orders_v__v__ref_customers_ failed" in log
        assert self.statuses(results)["orders"] == "skipped"
        assert self.rows(project, "customers") == [("a",)]

    def test_a_test_without_a_result_does_not_publish_its_node(self, lake):
        before = self.newest(lake)
        results, log = run_dbt_and_capture(["build", "--vars", "no_result: true", "--select", "untested"], expect_pass=False)
        (test,) = [result for result in results if result.node.name == "no_result"]
        assert str(test.status) == "error"
        assert "None is not of type 'integer'" in test.message
        assert "untested was not published: no_result has no result" in log
        assert self.published(lake, before) == []

    def test_run_without_tests_publishes_at_once(self, lake):
        before = self.newest(lake)
        run_dbt(["run"])
        assert sorted(self.published(lake, before)) == ["customers", "early", "orders", "report", "shop", "untested"]

    def test_publish_on(self, project, lake):
        write_file("id,v\n1,a\n2,b\n9,b\n", project.project_root, "seeds", "given.csv")
        before = self.newest(lake)
        _, log = run_dbt_and_capture(
            ["build", "--vars", "{ducklake_publish_on: success, name: checked_2}", "--select", "given", "early", "untested", "checked"],
            expect_pass=False,
        )
        assert sorted(self.published(lake, before)) == ["early", "given", "untested"]
        assert "checked was not published: accepted_values_checked_id__False__1__2__3 warned, and publish_on is success" in log

    @pytest.mark.parametrize("option", ["--populate-cache", "--no-populate-cache"])
    def test_a_config_that_contradicts_the_command_is_refused(self, project, lake, option):
        before = self.newest(lake)
        Path(project.project_root, "models", "alone.sql").write_text("{{ config(publish='run') }} select 1 as a")
        with pytest.raises(Exception, match="`publish: run` does not fit this command, whose `publish` is tested: alone"):
            run_dbt(["build", option])
        assert self.newest(lake) == before
        run_dbt(["build", "--vars", "ducklake_publish: node", "--select", "alone"])
        Path(project.project_root, "models", "alone.sql").unlink()


WATCHED = {
    "customers.sql": "{{ config(materialized='table') }} select distinct v from {{ ref('given') }}",
    "orders.sql": "{{ config(materialized='incremental', unique_key='id') }} select id, v from {{ ref('given') }}",
    "report.sql": "{{ config(materialized='table') }} select count(*) as n, max(id) as last from {{ ref('orders') }}",
    "shown.sql": "select n from {{ ref('report') }}",
    "apart.sql": "{{ config(materialized='incremental') }} select count(*) as n from {{ ref('given') }}",
    "schema.yml": """
models:
  - name: customers
    columns: [{name: v, data_tests: [not_null, unique]}]
  - name: orders
    columns: [{name: v, data_tests: [not_null, {accepted_values: {arguments: {values: [a, b]}}}]}]
  - name: report
    columns: [{name: n, data_tests: [not_null]}]
""",
}


@pytest.mark.nightly
class TestReaders(PublishedByNode):
    """DuckDB reads the lake again and again, in another process, while eight threads build, test and publish.

    The tests above check the same snapshots without a reader.
    """

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, "threads": 8, "publish": "tested"}

    @pytest.fixture(scope="class")
    def models(self):
        return WATCHED

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"given.csv": "id,v\n1,a\n2,b\n"}

    @pytest.fixture
    def duckdb(self, project: TestProjInfo) -> Iterator[OtherProcess]:
        credentials = project.adapter.config.credentials
        with OtherProcess(CatalogPlace(credentials.path, credentials.data_path)) as other:
            yield other

    @staticmethod
    def state(schema: str, version: str = "") -> str:
        """Return a query of the rows of given, customers and orders, of the wrong ones in orders, and of what report and apart have counted."""
        counts = (
            *(f"SELECT count(*) FROM lake.{schema}.{name} {version}" for name in ("given", "customers", "orders")),
            f"SELECT count(*) FROM lake.{schema}.orders {version} WHERE v = 'wrong'",
            *(f"SELECT max(n) FROM lake.{schema}.{name} {version}" for name in ("report", "apart")),
        )
        return f"SELECT {', '.join(f'({each})' for each in counts)}"

    def build(self, project: TestProjInfo, lake: LakeCatalog, duckdb: OtherProcess, rows: str, passes: bool) -> tuple[list[str], Any, str]:
        """Build with this seed while DuckDB reads, and assert that each state that it has seen is that of a snapshot.

        Returns:
            The names of the published nodes, dbt's results, and the log.
        """
        before = self.newest(lake)
        write_file(f"id,v\n{rows}", project.project_root, "seeds", "given.csv")
        with duckdb.watching(self.state(project.test_schema)) as seen:
            results, log = run_dbt_and_capture(["build"], expect_pass=passes)
        states = [
            duckdb.query(self.state(project.test_schema, f"AT (VERSION => {version})")) for version in range(before, self.newest(lake) + 1)
        ]
        assert seen
        assert all(each in states for each in seen)
        assert seen == sorted(seen, key=states.index), "no state came back"
        for ((given, _, orders, wrong, report, apart),) in states:
            assert report <= orders <= given >= apart
            assert wrong == 0
        return self.published(lake, before), results, log

    def test_readers_see_a_node_only_after_its_tests(self, project, lake, duckdb):
        before = self.newest(lake)
        run_dbt(["build"])
        assert sorted(self.published(lake, before)) == ["apart", "customers", "given", "orders", "report", "shown"]
        assert duckdb.query(self.state(project.test_schema)) == [(2, 2, 2, 0, 2, 2)]

        nodes, results, log = self.build(project, lake, duckdb, "1,a\n2,b\n3,wrong\n", passes=False)
        assert sorted(nodes) == ["apart", "customers", "given"]
        assert "orders was not published: accepted_values_orders_v__a__b failed" in log
        assert {name for name, status in self.statuses(results).items() if status == "skipped"} == {"orders", "report", "shown"}
        assert duckdb.query(self.state(project.test_schema)) == [(3, 3, 2, 0, 2, 3)]
        orphans = "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true, dry_run => true)"
        assert duckdb.query(orphans) == []

        nodes, _, _ = self.build(project, lake, duckdb, "1,a\n2,b\n3,a\n4,b\n", passes=True)
        assert sorted(nodes) == ["apart", "customers", "given", "orders", "report"]  # the view is the same as before
        assert nodes.index("given") < nodes.index("orders") < nodes.index("report")
        assert duckdb.query(self.state(project.test_schema)) == [(4, 2, 4, 0, 4, 4)]


@pytest.mark.postgres
class TestReadersOnPostgreSQL(TestReaders):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, postgres_server):
        with fresh_database(postgres_server) as url:
            yield {**dbt_profile_target, "path": url, "threads": 8, "publish": "tested"}


class TestAppendingHooks(PublishedByNode):
    """Nodes that log to one table and read it; a test of the first reads the second, which is built, and tested before, from staged rows."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, "publish": "tested"}

    @pytest.fixture(scope="class")
    def models(self):
        hook = "post_hook='insert into {{ this.schema }}.log select count(*) from {{ this.schema }}.log'"
        return {
            "one.sql": f"{{{{ config(materialized='table', {hook}) }}}} select 1 as a",
            "two.sql": f"{{{{ config(materialized='table', {hook}) }}}} select a from {{{{ ref('one') }}}}",
            "schema.yml": """
unit_tests:
  - name: two_copies_one
    model: two
    given: [{input: ref('one'), rows: [{a: 5}]}]
    expect: {rows: [{a: 5}]}
""",
        }

    @pytest.fixture(scope="class")
    def tests(self):
        return {"same.sql": "select a from {{ ref('one') }} except select a from {{ ref('two') }}"}

    def test_both_nodes_are_published_with_what_each_has_read(self, project, lake):
        project.run_sql("create table {schema}.log (n bigint)")
        before = self.newest(lake)
        assert {result.node.name for result in run_dbt(["build"])} >= {"one", "two", "same", "two_copies_one"}
        assert sorted(self.published(lake, before)) == ["one", "two"]
        assert self.rows(project, "log") == [(0,), (1,)]
