"""Whole dbt commands: retry, defer, freshness by a column, ranges of microbatch; the errors of nodes with wrong configs; and new fields of structs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

BROKEN = "{{ config(materialized='table') }} select id, assert_true(id > 5) as sure from {{ ref('base') }}"
FIXED = BROKEN.replace("> 5", "> -5")


@pytest.mark.manifest_file
class TestRuns(OnALake):
    """One project. Each test restores the models that it changes."""

    @pytest.fixture(scope="class")
    def profiles_config_update(self, dbt_profile_target, unique_schema):
        default = {**dbt_profile_target, "schema": unique_schema}
        return {"test": {"outputs": {"default": default, "mine": {**default, "schema": f"{unique_schema}_mine"}}, "target": "default"}}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "base.sql": "{{ config(materialized='table', file_format='delta', zorder='id') }} select id from range(3)",
            "middle.sql": BROKEN,
            "last.sql": "select count(*) as n from {{ ref('middle') }}",
            "keyed.sql": "{{ config(materialized='incremental', unique_key='nosuch', enabled=var('keyed', false)) }} select 1 as id",
        }

    def test_retry_continues_with_the_failed_node(self, project, lake, logs_dir):
        results, output = run_dbt_and_capture(["run"], expect_pass=False)
        assert {result.node.name: result.status for result in results} == {"base": "success", "middle": "error", "last": "skipped"}
        assert output.count("The config `file_format` does nothing on a lake: tables of a lake are Parquet.") == 1
        log = Path(logs_dir, "dbt.log").read_text()
        for text in (output, log):
            assert "[USER_RAISED_EXCEPTION]" in text
            assert "org.apache.spark" not in text
            assert "\tat " not in text
        before = self.newest(lake)
        write_file(FIXED, project.project_root, "models", "middle.sql")
        assert [result.node.name for result in run_dbt(["retry"])] == ["middle", "last"]
        assert len(self.since(lake, before)) == 2, "only middle and last must be built again"

    @pytest.mark.usefixtures("project")
    def test_a_schema_that_exists_is_not_created(self):
        results, output = run_dbt_and_capture(["--debug", "run", "--select", "base"])
        assert [result.status for result in results] == ["success"]
        assert "create schema" not in output.lower()

    def test_defer_reads_relations_of_another_target(self, project, lake):
        write_file(FIXED, project.project_root, "models", "middle.sql")
        run_dbt(["run"])
        state = Path(project.project_root, "state")
        shutil.copytree(Path(project.project_root, "target"), state, dirs_exist_ok=True)
        mine = f"{project.test_schema}_mine"
        run_dbt(["run", "--target", "mine", "--select", "last", "--defer", "--state", str(state)])
        assert lake.reader().find(mine, "last") is not None
        assert lake.reader().find(mine, "middle") is None
        assert project.run_sql(f"select n from {mine}.last", fetch="one") == (3,)
        project.run_sql(f"create table {mine}.middle as select 1 as id")
        for more, count in (((), 1), (("--favor-state",), 3)):
            run_dbt(["run", "--target", "mine", "--select", "last", "--defer", "--state", str(state), *more])
            assert project.run_sql(f"select n from {mine}.last", fetch="one") == (count,)
        write_file(FIXED + " -- changed", project.project_root, "models", "middle.sql")
        found = run_dbt(["ls", "--select", "state:modified", "--state", str(state), "--resource-type", "model"])
        assert found == ["test.middle"]

    @pytest.mark.usefixtures("project")
    def test_the_first_build_warns_of_a_key_that_is_not_a_column(self):
        _, output = run_dbt_and_capture(["run", "--select", "keyed", "--vars", "keyed: true"])
        assert "unique_key: nosuch is not a column of" in output
        assert "the columns are: id" in output


REFUSED = {"filtered": "row_filter", "secured": "view_security", "watched": "lf_grants", "doubled": "grants"}
"""Nodes → the config of access that each has."""
OF_ACCESS = "{{ config(__MORE__, unenforced_access=var('access', 'error')) }} select 1 as id"
WATCHED = OF_ACCESS.replace("__MORE__", "unique_key='id', strategy='check', check_cols='all', lf_grants={'x': 1}")
DOUBLED = """
functions:
  - name: doubled
    config: {grants: {select: [me]}, unenforced_access: "{{ var('access', 'error') }}"}
    arguments: [{name: n, data_type: int}]
    returns: {data_type: int}
