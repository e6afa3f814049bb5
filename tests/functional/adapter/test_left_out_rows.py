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


class TestLeftOutRows(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "rows.sql": "{{ config(materialized='table', event_time='at') }} select 1 as id, 'a' as text, timestamp'2020-01-01 00:00:00' as at",
            "merged.sql": MERGED,
        }

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {f"{kind}.sql": SNAPSHOT.replace("__NAME__", kind) for kind in KINDS}

    @pytest.mark.parametrize("flag", [["--empty"], *nightly(["--sample", "1 day"])])
    def test_rows_stay(self, project, flag):
        run_dbt(["build"])
        run_dbt(["build", "--exclude", "rows", *flag])
        assert len(self.rows(project, "merged")) == 1
        for kind in KINDS:
            assert project.run_sql(f"select count(*), count(dbt_valid_to) from {{schema}}.{kind}", fetch="one") == (1, 0)
