"""Incremental strategies in cases that dbt's suite does not cover.

The cases: partitions, nondeterministic sources, NULL, missing and duplicate keys, names and types, Python models.
"""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.guides import example_strategy


def rows(project, table: str) -> list[tuple[object, ...]]:
    return sorted(project.run_sql(f"select * from {project.test_schema}.{table}", fetch="all"), key=str)


FIRST = "select 1 as id, 'a' as part union all select 2, 'b' union all select 3, null"
SECOND = "select 20 as id, 'b' as part union all select 30, null union all select 40, 'c'"


def incremental(config: str, first: str = FIRST, second: str = SECOND) -> str:
    return f"{{{{ config(materialized='incremental', {config}) }}}} {{% if is_incremental() %}} {second} {{% else %}} {first} {{% endif %}}"


class TestInsertOverwrite:
    @pytest.fixture(scope="class")
    def models(self):
        dates = "select {}, timestamp '{}-{}-01 00:00:00' as at union all select {}, timestamp '{}-07-01 00:00:00'"
        return {
            "whole.sql": incremental("incremental_strategy='insert_overwrite'"),
            "parts.sql": incremental("incremental_strategy='insert_overwrite', partition_by='part'"),
            "years.sql": incremental(
                "incremental_strategy='insert_overwrite', partitioned_by=['year(at)']",
                dates.format("1 as id", 2020, "01", 2, 2021),
                dates.format("10 as id", 2021, "03", 20, 2022),
            ),
            "buckets.sql": incremental("incremental_strategy='insert_overwrite', partitioned_by=['part'], clustered_by='id', buckets=3"),
            "repartitioned.sql": incremental(
                "incremental_strategy='insert_overwrite', partitioned_by=['year(at)'] if var('again', false) else 'id'",
                dates.format("1 as id", 2020, "01", 2, 2021),
                dates.format("10 as id", 2021, "07", 20, 2022),
            ),
        }

    def test_insert_overwrite(self, project):
        run_dbt(["run"])
        run_dbt(["run", "--vars", "again: true"])

        assert rows(project, "whole") == [(20, "b"), (30, None), (40, "c")]
        assert rows(project, "parts") == [(1, "a"), (20, "b"), (30, None), (40, "c")]
        assert [row[0] for row in rows(project, "years")] == [1, 10, 20]
        assert rows(project, "buckets") == [(1, "a"), (20, "b"), (30, None), (40, "c")]
        assert [row[0] for row in rows(project, "repartitioned")] == [1, 10, 20]


class TestSourceIsComputedOnce:
    @pytest.fixture(scope="class")
    def models(self):
        half = "select id, 'new' as state from range(1000) as r(id) where rand() < 0.5"
        every = "select id, 'old' as state from range(1000) as r(id)"
        return {
            "replaced.sql": incremental("incremental_strategy='delete+insert', unique_key='id'", every, half),
            "merged.sql": incremental("unique_key='id'", every, half),
        }

    def test_a_nondeterministic_source_is_computed_once(self, project):
        run_dbt(["run"])
        run_dbt(["run"])

        for table in ("replaced", "merged"):
            found = rows(project, table)
            assert sorted(row[0] for row in found) == list(range(1000)), table
            assert {row[1] for row in found} == {"old", "new"}, table


class TestNullKeys:
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"flags": {"send_anonymous_usage_stats": False, "enable_truthy_nulls_equals_macro": True}}

    @pytest.fixture(scope="class")
    def models(self):
        first, second = "select cast(null as int) as id, 'old' as state", "select cast(null as int) as id, 'new' as state"
        return {
            "merged.sql": incremental("unique_key='id'", first, second),
            "replaced.sql": incremental("unique_key='id', incremental_strategy='delete+insert'", first, second),
        }

    def test_null_keys_match_under_the_flag(self, project):
        run_dbt(["run"])
        run_dbt(["run"])

        assert rows(project, "merged") == [(None, "new")]
        assert rows(project, "replaced") == [(None, "new")]


