"""Layout and properties follow the configs on every run: they are set, changed and removed, and nothing is written without a difference."""

from __future__ import annotations

import json

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

from tests.catalog_objects import table_of
from tests.functional.adapter.test_one_node_one_snapshot import OnALake

LAID_OUT = "partition_by=['part'], sorted_by='id desc', tblproperties={'parquet_compression': 'zstd', 'team': 'blue'}"
OTHERWISE = "sorted_by=['part', 'id'], options={'parquet_version': 2}"
QUERY = "select 1 as id, 'a' as part"
SEED = "id,part\n1,a\n2,b\n"
SNAPSHOT = """
{{% snapshot kept %}}
  {{{{ config(strategy='check', check_cols='all', unique_key='id', {}) }}}}
  select 1 as id, 'a' as part
{{% endsnapshot %}}
"""


def model(kind: str, layout: str) -> str:
    return f"{{{{ config(materialized='{kind}', {layout}) }}}} {QUERY}"


class TestLayout(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {"whole.sql": model("table", LAID_OUT), "grown.sql": model("incremental", LAID_OUT)}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {"sown.csv": SEED}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"kept.sql": SNAPSHOT.format(LAID_OUT)}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        first = {"+partition_by": ["part"], "+sorted_by": "id desc", "+tblproperties": {"parquet_compression": "zstd", "team": "blue"}}
        return {"seeds": first}

    def state(self, project, lake, name):
        """Return the partition columns, the sort keys, the options and the property `team` of a table."""
        table = table_of(lake.reader(), name, project.test_schema)
        names = {column.column_id: column.name for column in table.columns}
        keys = [names[key.column_id] for key in (table.partitioning.fields if table.partitioning else ())]
        options = {row.key: row.value for row in lake.options().rows if row.scope == "table" and row.scope_id == table.table_id}
        return keys, [(key.expression, key.direction) for key in table.sorting], options, table.tags.get("dbt_ducklake.property.team")

    def test_layout_follows_the_configs(self, project, lake):
        run_dbt(["build"])
        nodes = ("whole", "grown", "sown", "kept")
        for name in nodes:
            assert self.state(project, lake, name) == (["part"], [("id", "DESC")], {"parquet_compression": "zstd"}, "blue"), name

        before = self.newest(lake)
        run_dbt(["build"])
        assert not [record.changes_made for record in self.since(lake, before) if "altered" in record.changes_made], "nothing differs"

        project.run_sql(f"alter table {project.test_schema}.grown set tblproperties ('owner' = 'by hand')")
        write_file(model("table", OTHERWISE), project.project_root, "models", "whole.sql")
        write_file(model("incremental", OTHERWISE), project.project_root, "models", "grown.sql")
        write_file(SNAPSHOT.format(OTHERWISE), project.project_root, "snapshots", "kept.sql")
        run_dbt(["build", "--exclude", "sown"])
        for name in ("whole", "grown", "kept"):
            assert self.state(project, lake, name) == ([], [("part", "ASC"), ("id", "ASC")], {"parquet_version": "V2"}, None), name

        write_file(model("table", ""), project.project_root, "models", "whole.sql")
        write_file(model("incremental", ""), project.project_root, "models", "grown.sql")
        run_dbt(["run"])
        for name in ("whole", "grown"):
            assert self.state(project, lake, name) == ([], [], {}, None), name
        tags = lake.reader().find(project.test_schema, "grown").tags
        assert {key: value for key, value in tags.items() if "property" in key} == {"dbt_ducklake.property.owner": "by hand"}

    def test_buckets_of_a_table_with_files_are_refused_and_a_full_refresh_makes_them(self, project, lake):
        write_file(model("incremental", "options={'data_inlining_row_limit': 0}"), project.project_root, "models", "grown.sql")
        run_dbt(["run", "--select", "grown"])
        write_file(model("incremental", "partition_by='bucket(4, id)'"), project.project_root, "models", "grown.sql")
        (result,) = run_dbt(["run", "--select", "grown"], expect_pass=False)
        assert "has rows" in result.message
        run_dbt(["run", "--select", "grown", "--full-refresh"])
        assert self.state(project, lake, "grown")[0] == ["id"]

    def test_a_seed_has_its_layout_from_the_first_file(self, project, lake):
        seeds = {
            "+partition_by": "bucket(4, id)",
            "+options": {"data_inlining_row_limit": 0},
            "+incremental_apply_config_changes": False,
        }
        config = {"name": "test", "profile": "test", "config-version": 2, "seeds": seeds, "snapshots": {"+enabled": False}}
        write_file(json.dumps(config), project.project_root, "dbt_project.yml")
        run_dbt(["seed", "--full-refresh"])
        assert self.state(project, lake, "sown") == (["id"], [], {"data_inlining_row_limit": "0"}, None)
        assert self.rows(project, "sown") == [(1, "a"), (2, "b")]


