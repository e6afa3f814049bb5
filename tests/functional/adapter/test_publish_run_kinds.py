"""`publish: run` on PostgreSQL with eight threads: every kind of node, schema changes, DDL in hooks, failures and a concurrent writer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, run_dbt_and_capture

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.interop import oracle
from tests.places import CatalogPlace
from tests.postgres import fresh_database

MODELS = {
    "days.sql": (
        "{{ config(materialized='table', event_time='at') }} "
        "select id, timestamp '2026-01-01 06:00:00' + make_interval(0, 0, 0, cast(id as int)) as at from range(0, 8)"
    ),
    "batches.sql": (
        "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day', begin='2026-01-01', "
        "concurrent_batches=true) }} select id, at from {{ ref('days') }}"
    ),
    "in_python.py": """
def model(dbt, session):
    dbt.config(materialized="table")
    return dbt.ref("given").filter("id > 1")
""",
    "doubled.sql": "{{ config(materialized='table') }} select id, {{ function('twice') }}(id) as d from {{ ref('in_python') }}",
    "merged.sql": (
        "{{ config(materialized='incremental', unique_key='id', on_schema_change='append_new_columns') }} "
        "select id, v {{ ', upper(v) as w' if var('wide', false) }} from {{ ref('given') }}"
    ),
    "rebuilt.sql": (
        "{{ config(materialized='table') }} select {{ 'cast(id as string) as id, v as renamed' if var('wide', false) else 'id, v' }} "
        "from {{ ref('merged') }}"
    ),
    "altered.sql": """{{ config(
        materialized='table',
        pre_hook=['create table if not exists {{ this.schema }}.log (what string)', 'create schema if not exists {{ this.schema }}_more'],
        post_hook=[
            'create or replace table {{ this.schema }}_more.copied as select * from {{ this }}',
            'alter table {{ this.schema }}_more.copied add column added int',
            "insert into {{ this.schema }}.log values ('altered')",
            'create or replace view {{ this.schema }}.of_hook as select count(*) as n from {{ this }}',
        ]) }} select id from {{ ref('rebuilt') }}""",
    "broken.sql": "{{ config(materialized='table') }} select {{ 'raise_error(\\'broken\\')' if var('broken', false) else '1' }} as a",
    "writer.py": """
def model(dbt, session):
    dbt.config(materialized="table")
    rows = dbt.ref("merged")
    if dbt.config.get("meta")["writes"]:
        from tests.functional.adapter.test_publish_run_kinds import write_concurrently

        write_concurrently(dbt.this.schema)
    return rows
""",
    "schema.yml": """
models:
  - name: writer
    config: {meta: {writes: "{{ var('writes', false) }}"}}
  - name: merged
    columns:
      - name: v
        data_tests: [accepted_values: {arguments: {values: "{{ var('accepted', ['a', 'b', 'c']) }}"}}]
