"""The features that packages need: the dispatch chain ducklake, spark, default; queries of information_schema; SHOW TABLE EXTENDED.

The package is our own, written in the style of popular packages; `tests/acceptance/test_packages.py` runs the real ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.tests.util import run_dbt

PACKAGE = "name: borrowed\nversion: '1.0'\nconfig-version: 2\n"
MACROS = """
{% macro for_spark() %}{{ return(adapter.dispatch('for_spark', 'borrowed')()) }}{% endmacro %}
{% macro default__for_spark() %}{{ return('default') }}{% endmacro %}
{% macro spark__for_spark() %}{{ return('spark') }}{% endmacro %}

{% macro for_ducklake() %}{{ return(adapter.dispatch('for_ducklake', 'borrowed')()) }}{% endmacro %}
{% macro default__for_ducklake() %}{{ return('default') }}{% endmacro %}
{% macro spark__for_ducklake() %}{{ return('spark') }}{% endmacro %}
{% macro ducklake__for_ducklake() %}{{ return('ducklake') }}{% endmacro %}

{% macro for_default() %}{{ return(adapter.dispatch('for_default', 'borrowed')()) }}{% endmacro %}
{% macro default__for_default() %}{{ return('default') }}{% endmacro %}

{% macro patched() %}{{ return(adapter.dispatch('patched', 'borrowed')()) }}{% endmacro %}
{% macro spark__patched() %}{{ return('package') }}{% endmacro %}

{% macro regexp_instr(value, regexp, position=1, occurrence=1, is_raw=False, flags='') %}
  {{ return(adapter.dispatch('regexp_instr', 'borrowed')(value, regexp, position, occurrence, is_raw, flags)) }}
{% endmacro %}
{% macro spark__regexp_instr(value, regexp, position, occurrence, is_raw, flags) %}length(regexp_extract({{ value }}, '{{ regexp }}', 0)){% endmacro %}

{% macro by_information_schema(pattern, database=target.database) %}
  {% set found = run_query("select distinct table_schema as " ~ adapter.quote('table_schema') ~ ", table_name as " ~ adapter.quote('table_name') ~
      ", case table_type when 'BASE TABLE' then 'table' else lower(table_type) end as " ~ adapter.quote('table_type') ~
      " from " ~ database ~ ".information_schema.tables where table_schema ilike '" ~ target.schema ~
      "' and table_name ilike '" ~ pattern ~ "' order by 2") %}
  {% set relations = [] %}
  {% for row in found %}
    {% do relations.append(api.Relation.create(database=database, schema=row.table_schema, identifier=row.table_name, type=row.table_type)) %}
  {% endfor %}
  {{ return(relations) }}
{% endmacro %}

{% macro by_show(pattern) %}
  {% set relations = [] %}
  {% for row in run_query("show table extended in " ~ target.schema ~ " like '" ~ pattern ~ "'") %}
    {% do relations.append(api.Relation.create(database=None, schema=row[0], identifier=row[1], type='view' if 'Type: VIEW' in row[3] else 'table')) %}
  {% endfor %}
  {{ return(relations) }}
{% endmacro %}
"""
PROJECTS_OWN = "{% macro ducklake__patched() %}{{ return('project') }}{% endmacro %}"
UNION = """
-- depends_on: {{ ref('part_a') }}, {{ ref('part_b') }}
{% for relation in borrowed.__MACRO__ %}
select '{{ relation.type }}' as kind, '{{ relation.identifier }}' as part, * from {{ relation }} {% if not loop.last %} union all {% endif %}
{% endfor %}
"""


class TestPackages:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "part_a.sql": "{{ config(materialized='table') }} select 1 as id",
            "part_b.sql": "{{ config(materialized='view') }} select 2 as id",
            "by_information_schema.sql": UNION.replace("__MACRO__", "by_information_schema('PART%')"),
            "by_show.sql": UNION.replace("__MACRO__", "by_show('part*')"),
            "dispatched.sql": "select '{{ borrowed.for_spark() }}' a, '{{ borrowed.for_ducklake() }}' b, '{{ borrowed.for_default() }}' c, '{{ borrowed.patched() }}' d",
            "matched.sql": "select {{ borrowed.regexp_instr(\"'ab1'\", '\\\\d', is_raw=true) }} a, {{ borrowed.regexp_instr(\"'ab1'\", 'B', flags='i') }} b, "
            "{{ borrowed.regexp_instr(\"'abab'\", 'a', 2) }} c, {{ borrowed.regexp_instr(\"'abab'\", 'x', 2) }} d",
        }

    @pytest.fixture(scope="class")
    def macros(self):
        return {"own.sql": PROJECTS_OWN}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"dispatch": [{"macro_namespace": "borrowed", "search_order": ["test", "dbt", "borrowed"]}]}

    def test_a_package_finds_its_macros_and_relations(self, project):
        package = Path(project.project_root, "dbt_packages", "borrowed")
        (package / "macros").mkdir(parents=True)
        (package / "dbt_project.yml").write_text(PACKAGE)
        (package / "macros" / "all.sql").write_text(MACROS)
        run_dbt(["run"])
        answer = [("table", "part_a", 1), ("view", "part_b", 2)]
        for way in ("by_information_schema", "by_show"):
            assert project.run_sql(f"select * from {way} order by 2", fetch="all") == answer, way
        assert project.run_sql("select * from dispatched", fetch="one") == ("spark", "ducklake", "default", "project")
        assert project.run_sql("select * from matched", fetch="one") == (3, 2, 3, 0)
