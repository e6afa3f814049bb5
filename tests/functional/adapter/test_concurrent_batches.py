"""Batches of one microbatch model, eight at a time: each commits its window concurrently, on SQLite and on PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

import pytest
from dbt.tests.util import run_dbt_and_capture

from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.interop import oracle
from tests.places import FULL_MATRIX
from tests.postgres import server_directory

DAYS = 8
EVENTS = """
create or replace table {schema}.events using parquet as
select id, {timestamp} as at, 'first' as run from range(0, 4 * 8)
"""
SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: events, config: {event_time: at}}]
"""
BATCHES = """
{{ config(
    materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day', begin='2026-01-01',
    concurrent_batches=true, persist_docs={'relation': true, 'columns': true}, partitioned_by=var('keys', none), meta={'a': 1},
) }}
select id, at, run from {{ source('raw', 'events') }}
"""
DOCUMENTED = """
models: [{name: batches, description: All of them, columns: [{name: at, description: When}]}]
"""
LOST = "Trying again at the newest snapshot"


@dataclass(frozen=True)
class Place:
    path: str
    data_path: str
    metadata_schema: str | None = None


class Batches(OnALake):
    timestamp = "timestamp '2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, 6 * cast(id as int))"

    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": SOURCES, "docs.yml": DOCUMENTED, "batches.sql": BATCHES}

    @staticmethod
    def run(*more: str) -> tuple[object, str]:
        span = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-09"]
        (result,), output = run_dbt_and_capture(["run", "--threads", "8", *span, *more])
        assert result.status == "success"
        assert len(result.batch_results.successful) == DAYS
        return result, output

    def duckdb_rows(self, project, dbt_profile_target) -> list[tuple[object, ...]]:
        place = Place(str(dbt_profile_target["path"]), str(dbt_profile_target["data_path"]))
        with oracle.connect(place) as theirs:
            return theirs.execute(f"SELECT id, run FROM lake.{project.test_schema}.batches ORDER BY ALL").fetchall()

    def test_batches_commit_concurrently(self, project, lake, dbt_profile_target):
        project.run_sql(EVENTS.format(schema=project.test_schema, timestamp=self.timestamp))
        _, output = self.run()
        first = [(id_, "first") for id_ in range(4 * DAYS)]
        assert self.duckdb_rows(project, dbt_profile_target) == first
        assert LOST not in output

        project.run_sql(f"update {project.test_schema}.events set run = 'second' where id % 2 = 0")
        before = self.newest(lake)
        _, output = self.run()
        assert LOST not in output, "no batch was in the way of another"
        assert len(self.since(lake, before)) == DAYS, "a snapshot for each batch"
        second = [(id_, "first" if id_ % 2 else "second") for id_ in range(4 * DAYS)]
        assert self.duckdb_rows(project, dbt_profile_target) == second
        if FULL_MATRIX:
            self.run()
            assert self.duckdb_rows(project, dbt_profile_target) == second, "the same again"


class TestSQLite(Batches):
    def test_batches_that_share_one_file_commit_in_sequence(self, project, dbt_profile_target):
        table = f"{project.test_schema}.batches"
        project.run_sql(f"create or replace table {table} as select /*+ coalesce(1) */ id, at, 'shared' as run from {table}")
        self.run()
        second = [(id_, "first" if id_ % 2 else "second") for id_ in range(4 * DAYS)]
        assert self.duckdb_rows(project, dbt_profile_target) == second


@pytest.mark.nightly
@pytest.mark.postgres
class TestPostgresWithDates(Batches):
    timestamp = "date_add(date '2026-01-01', cast(id div 4 as int))"

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, postgres_server):
        import psycopg

        name = "batches_of_dbt"
        with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
            yield {**dbt_profile_target, "path": f"postgresql://postgres@/{name}?host={quote(str(server_directory()), safe='/')}"}
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
