"""Structs whose fields come in another order, or with new ones, in later runs of incremental models and snapshots."""

from __future__ import annotations

import json

import pytest
from dbt.tests.util import run_dbt

from tests.duckdb_instances import open_duckdb
from tests.places import ENCRYPTED

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

    def test_another_order_of_fields_is_no_change_and_new_fields_are_added(self, project):
        run_dbt(["run"])
        results = run_dbt(["run", "--vars", "{run: 2}"])
        assert [result.status for result in results] == ["success"] * 2
        for place in ("place.lat, place.lng from {schema}.plain", "places[0].lat, places[0].lng from {schema}.listed"):
            assert project.run_sql(f"select id, {place} order by id", fetch="all") == [(1, 1, 2), (2, 1, 2)]
        run_dbt(["run", "--vars", "{run: 3}"])
        for place in ("to_json(place) from {schema}.plain", "to_json(places[0]) from {schema}.listed"):
            found = project.run_sql(f"select {place} order by id", fetch="all")
            assert found == [('{"lat":1,"lng":2}',), ('{"lat":1,"lng":2}',), ('{"lat":1,"lng":2,"alt":3}',)]


CHANGES = {
    "gone": ("named_struct('a', 1, 'b', 'x')", "named_struct('b', 'y')", [{"b": "x"}, {"b": "y"}]),
    "replaced": ("named_struct('a', 1, 'b', 2)", "named_struct('b', 3, 'c', 4)", [{"b": 2, "c": None}, {"b": 3, "c": 4}]),
    "wider": (
        "named_struct('a', 1, 's', named_struct('b', 2))",
        "named_struct('s', named_struct('b', 3000000000, 'c', 'y'), 'a', 3)",
        [{"a": 1, "s": {"b": 2, "c": None}}, {"a": 3, "s": {"b": 3000000000, "c": "y"}}],
    ),
    "narrower": ("named_struct('a', 3000000000)", "named_struct('a', 1, 'b', 2)", [{"a": 3000000000, "b": None}, {"a": 1, "b": 2}]),
    "listed": (
        "array(named_struct('a', 1))",
        "array(named_struct('b', 'y', 'a', 3000000000))",
        [[{"a": 1, "b": None}], [{"a": 3000000000, "b": "y"}]],
    ),
    "mapped": (
        "map('k', named_struct('a', 1, 'b', 2))",
        "map('k', named_struct('c', 'y', 'a', 3000000000))",
        [{"k": {"a": 1, "c": None}}, {"k": {"a": 3000000000, "c": "y"}}],
    ),
    "retyped": (
        "array(named_struct('a', '1', 'b', 2, 'c', 3))",
        "array(named_struct('d', 4, 'c', 5, 'a', 6))",
        [[{"d": None, "c": 3, "a": 1}], [{"d": 4, "c": 5, "a": 6}]],
    ),
    "dotted": (
        "named_struct('a.b', 1, 'c d', 2, '`', named_struct('x.y', 3))",
        "named_struct('c d', 4, '`', named_struct('x.y', 3000000000, 'z.', 5), 'a.b', '6')",
        [{"c d": 2, "`": {"x.y": 3, "z.": None}, "a.b": "1"}, {"c d": 4, "`": {"x.y": 3000000000, "z.": 5}, "a.b": "6"}],
    ),
}


