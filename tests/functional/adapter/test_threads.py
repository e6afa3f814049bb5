"""Many threads on one lake: every node is a separate snapshot and none fails, on SQLite and on PostgreSQL."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from dbt.tests.util import run_dbt

from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.postgres import server_directory

MODELS = 12
TABLE = "{{ config(materialized='table') }} select %d as n, id from range(5)"
GROWN = "{{ config(materialized='incremental', unique_key='id') }} select id, %d as n from {{ ref('table_%d') }}"
SEEN = "select count(*) as n from {{ ref('grown_%d') }}"


@pytest.mark.nightly
class Threads(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        files = {}
        for number in range(MODELS):
            files[f"table_{number}.sql"] = TABLE % number
            files[f"grown_{number}.sql"] = GROWN % (number, number)
            files[f"seen_{number}.sql"] = SEEN % number
        return files

    def test_eight_and_sixteen_threads(self, project, lake):
        for threads in (8, 16):
            before = self.newest(lake)
            results = run_dbt(["run", "--threads", str(threads)])
            assert [result.status for result in results] == ["success"] * 3 * MODELS
            made = [record.snapshot.snapshot_id for record in self.since(lake, before)]
            assert made == list(range(before + 1, before + 1 + len(made)))
            reported = {result.adapter_response["snapshot_id"] for result in results if "snapshot_id" in result.adapter_response}
            assert reported == set(made), "one for each node that changed something"
            assert len(made) >= 2 * MODELS
        counts = " union all ".join(f"select n from {project.test_schema}.seen_{number}" for number in range(MODELS))
        assert project.run_sql(counts, fetch="all") == [(5,)] * MODELS


class TestSQLite(Threads):
    pass


@pytest.mark.postgres
class TestPostgres(Threads):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, postgres_server):
        import psycopg

        name = "threads_of_dbt"
        with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
            yield {**dbt_profile_target, "path": f"postgresql://postgres@/{name}?host={quote(str(server_directory()), safe='/')}"}
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
