"""Rows that `--empty` and `--sample` leave out are not deleted ones."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.places import nightly

SNAPSHOT = """
{% snapshot __NAME__ %}
{{ config(strategy='check', unique_key='id', check_cols=['text'], target_schema=schema, hard_deletes='__NAME__') }}
select * from {{ ref('rows') }}
{% endsnapshot %}
"""
MERGED = """
{{ config(materialized='incremental', unique_key='id', not_matched_by_source_action='delete') }}
select * from {{ ref('rows') }}
"""
KINDS = ("invalidate", "new_record")
REPLACING = {
    "insert_overwrite": "",
    "replace_where": ", incremental_predicates='id > 0'",
    "microbatch": ", event_time='at', begin='2020-01-01', batch_size='year'",
}
"""The strategies that delete what the model has no rows for, with the configs that they need."""


class TestLeftOutRows(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "rows.sql": "{{ config(materialized='table', event_time='at') }} select 1 as id, 'a' as text, timestamp'2020-01-01 00:00:00' as at",
            "merged.sql": MERGED,
            "no_inputs.sql": "{{ config(materialized='incremental', incremental_strategy='insert_overwrite') }} select 1 as id",
            **{
                f"{name}.sql": f"{{{{ config(materialized='incremental', incremental_strategy='{name}'{more}) }}}} select * from {{{{ ref('rows') }}}}"
                for name, more in REPLACING.items()
            },
        }

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {f"{kind}.sql": SNAPSHOT.replace("__NAME__", kind) for kind in KINDS}

    @pytest.mark.parametrize("flag", [["--empty"], *nightly(["--sample", "1 day"])])
    def test_rows_stay(self, project, flag):
        span = [] if "--sample" in flag else ["--event-time-start", "2020-01-01", "--event-time-end", "2020-12-31"]
        run_dbt(["build", *span])
        run_dbt(["build", "--exclude", "rows", *span, *flag])
        assert len(self.rows(project, "merged")) == 1
        if flag == ["--empty"]:
            names = (*REPLACING, "no_inputs")
            assert {name: len(self.rows(project, name)) for name in names} == dict.fromkeys(names, 1)
        for kind in KINDS:
            assert project.run_sql(f"select count(*), count(dbt_valid_to) from {{schema}}.{kind}", fetch="one") == (1, 0)
