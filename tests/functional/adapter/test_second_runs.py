"""Incremental models whose second run once failed or gave other rows than the first: their own table, layouts, predicates and hooks."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

FIRST_SEEN = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day', begin='2026-01-01',
          tmp_relation_type=var('source', none)) }}
select 1 as id, timestamp '2026-01-01 10:00:00' as at,
{% if is_incremental() %} (select max(number) from {{ this }} where id = 1) {% else %} 7 {% endif %} as number
"""
SPELLINGS = {
    "without_lake": "{{ this.include(database=false) }}",
    "by_parts": "{{ this.schema }}.{{ this.identifier | upper }}",
    "by_name": "{{ this.include(database=false, schema=false) }}",
    "through_a_view": "{{ this.schema }}.seen_before",
}
"""How a model names its own table."""
WITH_REGION = """
{{ config(materialized='incremental', unique_key='id', on_schema_change='sync_all_columns', partitioned_by='region', sorted_by='region') }}
select 1 as id, 'north' as region
"""
WITHOUT_REGION = """
{{ config(materialized='incremental', unique_key='id', on_schema_change='sync_all_columns') }}
select 2 as id
"""
BY_COUNTRY = WITH_REGION.replace("region", "country").replace("1 as id", "3 as id")
ONE_PREDICATE = """
{{ config(materialized='incremental', unique_key='id', incremental_strategy=var('strategy'),
          incremental_predicates="DBT_INTERNAL_DEST.id < 10") }}
select 1 as id, {{ 1 if is_incremental() else 0 }} as updated
"""
CREATED = """
{{ config(materialized=var('kind', 'table'), pre_hook="create table if not exists {{ this }} (id int)") }}
select cast(1 as int) as id
"""


class TestSecondRuns(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "first_seen.sql": FIRST_SEEN,
            **{f"{name}.sql": FIRST_SEEN.replace("{{ this }}", spelling) for name, spelling in SPELLINGS.items()},
            "by_region.sql": WITH_REGION,
            "by_country.sql": WITH_REGION,
            "merged.sql": ONE_PREDICATE.replace("var('strategy')", "'merge'"),
            "replaced.sql": ONE_PREDICATE.replace("var('strategy')", "'delete+insert'"),
            "created.sql": CREATED,
            "created_and_grown.sql": CREATED.replace("'table'", "'incremental'"),
        }

    def test_a_batch_reads_the_rows_that_it_replaces(self, project):
        command = ["run", "--select", "first_seen", "--event-time-start", "2026-01-01", "--event-time-end", "2026-01-02"]
        for _ in range(2):
            run_dbt(command)
            assert project.run_sql("select id, number from {schema}.first_seen", fetch="all") == [(1, 7)]
        run_dbt([*command, "--vars", "{source: view}"], expect_pass=False)
        assert project.run_sql("select id, number from {schema}.first_seen", fetch="all") == [(1, 7)]

    def test_a_batch_reads_the_rows_that_it_replaces_by_any_spelling(self, project):
        command = ["run", "--select", *SPELLINGS, "--event-time-start", "2026-01-01", "--event-time-end", "2026-01-02"]
        for _ in range(2):
            run_dbt(command)
            assert {name: self.rows(project, name)[0][2] for name in SPELLINGS} == dict.fromkeys(SPELLINGS, 7)
            project.run_sql("create view if not exists {schema}.seen_before as select * from {schema}.through_a_view")

    def test_a_column_goes_with_the_layout_that_named_it(self, project):
        run_dbt(["run", "--select", "by_region"])
        write_file(WITHOUT_REGION, project.project_root, "models", "by_region.sql")
        run_dbt(["run", "--select", "by_region"])
        assert project.run_sql("select * from {schema}.by_region order by id", fetch="all") == [(1,), (2,)]

    def test_another_key_is_set_although_the_query_drops_the_column_of_the_old_one(self, project):
        run_dbt(["run", "--select", "by_country"])
        write_file(BY_COUNTRY, project.project_root, "models", "by_country.sql")
        run_dbt(["run", "--select", "by_country"])
        assert project.run_sql("select id, country from {schema}.by_country order by id", fetch="all") == [(1, None), (3, "north")]
        (text,) = project.run_sql("show create table {schema}.by_country", fetch="one")
        assert "country" in text.partition("PARTITIONED BY")[2]
        assert "region" not in text

    @pytest.mark.parametrize("name", ["merged", "replaced"])
    def test_a_string_is_one_predicate(self, project, name):
        for updated in (0, 1):
            run_dbt(["run", "--select", name])
            assert self.rows(project, name) == [(1, updated)]

    @pytest.mark.parametrize("name", ["created", "created_and_grown"])
    def test_a_hook_may_create_the_table_of_its_model(self, project, name):
        for _ in range(2):
            run_dbt(["run", "--select", name])
        assert set(self.rows(project, name)) == {(1,)}