class TestNamesAndTypes:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "model.sql": incremental(
                "unique_key='ID', on_schema_change='sync_all_columns'",
                "select 1 as id, 1 as gone, cast(1 as int) as wider, '5' as retyped, 'k' as kept",
                "select 'k2' as KEPT, 1 as ID, cast(3000000000 as bigint) as wider, 7 as retyped, true as added",
            ),
        }

    def test_all_columns_are_synchronized_by_name(self, project):
        run_dbt(["run"])
        run_dbt(["run"])

        assert project.run_sql(f"select id, wider, retyped, kept, added from {project.test_schema}.model", fetch="all") == [
            (1, 3000000000, 7, "k2", True)
        ]


class TestMissingKeys:
    @pytest.fixture(scope="class")
    def models(self):
        config = "incremental_strategy='{}', unique_key='id', on_schema_change='append_new_columns'"
        queries = ("select id, 'a' as name from range(3) as r(id)", "select 'b' as name")
        expression = "incremental_strategy='delete+insert', unique_key='abs(id)'"
        return {
            "replaced.sql": incremental(config.format("delete+insert"), *queries),
            "merged.sql": incremental(config.format("merge"), *queries),
            "by_expression.sql": incremental(expression, "select 1 as id union all select -2", "select 2 as id"),
        }

    def test_a_query_without_the_key_is_refused_and_deletes_nothing(self, project):
        run_dbt(["run"])
        results = run_dbt(["run"], expect_pass=False).results

        assert {result.node.name for result in results if result.status == "error"} == {"replaced", "merged"}
        assert rows(project, "replaced") == rows(project, "merged") == [(0, "a"), (1, "a"), (2, "a")]
        assert rows(project, "by_expression") == [(1,), (2,)]


class TestDuplicateKeys:
    @pytest.fixture(scope="class")
    def models(self):
        return {"model.sql": incremental("unique_key='id'", "select 1 as id", "select 1 as id union all select 1")}

    def test_a_source_that_matches_a_row_twice_is_refused(self, project):
        run_dbt(["run"])
        (result,) = run_dbt(["run"], expect_pass=False).results

        assert "matches more than one row" in result.message
        assert rows(project, "model") == [(1,)]


PYTHON = """
def model(dbt, session):
    dbt.config(materialized="incremental", unique_key="id", incremental_strategy="{strategy}")
    text = "select 2 as id, 'b' as name union all select 3, 'c'" if dbt.is_incremental else "select 1 as id, 'a' as name union all select 2, 'x'"
    return session.sql(text)
"""
BROKEN = """
def model(dbt, session):
    return session.table("no_such_table_anywhere")
"""


class TestPythonStrategies:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "merged.py": PYTHON.replace("{strategy}", "merge"),
            "replaced.py": PYTHON.replace("{strategy}", "delete+insert"),
            "appended.py": PYTHON.replace("{strategy}", "append"),
        }

    def test_python_models_can_merge_replace_and_append(self, project):
        run_dbt(["run"])
        results = run_dbt(["run"])

        assert rows(project, "merged") == [(1, "a"), (2, "b"), (3, "c")]
        assert rows(project, "replaced") == [(1, "a"), (2, "b"), (3, "c")]
        assert rows(project, "appended") == [(1, "a"), (2, "b"), (2, "x"), (3, "c")]
        assert all(result.adapter_response["snapshot_id"] for result in results)

    def test_the_error_of_a_python_model_shows_its_own_lines(self, project):
        write_file(BROKEN, project.project_root, "models", "broken.py")
        (result,) = run_dbt(["run", "--select", "broken"], expect_pass=False).results

        assert 'session.table("no_such_table_anywhere")' in result.message
        assert 'broken.py (compiled)", line 2, in model' in result.message


class TestStrategyOfContributing:
    """The walk-through of CONTRIBUTING.md, as a macro of a project."""

    @pytest.fixture(scope="class")
    def macros(self):
        return {"insert_missing.sql": example_strategy()}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "kept.sql": incremental(
                "incremental_strategy='insert_missing', unique_key='id'",
                "select 1 as id, 'a' as part union all select 2, 'b'",
                "select 2 as id, 'new' as part union all select 3, 'c'",
            )
        }

    def test_it_inserts_the_rows_whose_key_is_missing(self, project):
        run_dbt(["run"])
        run_dbt(["run"])
        assert rows(project, "kept") == [(1, "a"), (2, "b"), (3, "c")]
