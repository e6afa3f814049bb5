"""The profile's `target_type`: packages that know Spark and Databricks by `target.type` and by their macros' names."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.exceptions import CompilationError
from dbt.tests.util import run_dbt, run_dbt_and_capture

PACKAGE = "name: borrowed\nversion: '1.0'\nconfig-version: 2\n"
MACROS = """
{% macro staged(name) %}
  {%- if target.type in ('bigquery', 'spark', 'databricks') -%} `{{ name }}`
  {%- elif target.type == 'snowflake' -%} "{{ name | upper }}"
  {%- else -%} "{{ name }}" {%- endif -%}
{% endmacro %}

{% macro of_two() %}{{ return(adapter.dispatch('of_two', 'borrowed')()) }}{% endmacro %}
{% macro default__of_two() %}{{ return('default') }}{% endmacro %}
{% macro databricks__of_two() %}{{ return('databricks') }}{% endmacro %}

{% macro of_three() %}{{ return(adapter.dispatch('of_three', 'borrowed')()) }}{% endmacro %}
{% macro default__of_three() %}{{ return('default') }}{% endmacro %}
{% macro spark__of_three() %}{{ return('spark') }}{% endmacro %}
{% macro databricks__of_three() %}{{ return('databricks') }}{% endmacro %}
"""
WITHOUT_DEFAULT = """
{% macro no_default() %}{{ return(adapter.dispatch('no_default', 'borrowed')()) }}{% endmacro %}
{% macro snowflake__no_default() %}{{ return('snowflake') }}{% endmacro %}
{% macro databricks__no_default() %}{{ return('databricks') }}{% endmacro %}
"""
"""dbt searches all macros of a package when it parses a project, so without `databricks__` this package cannot be used at all."""
MAILS = "{{ config(materialized='table') }} select 'ann@x' as `from`, 'bob@x' as `to`"
STAGED = "select {{ borrowed.staged('from') }} as sender from {{ ref('mails') }}"
ANSWERS = """
select '{{ borrowed.of_two() }}' as two, '{{ borrowed.of_three() }}' as three, {{ var('depth') }} as depth,
  {{ 1 if target.type == 'ducklake' else 0 }} as is_ours, {{ 1 if target.type != 'spark' else 0 }} as is_not_spark, '{{ target.type }}' as shown
"""


class Borrowing:
    """A project with a package of the shape of popular ones."""

    target_type: str | None = None
    macros_of_package = MACROS

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        return {**dbt_profile_target, **({"target_type": self.target_type} if self.target_type else {})}

    @pytest.fixture(scope="class")
    def models(self):
        return {"mails.sql": MAILS, "staged.sql": STAGED, "answers.sql": ANSWERS}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"vars": {"depth": "{{ 9 if target.type in ['spark', 'databricks'] else -1 }}"}}

    @pytest.fixture(scope="class", autouse=True)
    def package(self, project):
        package = Path(project.project_root, "dbt_packages", "borrowed")
        (package / "macros").mkdir(parents=True)
        (package / "dbt_project.yml").write_text(PACKAGE)
        (package / "macros" / "all.sql").write_text(self.macros_of_package)

    @staticmethod
    def only(project, model: str) -> tuple[object, ...]:
        (row,) = project.run_sql(f"select * from {model}", fetch="all")
        return tuple(row)


class TestNoTargetType(Borrowing):
    def test_a_text_that_is_a_column_is_a_warning(self, project):
        _, log = run_dbt_and_capture(["run"])
        assert self.only(project, "staged") == ("from",)  # what Spark makes of double quotes
        assert log.count('model.test.staged: The query has "from" in double quotes, which is a string') == 1
        assert "target_type: spark" in log
        assert self.only(project, "answers") == ("default", "spark", -1, 1, 1, "ducklake")

    @pytest.mark.usefixtures("project")
    def test_the_warning_can_be_an_error(self):
        run_dbt(["run", "--select", "mails"])
        (result,) = run_dbt(["--warn-error", "run", "--select", "staged"], expect_pass=False)
        assert "in double quotes" in result.message

    def test_identifiers_in_double_quotes_are_an_option(self, project):
        run_dbt(["run", "--select", "mails"])
        Path(project.project_root, "models", "staged.sql").write_text(
            "{{ config(materialized='table', spark_config={'spark.sql.ansi.doubleQuotedIdentifiers': true}) }}" + STAGED
        )
        _, log = run_dbt_and_capture(["run", "--select", "staged"])
        assert self.only(project, "staged") == ("ann@x",)
        assert "in double quotes" not in log
        Path(project.project_root, "models", "staged.sql").write_text(STAGED)


class TestSpark(Borrowing):
    target_type = "spark"

    def test_packages_see_spark(self, project):
        _, log = run_dbt_and_capture(["run"])
        assert self.only(project, "staged") == ("ann@x",)
        assert "in double quotes" not in log
        assert self.only(project, "answers") == ("default", "spark", 9, 1, 0, "ducklake")


class TestDatabricks(Borrowing):
    target_type = "databricks"
    macros_of_package = MACROS + WITHOUT_DEFAULT

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "mails.sql": MAILS,
            "staged.sql": STAGED,
            "answers.sql": ANSWERS,
            "none.sql": "select '{{ borrowed.no_default() }}' as found",
        }

    def test_packages_see_databricks_after_spark(self, project):
        run_dbt(["run"])
        assert self.only(project, "staged") == ("ann@x",)
        assert self.only(project, "answers") == ("databricks", "spark", 9, 1, 1, "ducklake")
        assert self.only(project, "none") == ("databricks",)

    def test_another_target_type_parses_the_project_again(self, project):
        file = Path(project.profiles_dir, "profiles.yml")
        before = file.read_text()
        try:
            file.write_text(before.replace("target_type: databricks", "target_type: spark"))
            with pytest.raises(CompilationError, match="No macro named 'no_default' found"):
                run_dbt(["run", "--select", "answers"])
        finally:
            file.write_text(before)
