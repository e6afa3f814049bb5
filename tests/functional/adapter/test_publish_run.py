"""`publish: run`: a command's changes become visible as one snapshot if its tests pass, and otherwise not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.read.history import SnapshotRecord
from tests.duckdb_instances import open_duckdb
from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.interop.other_process import OtherProcess
from tests.places import CatalogPlace

SEED = "id,v\n1,a\n2,b\n"
MODELS = {
    "copied.sql": "{{ config(materialized='table') }} select id, v from {{ ref('given') }}",
    "shown.sql": "{{ config(materialized='view') }} select id, upper(v) as v from {{ ref('copied') }}",
    "merged.sql": "{{ config(materialized='incremental', unique_key='id') }} select id, v from {{ ref('shown') }}",
    "logged.sql": (
        "{{ config(materialized='table', pre_hook='create table if not exists {{ this.schema }}.log (what string)', "
        "post_hook=\"insert into {{ this.schema }}.log values ('logged')\") }} select count(*) as n from {{ ref('merged') }}"
    ),
    "schema.yml": """
models:
  - name: merged
    columns:
      - name: v
        data_tests:
          - accepted_values:
              arguments: {values: [A, B]}
              config: {store_failures: true}
      - name: id
        data_tests: [{accepted_values: {arguments: {values: [1, 2, 3], quote: false}, config: {severity: warn}}}]
