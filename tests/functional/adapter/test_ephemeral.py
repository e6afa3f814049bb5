"""dbt.tests.adapter.ephemeral."""

from __future__ import annotations

from pathlib import Path

from dbt.tests.adapter.ephemeral.test_ephemeral import BaseEphemeralErrorHandling, BaseEphemeralMulti, BaseEphemeralNested
from dbt.tests.util import check_relations_equal, run_dbt


def written_sql(name: str) -> str:
    return "".join(Path("target/run/test/models", name).read_text().split())


class TestEphemeralMulti(BaseEphemeralMulti):
    def test_ephemeral_multi(self, project):
        """The view is created directly and not under a temporary name, and names are back-quoted."""
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        check_relations_equal(project.adapter, ["seed", "dependent"])
        check_relations_equal(project.adapter, ["seed", "double_dependent"])
        check_relations_equal(project.adapter, ["seed", "super_dependent"])
        expected = f"""
            create or replace view `lake`.`{project.test_schema}`.`double_dependent` as
            with __dbt__cte__base as (select * from {project.test_schema}.seed),
            __dbt__cte__base_copy as (select * from __dbt__cte__base)
            -- base_copy just pulls from base. Make sure the listed
            -- graph of CTEs all share the same dbt_cte__base cte
            select * from __dbt__cte__base where gender = 'Male'
            union all
            select * from __dbt__cte__base_copy where gender = 'Female'
        """
        assert written_sql("double_dependent.sql") == "".join(expected.split())


class TestEphemeralNested(BaseEphemeralNested):
    def test_ephemeral_nested(self, project):
        """The view is created directly and not under a temporary name, and names are back-quoted."""
        assert len(run_dbt(["run"])) == 2
        expected = f"""
            create or replace view `lake`.`{project.test_schema}`.`root_view` as
            with __dbt__cte__ephemeral_level_two as (select * from `lake`.`{project.test_schema}`.`source_table`),
            __dbt__cte__ephemeral as (select * from __dbt__cte__ephemeral_level_two)
            select * from __dbt__cte__ephemeral
        """
        assert written_sql("root_view.sql") == "".join(expected.split())


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass
