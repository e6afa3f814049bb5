"""Nodes that conflict with a concurrent commit: they are planned again and report their final result."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from dbt.adapters.ducklake.connections import DuckLakeConnectionManager
from tests.functional.adapter.test_concurrent_batches import LOST, Place
from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.interop import oracle

UPSERTED = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', enabled=var('upserted', false),
    pre_hook="{{ 'select 1' if not var('asks', false) else count_rows() }}") }}
select cast(id as int) as id, '{{ var("run", "a") }}' as run from range({{ var('rows', 2) }})
"""
COUNT_ROWS = """
{% macro count_rows() %}
  {% if execute %}{% do run_query('select count(*) from ' ~ this) %}{% endif %}
  select 1
{% endmacro %}
"""
COUNTED = """
{{ config(materialized='table', post_hook="merge into {{ this.schema }}.counter as c using (select 1 as id) as s on c.id = s.id
    when matched then update set n = c.n + 1") }}
select %d as id
"""
NODES = 4


class TestConcurrentWriters(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"upserted.sql": UPSERTED, **{f"counted_{i}.sql": COUNTED % i for i in range(NODES)}}

    @pytest.fixture(scope="class")
    def macros(self):
        return {"count_rows.sql": COUNT_ROWS}

    @pytest.fixture
    def other(self, project, dbt_profile_target, monkeypatch):
        """A function that lets DuckDB insert a row once, when the next node is about to commit."""

        def insert_before_the_commit(number: int) -> None:
            commit, done = DuckLakeConnectionManager.commit, []

            def commit_after_the_insert(manager: DuckLakeConnectionManager) -> None:
                open_ones = manager.handle().session._transactions
                if open_ones is not None and open_ones.written_files() and not done:
                    done.append(True)
                    place = Place(str(dbt_profile_target["path"]), str(dbt_profile_target["data_path"]))
                    with oracle.connect(place, data_inlining_row_limit=0) as theirs:
                        theirs.execute(f"INSERT INTO lake.{project.test_schema}.upserted VALUES ({number}, 'theirs')")
                commit(manager)

            monkeypatch.setattr(DuckLakeConnectionManager, "commit", commit_after_the_insert)

        return insert_before_the_commit

    def test_a_merge_reports_its_final_result(self, project, lake, other):
        run_dbt(["run", "--select", "upserted", "--vars", "{upserted: true}"])
        other(3)
        (result,), output = run_dbt_and_capture(["run", "--select", "upserted", "--vars", "{upserted: true, rows: 4, run: b}"])
        assert LOST in output, output
        response = result.adapter_response
        assert response["_message"] == "MERGE 1 inserted, 3 updated"
        assert response["rows_affected"] == 4
        assert response["snapshot_id"] == self.newest(lake)
        assert response["files_written"] > 0
        assert result.message == "MERGE 1 inserted, 3 updated"
        assert self.rows(project, "upserted") == [(id_, "b") for id_ in range(4)]

    def test_a_node_whose_answer_changed_fails(self, project, other):
        other(9)
        (result,) = run_dbt(["run", "--select", "upserted", "--vars", "{upserted: true, rows: 12, run: c, asks: true}"], expect_pass=False)
        assert "The transaction was not replayed, because a result that the caller received has changed" in result.message
        assert self.rows(project, "upserted") == [*((id_, "b") for id_ in range(4)), (9, "theirs")]

    def test_no_update_of_a_hook_is_lost(self, project):
        project.run_sql(f"create table {project.test_schema}.counter as select 1 as id, 0 as n")
        results = run_dbt(["run", "--threads", str(NODES), "--exclude", "upserted"])
        assert [result.status for result in results] == ["success"] * NODES
        assert self.rows(project, "counter") == [(1, NODES)]