""",
}
SNAPSHOT = "{% snapshot history %}{{ config(unique_key='id', strategy='check', check_cols='all') }} select * from {{ ref('copied') }}{% endsnapshot %}"
COUNTS = ("given", "copied", "merged", "history")


class PublishedAtOnce(OnALake):
    """A project whose seed, table, view, increment, snapshot and hooks are published together."""

    @pytest.fixture(scope="class")
    def models(self):
        return MODELS

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"given.csv": SEED}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"history.sql": SNAPSHOT}

    @pytest.fixture
    def duckdb(self, project: TestProjInfo) -> Iterator[Any]:
        connection = open_duckdb("ducklake", "sqlite_scanner")
        connection.execute(f"ATTACH '{project.adapter.config.credentials.path}' AS lake")
        yield connection
        connection.close()


class TestARun(PublishedAtOnce):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "vars": {"ducklake_publish": "run"},
            "on-run-end": ["{{ ducklake_checkpoint() }}", "insert into {{ target.schema }}.log values ('end')"],
        }

    def test_a_run_is_published_whole_or_not_at_all(self, project, lake, duckdb):
        assert len(run_dbt(["parse", "--no-partial-parse"]).nodes) > 0  # a command that publishes nothing may have parsed the project
        before = self.newest(lake)
        run_dbt(["build"])
        (created,) = self.published(lake, before)
        assert {node["node_id"].rpartition(".")[2] for node in json.loads(created.extra_info or "")["nodes"] if "node_id" in node} >= {
            "given", "copied", "shown", "merged", "history", "logged"
        }  # fmt: skip
        assert created.message == "dbt build"
        history = project.run_sql("select node_id, commit_message from lake.history('merged', schema => '{schema}')", fetch="all")
        assert ("model.test.merged", "dbt build") in history
        assert self.rows(project, "log") == [("end",), ("logged",)]

        write_file("id,v\n1,a\n2,b\n3,wrong\n", project.project_root, "seeds", "given.csv")
        results, log = run_dbt_and_capture(["build"], expect_pass=False)
        assert {result.status for result in results} <= {"fail", "skipped", "success"}
        assert "Nothing was published: 1 of" in log
        assert "It would have changed" in log
        (failures,) = self.published(lake, created.snapshot.snapshot_id)
        assert "rows of failed tests" in (failures.message or "")
        assert self.counts(duckdb, project.test_schema) == [2] * len(COUNTS)
        stored = duckdb.execute(f"SELECT value_field FROM lake.{project.test_schema}_dbt_test__audit.accepted_values_merged_v__A__B")
        assert stored.fetchall() == [("WRONG",)]

        write_file("id,v\n1,a\n2,b\n3,a\n", project.project_root, "seeds", "given.csv")
        credentials = project.adapter.config.credentials
        with (
            OtherProcess(CatalogPlace(credentials.path, credentials.data_path)) as other,
            other.watching(self.counts_query(project.test_schema)) as seen,
        ):
            assert len(run_dbt(["retry"])) >= 7
        assert self.counts(duckdb, project.test_schema) == [3] * len(COUNTS)
        assert seen
        assert all(rows in ([(2,)] * len(COUNTS), [(3,)] * len(COUNTS)) for rows in seen)
        (published,) = self.published(lake, failures.snapshot.snapshot_id)
        assert json.loads(published.extra_info or "")["invocation_id"]

        before = self.newest(lake)
        run_dbt(["build", "--vars", "ducklake_publish: node", "--select", "logged"])
        assert self.newest(lake) > before

    def published(self, lake: LakeCatalog, since: int) -> list[SnapshotRecord]:
        """Return the snapshots without those of the checkpoint, which has no message."""
        return [record for record in self.since(lake, since) if record.message is not None]

    @staticmethod
    def counts_query(schema: str) -> str:
        tables = " UNION ALL ".join(f"SELECT {i} AS i, count(*) AS n FROM lake.{schema}.{name}" for i, name in enumerate(COUNTS))
        return f"SELECT n FROM ({tables}) ORDER BY i"

    def counts(self, duckdb, schema: str) -> list[int]:
        return [n for (n,) in duckdb.execute(self.counts_query(schema)).fetchall()]

    def test_publish_on(self, project, lake):
        before = self.newest(lake)
        write_file("id,v\n1,a\n2,b\n3,wrong\n", project.project_root, "seeds", "given.csv")
        run_dbt(["build", "--vars", "ducklake_publish_on: always"], expect_pass=False)
        assert [record.message for record in self.published(lake, before)] == ["dbt build"]

    def test_the_rows_of_a_warning_are_kept_if_it_prevents_publishing(self, project, lake, duckdb):
        before = self.newest(lake)
        write_file("id,v\n1,a\n2,b\n9,a\n", project.project_root, "seeds", "given.csv")
        _, log = run_dbt_and_capture(
            ["build", "--full-refresh", "--store-failures", "--vars", "ducklake_publish_on: success"], expect_pass=False
        )
        assert "nodes warned (accepted_values_merged_id__False__1__2__3), and publish_on is success" in log
        (failures,) = self.published(lake, before)
        assert "rows of failed tests" in (failures.message or "")
        audit = f"lake.{project.test_schema}_dbt_test__audit.accepted_values_merged_id__False__1__2__3"
        assert duckdb.execute(f"SELECT value_field FROM {audit}").fetchall() == [(9,)]


class TestAHookThatFails(OnALake):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "vars": {"ducklake_publish": "run"},
            "on-run-end": ["insert into {{ target.schema }}.{{ var('log', 'missing') }} values ('end')"],
        }

    @pytest.fixture(scope="class")
    def models(self):
        return {"log.sql": "{{ config(materialized='incremental') }} select 'built' as what"}

    def test_nothing_is_published_and_the_hook_says_so(self, project, lake):
        before = self.newest(lake)
        results, log = run_dbt_and_capture(["run"], expect_pass=False)
        (hook,) = [result for result in results if result.node.resource_type == "operation" and result.status == "error"]
        assert "Nothing was published, because this hook failed" in hook.message
        assert "Nothing was published, because a hook failed or the run was stopped" in log
        assert self.newest(lake) == before
        run_dbt(["run", "--vars", "log: log"])
        assert self.rows(project, "log") == [("built",), ("end",)]


class TestAGivenManifest(OnALake):
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"given.csv": SEED}

    @pytest.mark.parametrize("publish", ["run", "tested"])
    def test_one_that_was_parsed_without_the_hook_is_refused(self, project, lake, publish):
        before = self.newest(lake)
        places = ["--project-dir", str(project.project_root), "--profiles-dir", str(project.profiles_dir)]
        parsed = dbtRunner().invoke(["parse", *places]).result
        refused = dbtRunner(manifest=parsed).invoke(["seed", "--vars", f"ducklake_publish: {publish}", *places])
        assert not refused.success
        assert "Parse the project again with the target and the vars of this command" in str(refused.exception)
        assert self.newest(lake) == before

    def test_one_that_was_parsed_with_the_same_vars_is_used(self, project, lake):
        before = self.newest(lake)
        places = ["--project-dir", str(project.project_root), "--profiles-dir", str(project.profiles_dir)]
        options = ["--vars", "ducklake_publish: run", *places]
        parsed = dbtRunner().invoke(["parse", *options]).result
        assert dbtRunner(manifest=parsed).invoke(["seed", *options]).success
        assert self.newest(lake) > before
        assert len(self.rows(project, "given")) == 2