""",
}
FUNCTIONS = {
    "twice.sql": "x * 2",
    "twice.yml": "functions: [{name: twice, arguments: [{name: x, data_type: bigint}], returns: {data_type: bigint}}]",
}
PUBLISHED = {
    "given": 3,
    "days": 8,
    "batches": 8,
    "in_python": 2,
    "doubled": 2,
    "merged": 3,
    "rebuilt": 3,
    "altered": 3,
    "writer": 3,
    "broken": 1,
}
SPAN = ("--event-time-start", "2026-01-01", "--event-time-end", "2026-01-09")
THEIRS: list[CatalogPlace] = []
"""The lake that the Python model of the project writes to with DuckDB, while the run is open."""


def write_concurrently(schema: str) -> None:
    with oracle.connect(THEIRS[0]) as duckdb:
        duckdb.execute("BEGIN")
        duckdb.execute(f"UPDATE lake.{schema}.merged SET v = 'c'")
        duckdb.execute(f"INSERT INTO lake.{schema}.log VALUES ('theirs')")
        duckdb.execute("CALL lake.set_commit_message('an analyst', 'corrected by hand')")
        duckdb.execute("COMMIT")


@pytest.mark.postgres
class TestEveryKindOfNode(OnALake):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target, postgres_server):
        with fresh_database(postgres_server) as url:
            THEIRS[:] = [CatalogPlace(url, dbt_profile_target["data_path"])]
            yield {**dbt_profile_target, "path": url, "threads": 8, "publish": "run"}

    @pytest.fixture(scope="class")
    def models(self):
        return MODELS

    @pytest.fixture(scope="class")
    def functions(self):
        return FUNCTIONS

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"given.csv": "id,v\n1,a\n2,b\n3,c\n"}

    @pytest.fixture
    def duckdb(self, project: TestProjInfo) -> Iterator[Any]:  # noqa: ARG002 (creates the lake)
        with oracle.connect(THEIRS[0]) as connection:
            yield connection

    @staticmethod
    def counts(duckdb: Any, schema: str) -> dict[str, int]:
        return {name: duckdb.execute(f"SELECT count(*) FROM lake.{schema}.{name}").fetchall()[0][0] for name in PUBLISHED}

    @staticmethod
    def orphans(duckdb: Any) -> list[Any]:
        return duckdb.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true, dry_run => true)").fetchall()

    def build(self, *more: str, passes: bool = True) -> tuple[Any, str]:
        return run_dbt_and_capture(["build", *SPAN, *more], expect_pass=passes)

    def one_snapshot(self, lake: LakeCatalog, before: int) -> None:
        (record,) = self.since(lake, before)
        assert record.message == "dbt build"

    def test_all_nodes_are_published_together(self, project, lake, duckdb):
        before = self.newest(lake)
        results, _ = self.build()
        assert {result.status for result in results} == {"success", "pass"}
        self.one_snapshot(lake, before)
        assert self.counts(duckdb, project.test_schema) == PUBLISHED
        assert duckdb.execute(f"SELECT id, added FROM lake.{project.test_schema}_more.copied ORDER BY id").fetchall() == [
            (1, None), (2, None), (3, None)
        ]  # fmt: skip
        assert self.rows(project, "of_hook") == [(3,)]
        assert self.orphans(duckdb) == []

    @pytest.mark.nightly
    def test_a_rebuild_with_other_columns(self, project, lake, duckdb):
        before = self.newest(lake)
        self.build("--vars", "wide: true", "--full-refresh", "--select", "rebuilt+")
        self.build("--vars", "wide: true")
        assert len(self.since(lake, before)) == 2
        assert self.counts(duckdb, project.test_schema) == PUBLISHED
        assert duckdb.execute(f"SELECT * FROM lake.{project.test_schema}.rebuilt WHERE id = '2'").fetchall() == [("2", "b")]
        assert duckdb.execute(f"SELECT v, w FROM lake.{project.test_schema}.merged WHERE id = 2").fetchall() == [("b", "B")]

    def test_nothing_is_published_with_fail_fast(self, project, lake, duckdb):
        before = self.newest(lake)
        _, log = self.build("--fail-fast", "--vars", "broken: true", passes=False)
        assert "Nothing was published" in log
        assert self.newest(lake) == before
        assert self.counts(duckdb, project.test_schema) == PUBLISHED
        assert self.orphans(duckdb) == []

    def test_a_concurrent_writer_of_a_table_that_the_run_changes(self, project, lake, duckdb):
        before = self.newest(lake)
        results, log = self.build("--vars", "{wide: true, writes: true}", passes=False)
        (hook,) = [result for result in results if result.node.resource_type == "operation" and result.status == "error"]
        assert "dbt_ducklake.on-run-end.0 failed, error:\n Nothing was published: " in hook.message
        assert f"{project.test_schema}.merged" in hook.message
        assert f"snapshot {before + 1} by an analyst (corrected by hand)" in hook.message
        assert "keyboard" not in log
        saved = json.loads(Path(project.project_root, "target", "run_results.json").read_text())["results"]
        skipped = [each["message"] for each in saved if each["status"] == "skipped"]
        assert skipped
        assert all("the run could not be published" in text and "by an analyst" in text for text in skipped)
        (theirs,) = self.since(lake, before)
        assert theirs.author == "an analyst"
        assert self.orphans(duckdb) == []
        run_dbt(["retry", "--vars", "wide: true"])
        self.one_snapshot(lake, theirs.snapshot.snapshot_id)

    @pytest.mark.nightly
    def test_empty(self, project, lake, duckdb):
        before = self.newest(lake)
        self.build("--empty", "--full-refresh")
        self.one_snapshot(lake, before)
        empty = {"batches", "doubled", "merged", "rebuilt", "altered", "writer"}
        assert self.counts(duckdb, project.test_schema) == PUBLISHED | dict.fromkeys(empty, 0)
