"""A project on two lakes: the node's `database` selects the lake; sources are in either lake, at a snapshot if requested."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

from tests.duckdb_instances import open_duckdb

SOURCES = """
sources:
  - name: raw
    database: other
    schema: raw
    config: {freshness: {warn_after: {count: 1, period: day}}}
    tables: [{name: events}]
  - name: old
    database: other
    schema: raw
    tables:
      - name: events
        config: {meta: {snapshot_version: 2}}
"""
MODELS = {
    "sources.yml": SOURCES,
    "plain.sql": "{{ config(materialized='table', database=var('clone_to', 'lake'), clone_as=var('clone_as', 'view')) }} select 1 as a",
    "copied.sql": "{{ config(materialized='table') }} select id, name from {{ source('raw', 'events') }} as e",
    "seen.sql": "select count(*) as n from {{ source('raw', 'events') }}",
    "before.sql": "{{ config(materialized='table') }} select e.id from {{ source('old', 'events') }} e",
    "there.sql": "{{ config(materialized='table', database='other') }} select c.*, s.n from {{ ref('copied') }} c cross join {{ ref('seen') }} s",
    "there_more.sql": """
        {{ config(materialized='incremental', unique_key='id', database='other', commit_message='merged there') }}
        select id, name from {{ source('raw', 'events') }}
        {% if is_incremental() %} where id > (select max(id) - 1 from {{ this }}) {% endif %}
    """,
    "in_python.py": """
def model(dbt, session):
    dbt.config(materialized="table", database="other")
    return dbt.ref("copied").join(dbt.source("old", "events").select("id"), "id")
