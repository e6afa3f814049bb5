"""The staging rows of our one join are those of dbt's own staging query, in every configuration."""

from __future__ import annotations

import re

import pytest
from dbt.tests.util import run_dbt_and_capture

COMPARED = """
{% macro ducklake__snapshot_staging_table(strategy, source_sql, target_relation) %}
  {%- set ours = dbt.ducklake__snapshot_staging_table(strategy, source_sql, target_relation) -%}
  {%- set theirs = dbt.default__snapshot_staging_table(strategy, source_sql, target_relation) -%}
  {%- for columns in [adapter.get_column_schema_from_query(ours)] if columns | string != adapter.get_column_schema_from_query(theirs) | string -%}
    {%- do exceptions.raise_compiler_error('the columns differ: ' ~ columns) -%}
  {%- endfor -%}
  {%- set rows = run_query(
    'with ours as (' ~ ours ~ '), theirs as (' ~ theirs ~ '), '
    ~ "sides as (select 1 as ours, * from ours union all select -1, * from theirs), "
    ~ "rows as (select * except (ours), count_if(ours = 1) as n, sum(ours) as difference from sides group by all) "
    ~ "select dbt_change_type, sum(n), max(abs(difference)) from rows group by 1"
  ).rows -%}
  {%- for kind, number, difference in rows -%}
    {%- do log('staged ' ~ model.name ~ ' ' ~ kind ~ ' ' ~ number ~ ' difference ' ~ difference, info=true) -%}
  {%- endfor -%}
  {{ return(ours) }}
{% endmacro %}
"""

SNAPSHOT = """
{{% snapshot {name} %}}
{{{{ config({config}) }}}}
select a, b, v, cast(changed as {time}) as changed, named_struct('x', v) as s{more} from {{{{ ref('days') }}}} where day = {{{{ var('day', 1) }}}}
{{% endsnapshot %}}
"""

ONE, TWO = "unique_key='a'", "unique_key=['a', 'b']"
CHECK, TIME = "strategy='check', check_cols=['v', 's']", "strategy='timestamp', updated_at='changed'"
CURRENT = "dbt_valid_to_current=\"to_timestamp('9999-12-31')\""
NAMES = "snapshot_meta_column_names={'dbt_valid_to': 'until', 'dbt_scd_id': 'version', 'dbt_is_deleted': 'gone', 'dbt_updated_at': 'at'}"
CONFIGS = {
    "one_check": f"{ONE}, {CHECK}",
    "one_time_current": f"{ONE}, {TIME}, {CURRENT}, {NAMES}",
    "two_all": f"{TWO}, strategy='check', check_cols='all'",
    "one_time_invalidate": f"{ONE}, {TIME}, hard_deletes='invalidate'",
    "two_check_invalidate": f"{TWO}, {CHECK}, hard_deletes='invalidate', {CURRENT}",
    "one_check_record": f"{ONE}, {CHECK}, hard_deletes='new_record'",
    "two_time_record": f"{TWO}, {TIME}, hard_deletes='new_record', {CURRENT}, {NAMES}",
}
DAYS = """day,a,b,v,changed
1,1,1,same,2026-01-01
1,2,2,changes,2026-01-01
1,3,3,is deleted,2026-01-01
1,4,4,is deleted and returns,2026-01-01
1,,5,without a key,2026-01-01
1,6,,without half a key,2026-01-01
2,1,1,same,2026-01-01
2,2,2,changed,2026-01-02
2,,5,without a key,2026-01-02
2,6,,without half a key,2026-01-02
2,7,7,new,2026-01-02
3,1,1,,2026-01-03
3,2,2,changed,2026-01-02
3,4,4,is deleted and returns,2026-01-03
3,8,,without half a key,2026-01-03
4,1,1,,2026-01-03
4,2,2,one of two of a key,2026-01-04
4,2,2,the other of a key,2026-01-04
"""


class StagingRows:
    @pytest.fixture(scope="class")
    def macros(self):
        return {"compared.sql": COMPARED}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"days.csv": DAYS}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {
            f"{name}.sql": SNAPSHOT.format(
                name=name,
                config=config,
                time="timestamp" if "record" in name else "timestamp_ntz",
                more="{% if var('day', 1) > 1 %}, day as added{% endif %}",
            )
            for name, config in CONFIGS.items()
        }

    @pytest.mark.usefixtures("project")
    def test_they_are_those_of_dbt(self):
        run_dbt_and_capture(["seed"])
        kinds = {name: set() for name in CONFIGS}
        for day in (1, 2, 3):
            results, log = run_dbt_and_capture(["snapshot", "--vars", f"day: {day}"], expect_pass=None)
            assert {result.node.name: result.message for result in results if result.status != "success"} == {}
            for name, kind, difference in re.findall(r"staged (\w+) (\w+) \d+ difference (\d+)", log):
                assert difference == "0", (name, kind, day)
                kinds[name].add(kind)
        expected = {"insert", "update"}
        assert kinds == {name: expected | ({"delete"} if "hard_deletes" in config else set()) for name, config in CONFIGS.items()}

        _, log = run_dbt_and_capture(["snapshot", "--vars", "day: 4", "--select", "one_check_record"], expect_pass=False)
        assert re.findall(r"staged one_check_record update (\d) difference (\d)", log) == [("2", "0")]


@pytest.mark.nightly
class TestStagingRows(StagingRows):
    pass


@pytest.mark.nightly
class TestStagingRowsWithNullKeys(StagingRows):
    @pytest.fixture(scope="class")
    def seeds(self):
        # dbt stages a row whose first key is NULL in both as insertion, update and deletion at once, which no MERGE accepts.
        return {"days.csv": DAYS.replace("1,,5,without a key,2026-01-01\n", "").replace("2,,5,without a key,2026-01-02\n", "")}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"flags": {"enable_truthy_nulls_equals_macro": True}}