class TestTagsAndMeta(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        config = "tags=['daily', \"it's\"], meta={'owner': {'team': 'blue'}}, persist_docs={'relation': true}"
        return {
            "t.sql": f"{{{{ config(materialized='table', {config}) }}}} select 1 as a",
            "v.sql": f"{{{{ config(materialized='view', {config}) }}}} select 1 as a",
        }

    def test_tags_and_meta_are_stored_with_the_relation(self, project, lake):
        run_dbt(["run"])
        for name in ("t", "v"):
            tags = lake.reader().find(project.test_schema, name).tags
            assert json.loads(tags["dbt_ducklake.property.dbt.tags"]) == ["daily", "it's"]
            assert json.loads(tags["dbt_ducklake.property.dbt.meta"]) == {"owner": {"team": "blue"}}

        before = self.newest(lake)
        run_dbt(["run", "--select", "v"])
        assert self.newest(lake) == before, "the view already matches its config"

        write_file(
            "{{ config(materialized='view', persist_docs={'relation': true}) }} select 1 as a", project.project_root, "models", "v.sql"
        )
        run_dbt(["run", "--select", "v"])
        assert not [key for key in lake.reader().find(project.test_schema, "v").tags if "property" in key]


FOREIGN = "{{ config(materialized='table', partition_by='part', zorder=['part', 'id'], clustered_by='id', buckets=4) }} select 1 as id, 'a' as part"
STAGED = "{{ config(materialized='incremental', incremental_strategy='%s', unique_key='id', tmp_relation_type='%s') }} select 1 as id, rand() as r"


class TestConfigsOfOthers(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        kinds = {"kept": ("merge", "table"), "seen": ("merge", "view"), "refused": ("delete+insert", "view")}
        return {"foreign.sql": FOREIGN, **{f"{name}.sql": STAGED % kind for name, kind in kinds.items()}}

    def test_configs_of_other_adapters_keep_their_meaning(self, project, lake):
        _, output = run_dbt_and_capture(["run"])
        assert output.count("The config `zorder` sorts files when they are written, as `sorted_by` does.") == 1
        table = lake.reader().find(project.test_schema, "foreign")
        assert [key.transform for key in table.partitioning.fields] == ["identity", "bucket(4)"]
        assert [key.expression for key in table.sorting] == ["part", "id"]
        results = {result.node.name: result for result in run_dbt(["run"], expect_pass=False)}
        assert "delete+insert reads the rows of the model twice" in results["refused"].message
        assert [results[name].message for name in ("kept", "seen", "foreign")] == [*["MERGE 1 updated"] * 2, "CREATE TABLE AS 1 inserted"]


KEYS = {
    "by_value": ("partitioned_by='c'", "'1'", "2"),
    "by_day": ("partitioned_by=['id', 'day(c)'], sorted_by=['c desc', 'id']", "timestamp_ntz '2020-01-01 00:00:00'", "date '2020-01-02'"),
    "sorted": ("sorted_by=['lower(c) desc', 'id']", "1", "'x'"),
    "by_hand": ('post_hook="alter table {{ this }} set partitioned by (`c`)"', "'1'", "2"),
    "by_bucket": ("partitioned_by='bucket(4, c)'", "'1'", "2"),
}


class TestKeysOfOtherTypes(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        config = "materialized='incremental', unique_key='id', on_schema_change='sync_all_columns', options={'data_inlining_row_limit': 0}"
        value = "{{% if var('run', 1) == 1 %}}{}{{% else %}}{}{{% endif %}}"
        return {
            f"{name}.sql": f"{{{{ config({config}, {layout}) }}}} select {{{{ var('run', 1) }}}} as id, {value.format(before, after)} as c"
            for name, (layout, before, after) in KEYS.items()
        }

    def test_a_key_gets_another_type_and_stays_a_key(self, project, lake):
        run_dbt(["run"])
        before = {name: self.layout(project, lake, name) for name in KEYS}
        results = {result.node.name: result for result in run_dbt(["run", "--vars", "{run: 2}"], expect_pass=False)}
        assert [name for name, result in results.items() if result.status == "error"] == ["by_bucket"]
        assert "column c of" in results["by_bucket"].message
        assert "partitioned by bucket(4, `c`)" in results["by_bucket"].message
        assert "--full-refresh" in results["by_bucket"].message
        assert {name: self.layout(project, lake, name) for name in KEYS} == before
        assert self.rows(project, "by_value") == [(1, 1), (2, 2)]
        assert self.rows(project, "sorted") == [(1, "1"), (2, "x")]
        table = table_of(lake.reader(), "by_value", project.test_schema)
        assert sorted(file.path.split("/")[-2] for file in lake.reader().scan_plan(table).files) == ["c=1", "c=2"]
        run_dbt(["run", "--select", "by_bucket", "--full-refresh", "--vars", "{run: 2}"])

    def layout(self, project, lake, name):
        table = table_of(lake.reader(), name, project.test_schema)
        names = {column.column_id: column.name for column in table.columns}
        return [(names[key.column_id], key.transform) for key in table.partition_fields], table.sorting


class TestAttributesOfColumnsOfOtherTypes(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        config = "materialized='incremental', unique_key='id', on_schema_change='sync_all_columns'"
        value = "{% if var('run', 1) == 1 %}'1'{% else %}2{% endif %}"
        return {"kept.sql": f"{{{{ config({config}) }}}} select {{{{ var('run', 1) }}}} as id, {value} as c"}

    def test_a_column_keeps_its_comment_default_and_not_null(self, project, lake):
        run_dbt(["run"])
        for action in ("comment 'it\\'s'", "set default '7'", "set not null"):
            project.run_sql(f"alter table {project.test_schema}.kept alter column c {action}")
        run_dbt(["run", "--vars", "{run: 2}"])
        column = table_of(lake.reader(), "kept", project.test_schema).column("c")
        assert (column.type, column.comment, column.nullable, column.default.text) == ("int32", "it's", False, "7")
        assert self.rows(project, "kept") == [(1, 1), (2, 2)]