"""
KINDS = ("table", "view", "incremental")
SEVERAL = "{{ config(materialized='__KIND__') }} select 1 as a {{ var('rest', '') }}"


@pytest.mark.nightly
class TestRefusedNodes(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "filtered.sql": OF_ACCESS.replace("__MORE__", "materialized='table', row_filter='f'"),
            "secured.sql": OF_ACCESS.replace("__MORE__", "materialized='view', view_security='invoker'"),
            **{f"several_{kind}.sql": SEVERAL.replace("__KIND__", kind) for kind in KINDS},
        }

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"watched.sql": f"{{% snapshot watched %}}{WATCHED}{{% endsnapshot %}}"}

    @pytest.fixture(scope="class")
    def functions(self):
        return {"doubled.sql": "2 * n", "doubled.yml": DOUBLED}

    @pytest.mark.usefixtures("project")
    def test_a_config_of_access_is_refused_before_anything_is_built_unless_told_otherwise(self, lake):
        command, before = ["build", "--select", *REFUSED], self.newest(lake)
        results = run_dbt(command, expect_pass=False)
        assert {result.node.name: result.message.partition("cannot enforce ")[2].partition(": ")[0] for result in results} == REFUSED
        assert self.since(lake, before) == []
        _, output = run_dbt_and_capture([*command, "--vars", "access: warn"])
        assert [output.count(f"A lake cannot enforce {config}: ") for config in REFUSED.values()] == [1] * len(REFUSED)
        assert len(self.since(lake, before)) == len(REFUSED)

    @pytest.mark.usefixtures("project")
    def test_a_model_of_two_statements_is_refused_and_changes_nothing(self, lake):
        command = ["run", "--select", *(f"several_{kind}" for kind in KINDS)]

        def refuse() -> None:
            before = self.newest(lake)
            results = run_dbt([*command, "--vars", "rest: '; select 2 as b'"], expect_pass=False)
            assert ["The model has 2 statements" in result.message for result in results] == [True] * len(KINDS)
            assert self.since(lake, before) == []

        refuse()
        run_dbt(command)
        refuse()  # the table and the view are replaced now, and the increment has a strategy


SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    config: {freshness: {warn_after: {count: 1, period: day}}}
    tables:
      - {name: instants, identifier: events, config: {loaded_at_field: at}}
      - {name: wall_clock, identifier: events, config: {loaded_at_field: "cast(wall as timestamp)"}}
      - {name: days, identifier: events, config: {loaded_at_field: "cast(day as timestamp)", freshness: {warn_after: {count: 1, period: day}, filter: "id < 2"}}}
      - {name: by_query, identifier: events, config: {loaded_at_query: "select max(at) + interval '1' hour from {{ this }}"}}
"""
EVENTS = """
    create or replace table {schema}.events as select id, timestamp '2026-01-01 00:00:00' + make_interval(0, 0, 0, id) as at,
    timestamp_ntz '2026-01-01 00:00:00' + make_interval(0, 0, 0, id) as wall, date '2026-01-01' + cast(id as int) as day from range(4)
"""
BATCHES = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day', begin='2026-01-01', lookback=1) }}
select id, at, '{{ var("run") }}' as run from {{ source('raw', 'instants') }}
"""


class TestTimes(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": SOURCES.replace("loaded_at_field: at}", "loaded_at_field: at, event_time: at}"), "batches.sql": BATCHES}

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, "spark": {**dbt_profile_target["spark"], "config": {"spark.sql.session.timeZone": "UTC"}}}

    def test_freshness_by_columns_and_queries(self, project):
        project.run_sql(EVENTS.replace("{schema}", project.test_schema))
        run_dbt(["source", "freshness"])
        found = json.loads(Path(project.project_root, "target", "sources.json").read_text())["results"]
        assert {result["unique_id"].rpartition(".")[2]: (result["status"], result["max_loaded_at"][:19]) for result in found} == {
            "instants": ("warn", "2026-01-04T00:00:00"),
            "wall_clock": ("warn", "2026-01-04T00:00:00"),
            "days": ("warn", "2026-01-02T00:00:00"),
            "by_query": ("warn", "2026-01-04T01:00:00"),
        }

    def test_a_range_of_batches_and_late_rows(self, project, lake):
        project.run_sql(EVENTS.replace("{schema}", project.test_schema))

        def batches(run: str, start: str, end: str) -> list[tuple[object, ...]]:
            span = ["--event-time-start", start, "--event-time-end", end]
            run_dbt(["run", "--select", "batches", "--vars", f"run: {run}", *span])
            return sorted(project.run_sql(f"select id, run from {project.test_schema}.batches", fetch="all"))

        assert batches("a", "2026-01-01", "2026-01-04") == [(0, "a"), (1, "a"), (2, "a")]
        project.run_sql(f"insert into {project.test_schema}.events (id, at) values (7, timestamp '2026-01-02 12:00:00')")
        assert batches("b", "2026-01-02", "2026-01-03") == [(0, "a"), (1, "b"), (2, "a"), (7, "b")], (
            "only that day must change, and its late row must be included"
        )
        before = self.newest(lake)
        assert batches("c", "2026-01-03", "2026-01-05") == [(0, "a"), (1, "b"), (2, "c"), (3, "c"), (7, "b")]
        assert len(self.since(lake, before)) == 2, "each batch must be one snapshot"


NESTED = """
{{ config(materialized='incremental', unique_key='id', on_schema_change='append_new_columns') }}
select {{ var("id") }} as id, {{ var("value") }} as s
"""


class TestNestedFields(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"nested.sql": NESTED}

    def test_a_struct_gets_the_fields_of_new_rows(self, project, lake):
        def run(number: int, value: str) -> None:
            run_dbt(["run", "--vars", json.dumps({"id": number, "value": value})])

        run(1, "named_struct('a', 1, 'inner', named_struct('x', 1))")
        before = self.newest(lake)
        run(2, "named_struct('a', 2, 'inner', named_struct('x', 2, 'y', 'new'), 'b', date '2026-01-01')")
        assert len(self.since(lake, before)) == 1
        query = f"select id, s.a, s.inner.x, s.inner.y, cast(s.b as string) from {project.test_schema}.nested order by id"
        assert project.run_sql(query, fetch="all") == [(1, 1, 1, None, None), (2, 2, 2, "new", "2026-01-01")]
