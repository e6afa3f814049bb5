"""`publish: run` with a microbatch model of which one batch fails: nothing is published, and `dbt retry` builds all batches."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

BATCHES = (
    "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='day', batch_size='day', begin='2026-01-01') }} "
    "select id, if(id = 2 and {{ env_var('BROKEN_BATCH', 'false') }}, raise_error('broken'), day) as day from {{ ref('days') }}"
)


class TestRetry:
    @pytest.fixture(scope="class")
    def models(self):
        days = "{{ config(materialized='table', event_time='day') }} select id, date_add(date'2026-01-01', cast(id as int)) as day from range(4)"
        return {"days.sql": days, "batches.sql": BATCHES}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"vars": {"ducklake_publish": "run"}}

    def test_all_batches_are_built_again(self, project, monkeypatch):
        monkeypatch.setenv("BROKEN_BATCH", "true")
        end = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-05"]
        results = run_dbt(["run", *end], expect_pass=False)
        found = {each.node.name: each.status.value for each in results if each.node.resource_type == "model"}
        assert found == {"days": "skipped", "batches": "partial success"}
        assert project.run_sql("show tables in {schema}", fetch="all") == []
        monkeypatch.setenv("BROKEN_BATCH", "false")
        run_dbt(["retry"])
        assert sorted(project.run_sql("select id from {schema}.batches", fetch="all")) == [(0,), (1,), (2,), (3,)]
