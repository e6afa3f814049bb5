"""A node with its hooks and comments is one snapshot that records its origin. A node that fails leaves no changes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, write_file

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.read.history import SnapshotRecord
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings


class OnALake:
    """A project, and the history of its lake in the catalog."""

    @pytest.fixture
    def lake(self, project: TestProjInfo) -> Iterator[LakeCatalog]:
        catalog = LakeCatalog.open(CatalogSettings(project.adapter.config.credentials.path))
        yield catalog
        catalog.close()

    @staticmethod
    def newest(lake: LakeCatalog) -> int:
        return lake.latest().snapshot_id

    @staticmethod
    def since(lake: LakeCatalog, snapshot_id: int) -> list[SnapshotRecord]:
        return lake.snapshots(after=snapshot_id)

    @staticmethod
    def rows(project: TestProjInfo, table: str) -> list[tuple[object, ...]]:
        return sorted(project.run_sql(f"select * from {project.test_schema}.{table}", fetch="all"))


DOCUMENTED = """
{{ config(
    pre_hook=["create table {{ this.schema }}.log (what string)", "insert into {{ this.schema }}.log values ('before')"],
    post_hook="insert into {{ this.schema }}.log select 'after ' || count(*) from {{ this }}",
    persist_docs={'relation': true, 'columns': true},
    materialized='table',
) }}
select 1 as id, 'a' as name
"""
DOCUMENTED_YML = """
models:
  - name: documented
    description: "What it's for"
    columns: [{name: id, description: The key}]
"""


class TestHooksAndComments(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"documented.sql": DOCUMENTED, "schema.yml": DOCUMENTED_YML}

    def test_table_rows_hooks_and_comments_are_one_snapshot(self, project, lake):
        before = self.newest(lake)
        (result,) = run_dbt(["run"]).results

        (record,) = self.since(lake, before)
        assert result.adapter_response["snapshot_id"] == record.snapshot.snapshot_id
        assert result.adapter_response["rows_affected"] == 1
        assert self.rows(project, "log") == [("after 1",), ("before",)]
        table = lake.reader().find(project.test_schema, "documented")
        assert table.comment == "What it's for"
        assert [column.comment for column in table.columns] == ["The key", None]


class TestFailure(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "outside.sql": "{{ config(materialized='table', pre_hook={'sql': 'create table {{ this.schema }}.kept (a int)', 'transaction': false}) }} select 1 as a",
            "failing.sql": "{{ config(materialized='table', post_hook='insert into {{ this.schema }}.no_such_table values (1)') }} select 1 as a -- {{ ref('outside') }}",
        }

    def test_a_failing_hook_leaves_no_changes_of_its_node(self, project, lake):
        before = self.newest(lake)
        results = run_dbt(["run"], expect_pass=False)

        assert [result.status for result in results] == ["success", "error"]
        assert "no_such_table does not exist" in results[1].message
        assert lake.reader().find(project.test_schema, "failing") is None
        made = [record.changes_made for record in self.since(lake, before)]
        assert len(made) == 2, "the hook outside the transaction is a snapshot of its own"
        assert "kept" in made[0]
        assert "outside" in made[1]


class TestProvenance(OnALake):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, "author": "the nightly job"}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "plain.sql": "{{ config(materialized='table') }} select 1 as a",
            "configured.sql": """{{ config(materialized='table', commit_author='me', commit_message="{{ this.identifier }} on {{ target.name }}",
                commit_extra_info={'ticket': 7, 'of': '{{ this.identifier }}'}) }}
                select 1 as a -- {{ ref('plain') }}""",
            "called.sql": """{{ config(materialized='table', pre_hook="call lake.set_commit_message('you', 'by hand')") }}
                select 1 as a -- {{ ref('configured') }}""",
        }

    def test_a_snapshot_records_its_origin(self, lake):
        before = self.newest(lake)
        run_dbt(["run"])

        plain, configured, called = self.since(lake, before)
        assert (plain.author, plain.message) == ("the nightly job", "dbt run model.test.plain")
        extra = json.loads(plain.extra_info)
        assert extra["node_id"] == "model.test.plain"
        assert extra["target"] == "default"
        assert extra["invocation_id"]
        assert extra["dbt_version"].startswith("1.")
        assert extra["dbt_ducklake_version"]
        assert (configured.author, configured.message) == ("me", "configured on default")
        more = json.loads(configured.extra_info)
        assert (more["ticket"], more["of"], more["node_id"]) == (7, "configured", "model.test.configured")
        assert (called.author, called.message) == ("you", "by hand")


class TestRebuild(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"t.sql": "{{ config(materialized='table') }} select 1 as a", "v.sql": "select a from {{ ref('t') }}"}

    def test_a_replaced_table_keeps_its_identity(self, project, lake):
        run_dbt(["run"])
        first = lake.reader().find(project.test_schema, "t")
        before = self.newest(lake)
        write_file("{{ config(materialized='table') }} select 2 as a, 'x' as b", project.project_root, "models", "t.sql")
        run_dbt(["run"])

        (record,) = self.since(lake, before)
        again = lake.reader().find(project.test_schema, "t")
        assert again.table_id == first.table_id
        assert again.columns[0].column_id == first.columns[0].column_id
        assert self.rows(project, "t") == [(2, "x")]
        assert "altered_table" in record.changes_made

    def test_a_table_replaces_a_view_in_one_snapshot(self, project, lake):
        write_file("{{ config(materialized='table') }} select a from {{ ref('t') }}", project.project_root, "models", "v.sql")
        before = self.newest(lake)
        run_dbt(["run", "--select", "v"])

        assert len(self.since(lake, before)) == 1
        assert self.rows(project, "v") == [(2,)]


OPERATIONS = """
{% macro by_statement() %}
  {% call statement('x') %} create table {{ target.schema }}.by_statement as select 1 as a {% endcall %}
{% endmacro %}
{% macro by_query() %}
  {% do run_query('create table ' ~ target.schema ~ '.by_query (a int); insert into ' ~ target.schema ~ '.by_query values (1), (2)') %}
{% endmacro %}
{% macro half() %}
  {% do run_query('create table ' ~ target.schema ~ '.half (a int); insert into ' ~ target.schema ~ '.missing values (1)') %}
{% endmacro %}
{% macro together() %}
  {% do run_query('begin') %}
  {% do run_query('create table ' ~ target.schema ~ '.one (a int)') %}
  {% do run_query('create table ' ~ target.schema ~ '.two (a int)') %}
  {% do run_query('commit') %}
{% endmacro %}
{% macro grants() %}{% do adapter.warn_once('once') %}{% do adapter.warn_once('once') %}{% endmacro %}
"""


class TestRunOperation(OnALake):
    @pytest.fixture(scope="class")
    def macros(self):
        return {"operations.sql": OPERATIONS}

    def test_a_statement_commits(self, project):
        run_dbt(["run-operation", "by_statement"])

        assert self.rows(project, "by_statement") == [(1,)]

    def test_statements_of_one_text_are_one_snapshot(self, project, lake):
        before = self.newest(lake)
        run_dbt(["run-operation", "by_query"])

        assert len(self.since(lake, before)) == 1
        assert self.rows(project, "by_query") == [(1,), (2,)]

    def test_statements_of_one_text_fail_together(self, lake):
        before = self.newest(lake)
        run_dbt(["run-operation", "half"], expect_pass=False)

        assert self.newest(lake) == before

    def test_an_operation_can_use_begin_and_commit(self, lake):
        before = self.newest(lake)
        run_dbt(["run-operation", "together"])

        (record,) = self.since(lake, before)
        assert record.changes_made.count("created_table") == 2
