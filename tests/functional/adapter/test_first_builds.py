"""A relation that another program creates while a node builds it for the first time.

The node is refused and replaces nothing, except with --full-refresh.
"""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt

from dbt.adapters.ducklake.connections import DuckLakeConnectionManager
from tests.functional.adapter.test_concurrent_batches import Place
from tests.functional.adapter.test_one_node_one_snapshot import OnALake
from tests.interop import oracle

APPENDED = "{{ config(materialized='incremental', incremental_strategy='append') }} select cast(1 as int) as id"
REBUILT = "{{ config(materialized='table') }} select cast(1 as int) as id"
SNAPSHOT = """
{% snapshot versions %}{{ config(target_schema=schema, unique_key='id', strategy='check', check_cols='all') }}
select cast(1 as int) as id{% endsnapshot %}
"""
REFUSED = "was created by another process while this node ran for the first time"


class TestFirstBuilds(OnALake):
    @pytest.fixture(scope="class")
    def models(self):
        return {f"{kind}_{when}.sql": text for kind, text in (("appended", APPENDED), ("rebuilt", REBUILT)) for when in ("begin", "commit")}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"versions.sql": SNAPSHOT}

    @pytest.fixture
    def create_before(self, project, dbt_profile_target, monkeypatch):
        """A function that has DuckDB create the table of the named node once, just before the node's next transaction begins or commits."""

        def create(name: str, when: str) -> None:
            original, done = getattr(DuckLakeConnectionManager, when), []

            def after_the_other(manager: DuckLakeConnectionManager) -> None:
                node = str(manager.get_thread_connection().name)
                if not done and node.endswith(name):
                    done.append(True)
                    place = Place(str(dbt_profile_target["path"]), str(dbt_profile_target["data_path"]))
                    with oracle.connect(place, data_inlining_row_limit=0) as theirs:
                        theirs.execute(f"CREATE TABLE lake.{project.test_schema}.{name} AS SELECT 7 AS id")
                original(manager)

            monkeypatch.setattr(DuckLakeConnectionManager, when, after_the_other)

        return create

    @pytest.mark.parametrize("when", ["begin", "commit"])
    @pytest.mark.parametrize("kind", ["appended", "rebuilt"])
    def test_a_model_does_not_replace_what_another_process_creates(self, project, create_before, kind, when):
        name = f"{kind}_{when}"
        create_before(name, when)
        (result,) = run_dbt(["run", "--select", name], expect_pass=False)
        assert REFUSED in result.message
        assert self.rows(project, name) == [(7,)]
        run_dbt(["run", "--select", name])
        assert self.rows(project, name) == ([(1,), (7,)] if kind == "appended" else [(1,)])

    def test_a_snapshot_does_not_replace_what_another_process_creates(self, project, create_before):
        create_before("versions", "commit")
        (result,) = run_dbt(["snapshot"], expect_pass=False)
        assert REFUSED in result.message
        assert self.rows(project, "versions") == [(7,)]

    def test_a_full_refresh_replaces_it(self, project, create_before):
        project.run_sql(f"drop table if exists {project.test_schema}.rebuilt_begin")
        create_before("rebuilt_begin", "begin")
        run_dbt(["run", "--select", "rebuilt_begin", "--full-refresh"])
        assert self.rows(project, "rebuilt_begin") == [(1,)]
