"""Statements and configs as dbt packages write them: temporary relations in several spellings, partitions in dbt-bigquery's form."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

BY_STEPS = """
{% materialization by_steps, default %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = load_relation(this) -%}
  {{ run_hooks(pre_hooks) }}
  {% if existing is none %}
    {% call statement('main') %}{{ create_table_as(False, target, sql) }}{% endcall %}
  {% else %}
    {% for step in range(2) %}
      {% set plain = make_temp_relation(target) %}
      {% call statement() %}{{ create_table_as(True, plain, sql ~ ' where 1 = 1') }}{% endcall %}
      {{ adapter.expand_target_column_types(from_relation=plain, to_relation=target) }}
      {% set columns = adapter.get_columns_in_relation(plain.include(schema=True)) | map(attribute='quoted') | join(', ') %}
      {% call statement('main', fetch_result=True) %}
        insert into {{ target }} ({{ columns }}) (select {{ columns }} from {{ plain.include(schema=True) }});
      {% endcall %}
      {% do adapter.commit() %}
    {% endfor %}
    {% set kept = default__make_temp_relation(target, '__kept') %}
    {% do run_query(create_table_as(True, kept, 'select 7 as id')) %}
    {% call statement() %}insert into {{ target }} select id from {{ kept }} union all select id from {{ kept.include(database=True, schema=True) }}{% endcall %}
    {% set incorporated = this.incorporate(path={'schema': none, 'identifier': 'alone'}) %}
    {% do run_query(create_table_as(True, incorporated, 'select 8 as id')) %}
    {% call statement() %}insert into {{ target }} select id from {{ incorporated }}{% endcall %}
    {% call statement() %}drop view {{ kept.include(schema=True) }}{% endcall %}
    {% do adapter.drop_relation(make_temp_relation(target).include(schema=True)) %}
  {% endif %}
  {{ run_hooks(post_hooks) }}
  {% do adapter.commit() %}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
"""


class TestTemporaryRelations(OnALake):
    @pytest.fixture(scope="class")
    def macros(self):
        return {"by_steps.sql": BY_STEPS}

    @pytest.fixture(scope="class")
    def models(self):
        return {"stepped.sql": "{{ config(materialized='by_steps') }} select id from (values (1)) as v(id)"}

    def test_temporary_relations_can_be_read_in_every_spelling(self, project):
        for _ in range(2):
            run_dbt(["run"])
        assert self.rows(project, "stepped") == [(1,), (1,), (1,), (7,), (7,), (8,)]
        write_file("select * from {{ ref('stepped') }} where id = 1", "models", "later.sql")
        run_dbt(["run", "--select", "later"])  # another node's session has none of them
        assert self.rows(project, "later") == [(1,), (1,), (1,)]


WITHOUT_COMMIT = """
{% materialization without_commit, adapter='spark' %}
  {% set target = this.incorporate(type='table') %}
  {% call statement('create') %}create table if not exists {{ target }} (id int){% endcall %}
  {% call statement('main') %}insert into {{ target }} {{ sql }}{% endcall %}
  {% if config.get('fails') %}{% do exceptions.raise_compiler_error('it fails') %}{% endif %}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
