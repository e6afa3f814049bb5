"""Structs whose fields come in another order, or with new ones, in later runs of incremental models and snapshots."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

PLACE = """
{% set run = var('run', 1) %}
{% if run == 1 %}named_struct('lat', 1, 'lng', 2)
{% elif run == 2 %}named_struct('lng', 2, 'lat', 1)
{% else %}named_struct('lng', 2, 'lat', 1, 'alt', 3){% endif %}
"""


class TestIncrementalModels:
    @pytest.fixture(scope="class")
    def models(self):
        config = "{{ config(materialized='incremental', unique_key='id', on_schema_change='sync_all_columns') }}"
        return {
            "plain.sql": f"{config} select {{{{ var('run', 1) }}}} as id, {PLACE} as place",
            "listed.sql": f"{config} select {{{{ var('run', 1) }}}} as id, array({PLACE}) as places",
        }

    def test_another_order_of_fields_is_no_change_and_with_new_fields_it_is_refused(self, project):
        run_dbt(["run"])
        results = run_dbt(["run", "--vars", "{run: 2}"])
        assert [result.status for result in results] == ["success"] * 2
        for place in ("place.lat, place.lng from {schema}.plain", "places[0].lat, places[0].lng from {schema}.listed"):
            assert project.run_sql(f"select id, {place} order by id", fetch="all") == [(1, 1, 2), (2, 1, 2)]
        results = run_dbt(["run", "--vars", "{run: 3}"], expect_pass=False)
        for result in results:
            assert "the values of others" in str(result.message), result.message
        assert project.run_sql("select id, place.lat, place.lng from {schema}.plain order by id", fetch="all") == [(1, 1, 2), (2, 1, 2)]


class TestSnapshots:
    @pytest.fixture(scope="class")
    def snapshots(self):
        fields = "'lat', {{ var('run', 1) }}{{ \", 'alt', 3\" if var('run', 1) > 1 }}"
        time = "cast('2020-01-0{{ var('run', 1) }}' as timestamp)"
        query = f"select 1 as id, named_struct({fields}) as place, {time} as at"
        return {
            "snapshots.sql": f"""
                {{% snapshot by_time %}}
                {{{{ config(unique_key='id', strategy='timestamp', updated_at='at') }}}}
                {query}
                {{% endsnapshot %}}
                {{% snapshot by_columns %}}
                {{{{ config(unique_key='id', strategy='check', check_cols=['at']) }}}}
                {query}
                {{% endsnapshot %}}
                {{% snapshot by_structs %}}
                {{{{ config(unique_key='id', strategy='check', check_cols=['place']) }}}}
                {query}
                {{% endsnapshot %}}
                {{% snapshot with_deletions %}}
                {{{{ config(unique_key='id', strategy='timestamp', updated_at='at', hard_deletes='new_record') }}}}
                {query}
                {{% endsnapshot %}}
                {{% snapshot turned %}}
                {{{{ config(unique_key='id', strategy='timestamp', updated_at='at', hard_deletes='new_record') }}}}
                select id, {{{{ "named_struct('lat', 1, 'lng', 2)" if var('run', 1) == 1 else "named_struct('lng', 2, 'lat', 1)" }}}} as place,
                {time} as at from range({{{{ 3 - var('run', 1) }}}})
                {{% endsnapshot %}}
            """,
        }

    def test_a_new_field_of_a_struct_is_added_to_the_snapshot(self, project):
        for number in (1, 2, 3):
            run_dbt(["snapshot", "--exclude", "turned", "--vars", f"{{run: {number}}}"])
        for name in ("by_time", "by_columns", "by_structs", "with_deletions"):
            query = f"select place.lat, place.alt, dbt_valid_to is null from {{schema}}.{name} order by place.lat"
            assert project.run_sql(query, fetch="all") == [(1, None, False), (2, 3, False), (3, 3, True)], name

    def test_structs_that_a_union_would_turn_are_refused(self, project):
        run_dbt(["snapshot", "--select", "turned"])
        results = run_dbt(["snapshot", "--select", "turned", "--vars", "{run: 2}"], expect_pass=False)
        assert "with hard_deletes new_record" in str(results[0].message)
        assert project.run_sql("select place.lat, place.lng from {schema}.turned order by id", fetch="all") == [(1, 2)] * 2


class TestReplacedFields:
    @pytest.fixture(scope="class")
    def models(self):
        names = "{{ \"'lat', 1, 'lng', 2\" if var('run', 1) == 1 else \"'lng', 20, 'alt', 30\" }}"
        query = f"select {{{{ var('run', 1) }}}} as id, named_struct({names}) as place"
        config = "materialized='incremental', unique_key='id', on_schema_change='{}'"
        return {
            f"{mode}.sql": f"{{{{ config({config.format(mode)}) }}}} {query}"
            for mode in ("ignore", "append_new_columns", "sync_all_columns")
        }

    def test_no_field_gets_the_values_of_another(self, project):
        run_dbt(["run"])
        results = run_dbt(["run", "--vars", "{run: 2}"], expect_pass=False)
        for result in results:
            expected = "the values of others" if result.node.name == "sync_all_columns" else "column place has the fields lat, lng"
            assert expected in str(result.message), result.message
            assert project.run_sql(f"select id, place.lat, place.lng from {{schema}}.{result.node.name}", fetch="all") == [(1, 1, 2)]
