"""A `unique_key` in double quotes, as other databases write names: the column, and never the same text for every row."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

STRATEGIES = ("delete+insert", "merge")
MODEL = """
{{ config(materialized='incremental', incremental_strategy='__STRATEGY__', unique_key=['"id"', 'part']) }}
{% if is_incremental() %} select 2 as id, 1 as part, 'new' as word
{% else %} select id, 1 as part, 'old' as word from values (1), (2) as v(id) {% endif %}
"""
SNAPSHOT = """
{% snapshot history %}
{{ config(strategy='check', unique_key='"id"', check_cols=['word'], target_schema=schema) }}
select * from {{ ref('rows') }}
{% endsnapshot %}
"""


class TestQuotedKeys(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        found = {f"{strategy.replace('+', '_')}.sql": MODEL.replace("__STRATEGY__", strategy) for strategy in STRATEGIES}
        return {**found, "rows.sql": "select id, 'old' as word from values (1), (2) as v(id)"}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"history.sql": SNAPSHOT}

    def test_rows_are_found_by_the_column(self, project):
        run_dbt(["run"])
        run_dbt(["run"])
        for strategy in STRATEGIES:
            assert self.rows(project, strategy.replace("+", "_")) == [(1, 1, "old"), (2, 1, "new")]

    def test_versions_of_a_snapshot_are_found_by_the_column(self, project):
        run_dbt(["build", "--select", "rows", "history"])
        write_file("select id, if(id = 2, 'new', 'old') as word from values (1), (2) as v(id)", "models", "rows.sql")
        run_dbt(["build", "--select", "rows", "history"])
        found = project.run_sql("select id, word, dbt_valid_to is null from {schema}.history", fetch="all")
        assert sorted(found) == [(1, "old", True), (2, "new", True), (2, "old", False)]
        assert project.run_sql("select count(distinct dbt_scd_id) from {schema}.history", fetch="one") == (3,)
