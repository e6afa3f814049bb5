"""With `persist_docs`, the comments in the lake are the descriptions in YAML: a removed description removes its comment."""

from __future__ import annotations

import json

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.functional.adapter.test_one_node_one_snapshot import OnALake

QUERY = "select 1 as id, 'a' as name"
FILES = {
    "models": {
        "built.sql": f"{{{{ config(materialized='table') }}}} {QUERY}",
        "grown.sql": f"{{{{ config(materialized='incremental') }}}} {QUERY} {{{{ 'where false' if is_incremental() }}}}",
        "seen.sql": f"{{{{ config(materialized='view') }}}} {QUERY}",
    },
    "seeds": {"sown.csv": "id,name\n1,a\n"},
    "snapshots": {
        "kept.sql": "{% snapshot kept %} {{ config(unique_key='id', strategy='check', check_cols=['name']) }} "
        + QUERY
        + " {% endsnapshot %}"
    },
}
NAMES = {kind: [name.partition(".")[0] for name in files] for kind, files in FILES.items()}
ALL = [name for names in NAMES.values() for name in names]


def described(kind: str, relation: str = "", **columns: str) -> str:
    listed = [{"name": name, "description": text} for name, text in columns.items()]
    return json.dumps({kind: [{"name": name, "description": relation, "columns": listed} for name in NAMES[kind]]})


class TestComments(OnALake):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {kind: {"+persist_docs": {"relation": True, "columns": True}} for kind in FILES}

    @pytest.fixture(scope="class")
    def models(self):
        return FILES["models"]

    @pytest.fixture(scope="class")
    def seeds(self):
        return FILES["seeds"]

    @pytest.fixture(scope="class")
    def snapshots(self):
        return FILES["snapshots"]

    def build(self, project, lake, *descriptions, **columns):
        """Build with the descriptions; return each relation's comment and those of its columns, as (comment, first, second)."""
        for kind in FILES:
            write_file(described(kind, *descriptions, **columns), project.project_root, kind, "schema.yml")
        run_dbt(["build"])
        schema = project.test_schema
        columns_of = {name: [row[2] for row in project.run_sql(f"describe {schema}.{name}", fetch="all")] for name in ALL}
        return {name: (lake.reader().find(schema, name).comment, *columns_of[name][:2]) for name in ALL}

    def test_comments_follow_the_descriptions(self, project, lake):
        assert self.build(project, lake, "What it is", ID="The key", name="Its name") == dict.fromkeys(
            ALL, ("What it is", "The key", "Its name")
        )
        assert self.build(project, lake, "", ID="", name="Its name") == dict.fromkeys(ALL, (None, None, "Its name"))
        assert self.build(project, lake) == dict.fromkeys(ALL, (None, None, None))

        before = self.newest(lake)
        run_dbt(["build", "--exclude", "built", "sown"])
        assert self.newest(lake) == before, "nothing changed"
