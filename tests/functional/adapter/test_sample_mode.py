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


BATCHES = """
{{ config(
    materialized='incremental', incremental_strategy='microbatch', event_time='ordered_at', begin='2026-01-01', batch_size='day', lookback=0
) }}
select id, ordered_at from {{ source('shop', 'orders') }}
"""
RANGE = ("--event-time-start", "2026-01-02", "--event-time-end", "2026-01-03")


class TestSampleMode(BaseSampleModeTest):
    pass


class TestChangesOfASample(WithDuckDB):
    """A run with `--sample` reads no changes, so that the next run without it reads each change once."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": SOURCES, "changed.sql": CHANGED}

    @pytest.fixture(autouse=True)
    def orders(self, duckdb):
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


class TestChangesOfARangeOfEventTimes(WithDuckDB):
    """`--event-time-start` and `--event-time-end` are for batches alone: a model that reads changes reads each of them once."""

    @pytest.fixture(scope="class")
    def models(self):
        of_batches = CHANGED.replace("source('shop', 'orders')", "ref('batches')").replace("amount, ", "")
        return {"sources.yml": SOURCES, "changed.sql": CHANGED, "batches.sql": BATCHES, "changed_batches.sql": of_batches}

    def test_a_range_of_batches_leaves_out_no_changes(self, duckdb):
        duckdb.execute("DROP TABLE orders")
        duckdb.execute(
            "CREATE TABLE orders AS SELECT i AS id, i * 10 AS amount, TIMESTAMP '2026-01-01' + INTERVAL (i) DAY AS ordered_at FROM range(4) r(i)"
        )
        run_dbt(["run", *RANGE])
        assert self.rows(duckdb, "FROM changed") == [(0, 0), (1, 10), (2, 20), (3, 30)]
        assert self.rows(duckdb, "SELECT id FROM changed_batches") == [(1,)]
        duckdb.execute("UPDATE orders SET amount = -1 WHERE id IN (1, 3)")
        duckdb.execute("INSERT INTO orders VALUES (4, 40, '2026-01-02'), (5, 50, '2026-01-04')")
        run_dbt(["run", *RANGE])
        assert self.rows(duckdb, "FROM changed") == self.rows(duckdb, "SELECT id, amount FROM orders")
        assert self.rows(duckdb, "SELECT id FROM changed_batches") == self.rows(duckdb, "SELECT id FROM batches") == [(1,), (4,)]
        before = self.rows(duckdb, "SELECT count(*) FROM ducklake_snapshots('lake')")
        run_dbt(["run", "--select", "changed", "changed_batches", *RANGE])
        assert self.rows(duckdb, "SELECT count(*) FROM ducklake_snapshots('lake')") == before
