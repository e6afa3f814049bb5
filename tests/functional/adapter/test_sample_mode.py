"""dbt.tests.adapter.sample_mode, and models that read changes."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_changes import WithDuckDB

SOURCES = """
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables: [{name: orders, config: {event_time: ordered_at}}]
"""
CHANGED = """
{{ config(materialized='incremental', incremental_strategy='changes', unique_key='id') }}
select id, amount, _change_type from {{ ducklake_changes(source('shop', 'orders')) }}
"""


class TestSampleMode(BaseSampleModeTest):
    pass


class TestChangesOfASample(WithDuckDB):
    """A run with `--sample` reads no changes, so that the next run without it reads each change once."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": SOURCES, "changed.sql": CHANGED}

    @pytest.fixture(autouse=True)
    def orders(self, project, duckdb):
        duckdb.execute("DROP TABLE orders")
        duckdb.execute(
            "CREATE TABLE orders AS SELECT i AS id, i * 10 AS amount, now() - INTERVAL (i) HOUR AS ordered_at FROM range(1, 40) r(i)"
        )
        run_dbt(["run", "--full-refresh"])

    def check(self, duckdb) -> None:
        assert self.rows(duckdb, "FROM changed") == self.rows(duckdb, "SELECT id, amount FROM orders")

    def test_the_next_run_reads_the_changes_that_the_sample_left_out(self, duckdb):
        self.check(duckdb)
        before = self.rows(duckdb, "FROM changed")
        duckdb.execute("UPDATE orders SET amount = -1 WHERE id IN (2, 39)")
        duckdb.execute("DELETE FROM orders WHERE id IN (3, 38)")
        duckdb.execute("INSERT INTO orders VALUES (50, 1, now())")
        run_dbt(["run", "--sample", "1 day"])
        assert self.rows(duckdb, "FROM changed") == before
        run_dbt(["run"])
        self.check(duckdb)

    def test_the_first_run_after_a_build_from_a_sample_is_a_full_build(self, duckdb):
        run_dbt(["run", "--full-refresh", "--sample", "1 day"])
        assert self.rows(duckdb, "FROM changed") == []
        duckdb.execute("DELETE FROM orders WHERE id = 4")
        run_dbt(["run"])
        self.check(duckdb)