@pytest.mark.nightly
class TestChangedFields:
    @pytest.fixture(scope="class")
    def models(self):
        config = "{{{{ config(materialized='incremental', unique_key='id', on_schema_change='sync_all_columns'{}) }}}}"
        places = {"inlined": "", "files": ", tblproperties={'data_inlining_row_limit': 0}"}
        return {
            f"{name}_{place}.sql": f"{config.format(layout)} select {{{{ var('run', 1) }}}} as id, "
            f"{{% if var('run', 1) == 1 %}}{before}{{% else %}}{after}{{% endif %}} as c"
            for name, (before, after, _) in CHANGES.items()
            for place, layout in places.items()
        }

    def test_fields_are_added_dropped_and_retyped_by_name_as_duckdb_does(self, project, dbt_profile_target):
        run_dbt(["run"])
        run_dbt(["run", "--vars", "{run: 2}"])
        run_dbt(["run", "--vars", "{run: 2}"])
        duck = open_duckdb("ducklake", "sqlite_scanner", *(["httpfs"] if ENCRYPTED else []))
        duck.execute(f"ATTACH '{dbt_profile_target['path']}' AS lake")
        for name, (_, _, expected) in CHANGES.items():
            for place in ("inlined", "files"):
                rows = project.run_sql(
                    f"select to_json(c, map('ignoreNullFields', 'false')) from {{schema}}.{name}_{place} order by id", fetch="all"
                )
                assert [json.loads(row) for (row,) in rows] == expected, (name, place)
            theirs = duck.execute(f"SELECT c FROM lake.{project.test_schema}.{name}_files ORDER BY id").fetchall()
            assert [row for (row,) in theirs] == expected, name
        duck.close()


class TestImpossibleChanges:
    @pytest.fixture(scope="class")
    def models(self):
        queries = {
            "unfit": ("named_struct('a', 'x')", "named_struct('a', 1)"),
            "flat": ("named_struct('a', 'x')", "1"),
            "dated": ("date '2020-01-01'", "1"),
        }
        config = "{{ config(materialized='incremental', unique_key='id', on_schema_change='sync_all_columns') }}"
        return {
            f"{name}.sql": f"{config} select 1 as id, {{% if is_incremental() %}}{after}{{% else %}}{before}{{% endif %}} as c"
            for name, (before, after) in queries.items()
        }

    def test_the_error_names_the_column_and_says_what_to_do(self, project):
        run_dbt(["run"])
        for result in run_dbt(["run"], expect_pass=False):
            name = result.node.name
            assert f"Database Error in model {name}" in result.message
            assert f"column c of `lake`.`{project.test_schema}`.`{name}` is " in result.message, result.message
            assert "--full-refresh" in result.message
        run_dbt(["run", "--full-refresh"])


class TestNamesWithDots:
    @pytest.fixture(scope="class")
    def models(self):
        query = "select {{ var('run', 1) }} as id, named_struct('a.b', {{ var('run', 1) }}, 'c d', array(named_struct('e-f', 1))) as c"
        return {
            "merged.sql": f"{{{{ config(materialized='incremental', unique_key='id') }}}} {query}",
            "synced.sql": f"{{{{ config(materialized='incremental', unique_key='id', on_schema_change='sync_all_columns') }}}} {query}",
            "strict.sql": f"{{{{ config(materialized='incremental', unique_key='id', on_schema_change='fail') }}}} {query}",
            "shown.sql": "{{ config(materialized='view') }} select * from {{ ref('merged') }}",
        }

    def test_fields_with_dots_and_blanks_are_the_same_in_each_run(self, project):
        for number in (1, 2):
            run_dbt(["run", "--vars", f"{{run: {number}}}"])
        for name in ("merged", "synced", "strict", "shown"):
            assert project.run_sql(f"select id, c.`a.b`, c.`c d`[0].`e-f` from {{schema}}.{name} order by id", fetch="all") == [
                (1, 1, 1),
                (2, 2, 1),
            ]


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

    @pytest.mark.nightly
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
        for result in run_dbt(["run", "--vars", "{run: 2}"], expect_pass=False):
            if result.node.name != "sync_all_columns":
                assert "column place has the fields lat, lng" in str(result.message), result.message
                assert project.run_sql(f"select id, place.lat, place.lng from {{schema}}.{result.node.name}", fetch="all") == [(1, 1, 2)]
        query = "select id, place.lng, place.alt from {schema}.sync_all_columns order by id"
        assert project.run_sql(query, fetch="all") == [(1, 2, None), (2, 20, 30)]
