"""Freshness of sources from the lake's metadata: row changes count, maintenance does not, and errors name the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    config: {freshness: {warn_after: {count: 1, period: day}}}
    tables: [{name: events}, {name: others}]
"""
ODD = """
  - name: odd
    schema: "{{ target.schema }}"
    config: {freshness: {warn_after: {count: 1, period: day}}}
    tables: [{name: absent}, {name: seen}]
  - name: elsewhere
    database: another
    schema: "{{ target.schema }}"
    config: {freshness: {warn_after: {count: 1, period: day}}}
    tables: [{name: events}]
"""


class TestMetadataFreshness(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"sources.yml": SOURCES, "m.sql": "select 1 as a"}

    def loaded_at(self, project) -> dict[str, str]:
        run_dbt(["source", "freshness", "--select", "source:raw"])
        found = json.loads(Path(project.project_root, "target", "sources.json").read_text())["results"]
        return {result["unique_id"].rpartition(".")[2]: result["max_loaded_at"] for result in found}

    def test_only_row_changes_count(self, project, lake):
        schema = project.test_schema
        run = project.run_sql
        for table in ("events", "others"):
            run(f"create table {schema}.{table} tblproperties ('data_inlining_row_limit' = '0') as select id from range(10) as r(id)")
        run(f"create view {schema}.seen as select * from {schema}.events")
        run(f"delete from {schema}.events where id < 8")
        deleted = self.loaded_at(project)
        assert deleted["events"] > deleted["others"]

        before = self.newest(lake)
        run("call ducklake_rewrite_data_files('lake', delete_threshold => 0.1)")
        run(f"alter table {schema}.events add column more int")
        made = [record.changes_made for record in self.since(lake, before)]
        assert "rewrite_delete" in made[0], "what follows would show nothing"
        assert self.loaded_at(project) == deleted
        run("call ducklake_merge_adjacent_files('lake')")
        assert self.loaded_at(project) == deleted

        run(f"insert into {schema}.events values (100, 1)")
        inserted = self.loaded_at(project)
        assert inserted["events"] > deleted["events"]
        assert inserted["others"] == deleted["others"]

        pinned = SOURCES.replace("{name: others}", f"{{name: then, identifier: events, config: {{snapshot_version: {before}}}}}")
        write_file(pinned, project.project_root, "models", "sources.yml")
        assert self.loaded_at(project) == {"events": inserted["events"], "then": deleted["events"]}

    def test_the_error_names_why_there_is_no_freshness(self, project):
        write_file(SOURCES + ODD, project.project_root, "models", "sources.yml")
        results = run_dbt(["source", "freshness"], expect_pass=False).results
        messages = {result.node.unique_id.split(".", 2)[2]: result.message for result in results if result.status == "runtime error"}
        assert sorted(messages) == ["elsewhere.events", "odd.absent", "odd.seen"]
        assert "does not exist" in messages["odd.absent"]
        assert "is a view" in messages["odd.seen"]
        assert "loaded_at_field" in messages["odd.seen"]
        assert "is in no lake of the profile" in messages["elsewhere.events"]
        assert "loaded_at_field" in messages["elsewhere.events"]