""",
}
SNAPSHOT = """
{% snapshot history %}
{{ config(database='other', schema='snapshots', strategy='check', check_cols=['name'], unique_key='id') }}
select * from {{ source('raw', 'events') }}
{% endsnapshot %}
"""
TWO_LAKES = "{{ config(materialized='table', post_hook='delete from other.raw.events') }} select 1 as a"


@contextmanager
def model_of_two_lakes(project) -> Iterator[None]:
    """Add the model `two`, which changes both lakes, for the time of the block: its error would fail the other tests."""
    write_file(TWO_LAKES, project.project_root, "models", "two.sql")
    try:
        yield
    finally:
        Path(project.project_root, "models", "two.sql").unlink()


@pytest.mark.manifest_file
class TestTwoLakes:
    @pytest.fixture(scope="class")
    def folder(self, tmp_path_factory) -> Path:
        return tmp_path_factory.mktemp("lakes")

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, folder):
        path = f"{{{{ var('other_path', 'ducklake:{folder}/other.duckdb') }}}}"
        other = {"alias": "other", "type": "ducklake", "path": path, "data_path": f"{folder}/other/"}
        return {
            "type": "ducklake",
            "path": f"ducklake:sqlite:{folder}/lake.sqlite",
            "data_path": f"{folder}/lake/",
            "snapshot_version": "{{ var('lake_as_of', none) }}",
            "threads": 4,
            "attach": [{**other, "snapshot_version": "{{ var('other_as_of', none) }}"}],
            "spark": {"master": "local[2]"},
        }

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "sources": {"test": {"raw": {"+snapshot_version": "{{ var('as_of', none) }}"}}},
            "seeds": {"test": {"+database": "other"}},
        }

    @pytest.fixture(scope="class")
    def models(self):
        return MODELS

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"history.sql": SNAPSHOT}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"codes.csv": "id,code\n1,a\n2,b\n"}

    def rows(self, project, query: str) -> list[tuple[object, ...]]:
        return sorted(project.run_sql(query.replace("$", project.test_schema), fetch="all"))

    def test_nodes_are_built_in_the_lake_of_their_database(self, project, folder):
        project.run_sql("create schema other.raw")
        project.run_sql("create table other.raw.events as select * from values (1, 'a') as t(id, name)")
        project.run_sql("insert into other.raw.events values (2, 'b')")
        results = run_dbt(["build"])
        assert {result.status for result in results} == {"success"}
        assert self.rows(project, "select * from $.copied") == [(1, "a"), (2, "b")]
        assert self.rows(project, "select * from $.before") == [(1,)]
        assert self.rows(project, "select * from other.$.there") == [(1, "a", 2), (2, "b", 2)]
        assert self.rows(project, "select * from other.$.in_python") == [(1, "a")]
        assert self.rows(project, "select * from other.$.codes") == [(1, "a"), (2, "b")]
        assert self.rows(project, "select id, dbt_valid_to from other.$_snapshots.history") == [(1, None), (2, None)]
        names = "select table_name from {}.information_schema.tables where table_schema = '$'"
        assert self.rows(project, names.format("lake")) == [("before",), ("copied",), ("plain",), ("seen",)]
        assert self.rows(project, names.format("other")) == [("codes",), ("in_python",), ("there",), ("there_more",)]

        project.run_sql("insert into other.raw.events values (3, 'c')")
        project.run_sql("update other.raw.events set name = 'B' where id = 2")
        assert {result.status for result in run_dbt(["build"])} == {"success"}
        assert self.rows(project, "select * from other.$.there_more") == [(1, "a"), (2, "B"), (3, "c")]
        assert self.rows(project, "select count(*), count(dbt_valid_to) from other.$_snapshots.history") == [(4, 1)]
        messages = self.rows(project, "select commit_message from other.snapshots() where commit_message = 'merged there'")
        assert len(messages) == 2

        schema = project.test_schema
        with open_duckdb("ducklake", "sqlite_scanner") as theirs:
            theirs.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.sqlite' AS lake; ATTACH 'ducklake:{folder}/other.duckdb' AS other")
            joined = f"SELECT count(*) FROM lake.{schema}.copied JOIN other.{schema}.there_more USING (id, name)"
            assert theirs.execute(joined).fetchall() == [(3,)]
            assert theirs.execute(f"SELECT n FROM lake.{schema}.seen").fetchall() == [(3,)]

    @pytest.mark.usefixtures("project")
    def test_a_run_that_needs_one_lake_never_opens_the_other(self):
        unreachable = ["--vars", "{other_path: 'postgresql://me:hunter2@localhost:1/db'}"]
        (result,) = run_dbt(["run", "--select", "plain", "--cache-selected-only", *unreachable]).results
        assert result.status == "success"
        with pytest.raises(Exception, match="the attached lake other cannot be opened") as raised:
            run_dbt(["run", "--select", "there", *unreachable])
        assert "hunter2" not in str(raised.value)

    def test_a_clone_in_another_lake(self, project):
        run_dbt(["compile", "--select", "plain"])
        Path("state").mkdir()
        shutil.copy(Path("target", "manifest.json"), "state")
        for kind, more in (("VIEW", []), ("BASE TABLE", ["--full-refresh"])):
            cloned = f"{{clone_to: other, clone_as: {'table' if more else 'view'}}}"
            run_dbt(["clone", "--select", "plain", "--state", "state", "--vars", cloned, *more])
            assert self.rows(project, "select a from other.$.plain") == [(1,)]
            assert self.rows(project, "select table_type from other.information_schema.tables where table_name = 'plain'") == [(kind,)]
        shared = ["--vars", "{clone_to: other, clone_as: shared}", "--full-refresh"]
        (result,) = run_dbt(["clone", "--select", "plain", "--state", "state", *shared], expect_pass=False)
        assert "are in different lakes, which cannot share files; set clone_as to 'table' or 'view'" in result.message
        assert self.rows(project, "select a from lake.$.plain") == [(1,)]
        project.run_sql(f"drop table other.{project.test_schema}.plain")

    @pytest.mark.usefixtures("project")
    def test_docs_and_freshness_cover_both_lakes(self):
        run_dbt(["docs", "generate"])
        catalog = json.loads(Path("target", "catalog.json").read_text())
        databases = {node["metadata"]["name"]: node["metadata"]["database"] for node in (catalog["nodes"] | catalog["sources"]).values()}
        assert databases == dict.fromkeys(("copied", "seen", "before", "plain"), "lake") | dict.fromkeys(
            ("there", "there_more", "in_python", "codes", "history", "events"), "other"
        )
        results = run_dbt(["source", "freshness", "--select", "source:raw"]).results
        assert [result.status for result in results] == ["pass"]

    def test_a_node_changes_only_one_lake(self, project):
        with model_of_two_lakes(project):
            (result,) = run_dbt(["run", "--select", "two"], expect_pass=False).results
        assert "the lake other cannot be changed here: this transaction has changed the lake lake" in result.message
        assert self.rows(project, "select table_name from lake.information_schema.tables where table_name = 'two'") == []
        assert self.rows(project, "select count(*) from other.raw.events") == [(3,)]

    def test_a_published_run_changes_only_one_lake(self, project):
        published = ["--vars", "ducklake_publish: run"]
        with pytest.raises(Exception, match="a command can change one lake, but the selected nodes are in lake, other"):
            run_dbt(["build", *published])
        run_dbt(["run", "--select", "there_more", *published])
        with model_of_two_lakes(project):
            results = run_dbt(["run", "--select", "plain", "two", *published], expect_pass=False).results
        assert "the lake other cannot be changed" in next(result.message for result in results if result.node.name == "two")
        assert self.rows(project, "select count(*) from other.raw.events") == [(3,)]

    @pytest.mark.usefixtures("project")
    def test_debug_and_operations_name_the_lake(self):
        _, output = run_dbt_and_capture(["debug"])
        assert "'alias': 'other'" in output
        _, output = run_dbt_and_capture(
            ["run-operation", "ducklake_list_files", "--args", "{table_name: events, schema: raw, database: other}"]
        )
        assert "/other/raw/" in output
        run_dbt(["run-operation", "ducklake_checkpoint", "--args", "{database: other}"])

    def test_a_var_pins_the_sources_of_a_run(self, project):
        run_dbt(["run", "--select", "copied", "--vars", "as_of: 3"])
        assert self.rows(project, "select * from $.copied") == [(1, "a"), (2, "b")]
        run_dbt(["run", "--select", "copied", "--empty", "--vars", "as_of: 3"])
        assert self.rows(project, "select * from $.copied") == []
        run_dbt(["run", "--select", "copied"])
        assert len(self.rows(project, "select * from $.copied")) == 3

    def test_a_var_pins_a_lake(self, project):
        version = self.rows(project, "select max(snapshot_id) from lake.snapshots()")[0][0]
        show = ["show", "--output", "json", "--inline"]
        project.run_sql(f"delete from {project.test_schema}.copied where id > 1")
        pinned = ["--vars", f"{{lake_as_of: {version}, other_as_of: 2}}"]
        query = "select (select count(*) from {{ ref('copied') }}) as here, (select count(*) from {{ source('raw', 'events') }}) as there"
        (result,) = run_dbt([*show, query, *pinned]).results
        assert [tuple(row) for row in result.agate_table.rows] == [(3, 1)]
        (result,) = run_dbt(["run", "--select", "copied", *pinned], expect_pass=False).results
        assert f"the lake lake is open at snapshot {version}" in result.message
        run_dbt(["parse"])  # the fixtures clean up with the profile that was used last