"""


class TestMaterializationsOfSpark(OnALake):
    @pytest.fixture(scope="class")
    def macros(self):
        return {"without_commit.sql": WITHOUT_COMMIT}

    @pytest.fixture(scope="class")
    def models(self):
        model = "{{ config(materialized='without_commit', fails=__FAILS__, __MORE__) }} select 1 as id"
        return {
            "inserted.sql": model.replace("__FAILS__", "false").replace("__MORE__", "location_root='/etc'"),
            "failed.sql": model.replace("__FAILS__", "true").replace("__MORE__", ""),
            "filtered.sql": model.replace("__FAILS__", "false").replace("__MORE__", "row_filter='f'"),
        }

    def test_a_materialization_commits_one_snapshot_unless_it_fails(self, project, lake):
        before = self.newest(lake)
        results, output = run_dbt_and_capture(["run"], expect_pass=False)
        assert self.rows(project, "inserted") == [(1,)]
        assert {"failed", "filtered"}.isdisjoint(row[1] for row in project.run_sql("show tables in {schema}", fetch="all"))
        assert len(self.since(lake, before)) == 1
        assert {result.node.name: "A lake cannot enforce row_filter" in result.message for result in results}["filtered"]
        assert output.count("The config `location_root` does nothing on a lake") == 1


DAYS = """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=__MAP__, cluster_by=['id']) }}
{% if is_incremental() %}
select 30 as id, __TIME__'2026-01-02 00:00:00' as at
{% else %}
select id, at from (values (10, __TIME__'2026-01-01 01:00:00'), (20, __TIME__'2026-01-02 02:00:00'), (21, __TIME__'2026-02-02 03:00:00')) as v(id, at)
{% endif %}
"""


BY_DAY = """
{{ config(materialized='incremental', partition_by={'field': 'at', 'data_type': 'timestamp', 'granularity': 'day'}, unique_key=__KEY__) }}
{% if is_incremental() %}
select 10 as id, timestamp'2026-01-02 00:00:00' as at
{% else %}
select id, at from (values (10, timestamp'2026-01-01 01:00:00'), (20, timestamp'2026-01-02 02:00:00')) as v(id, at)
{% endif %}
"""


def days(partition: dict[str, object], kind: str) -> str:
    return DAYS.replace("__MAP__", str(partition)).replace("__TIME__", kind)


BATCHES = """
{{ config(
    materialized='incremental', incremental_strategy='microbatch', event_time='at', begin='2026-01-01', batch_size='day',
    partition_by={'field': 'at', 'data_type': 'datetime', 'granularity': 'day'}
) }}
select * from {{ ref('events') }}
"""


class TestPartitionsOfBigQuery(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        by_date = {"field": "at", "data_type": "date"}
        return {
            "dates.sql": days(by_date, "date")
            .replace(" 00:00:00", "")
            .replace(" 01:00:00", "")
            .replace(" 02:00:00", "")
            .replace(" 03:00:00", ""),
            "times.sql": days({"field": "at", "data_type": "timestamp", "granularity": "day"}, "timestamp"),
            "months.sql": days({"field": "at", "data_type": "timestamp", "granularity": "month"}, "timestamp"),
            "events.sql": "{{ config(event_time='at') }} select 1 as id, timestamp'2026-01-01 05:00:00' as at",
            "batches.sql": BATCHES,
            "appended.sql": BY_DAY.replace("__KEY__", "none"),
            "merged.sql": BY_DAY.replace("__KEY__", "'id'"),
        }

    def test_without_a_strategy_rows_are_appended_or_merged_by_the_key(self, project):
        for _ in range(2):
            run_dbt(["run", "--select", "appended", "merged"])
        found = {name: [(key, f"{at:%d %H}") for key, at in self.rows(project, name)] for name in ("appended", "merged")}
        assert found["appended"] == [(10, "01 01"), (10, "02 00"), (20, "02 02")]
        assert found["merged"] == [(10, "02 00"), (20, "02 02")]

    def test_partitions_are_replaced_by_the_granularity(self, project):
        for _ in range(2):
            run_dbt(["run", "--select", "dates", "times", "months"])
        ids = {name: [row[0] for row in self.rows(project, name)] for name in ("dates", "times", "months")}
        assert ids == {"dates": [10, 21, 30], "times": [10, 21, 30], "months": [21, 30]}

    def test_a_microbatch_model_may_have_a_partition_map(self, project):
        command = ["run", "--select", "events", "batches", "--event-time-start", "2026-01-01", "--event-time-end", "2026-01-03"]
        run_dbt(command)
        run_dbt(command)
        assert [row[0] for row in self.rows(project, "batches")] == [1]

    @pytest.mark.parametrize(
        ("partition", "message"),
        [
            ({"field": "id", "data_type": "int64", "range": {"start": 0, "end": 9, "interval": 1}}, "no counterpart of range of the map"),
            ({"data_type": "date"}, "a map without a column as its `field`"),
            ({"field": "at", "granularity": "hour"}, "the granularity of a date is year, month, day, not hour"),
        ],
    )
    @pytest.mark.usefixtures("project")
    def test_unsupported_partition_maps_are_refused_by_name(self, partition, message):
        write_file(days(partition, "timestamp"), "models", "wrong.sql")
        (result,) = run_dbt(["run", "--select", "wrong"], expect_pass=False)
        assert message in result.message
        write_file("select 1 as id", "models", "wrong.sql")


class TestErrorMessages(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "twice.sql": "select 1 as a, 2 as A",
            "effective.sql": "{{ config(materialized='incremental') }} select 1 as effective_from, 2 as effective_from",
            "events.sql": "{{ config(event_time='at') }} select 1 as id, timestamp'2026-01-01 05:00:00' as at",
            "batches.sql": BATCHES.replace("select *", "select no_such_column, *"),
            "filtered.sql": BATCHES.replace("config(", "config(row_filter='f',"),
        }

    @pytest.mark.usefixtures("project")
    def test_a_view_with_two_columns_of_one_name_is_refused(self):
        (result,) = run_dbt(["run", "--select", "twice"], expect_pass=False)
        assert "twice has two columns A; give one of the two another name" in result.message

    @pytest.mark.usefixtures("project")
    def test_a_table_with_two_columns_of_one_name_is_refused(self):
        """An effectivity satellite of automate-dv has them if `src_start_date` and `src_eff` name the same column."""
        (result,) = run_dbt(["run", "--select", "effective"], expect_pass=False)
        assert "column effective_from is named twice; give one of the two another name" in result.message

    @pytest.mark.usefixtures("project")
    def test_the_output_has_the_error_of_a_batch(self):
        """dbt-core sets the message of the node to `ERROR` only: docs/configs/strategies/microbatch.md."""
        day = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-02"]
        results, output = run_dbt_and_capture(["run", "--select", "events", "batches", "filtered", *day], expect_pass=False)
        messages = {result.node.name: result.message for result in results}
        assert (messages["batches"], messages["filtered"]) == ("ERROR", "ERROR")
        assert "no_such_column" in output
        assert "A lake cannot enforce row_filter" in output
