{% materialization table, adapter='ducklake', supported_languages=['sql', 'python'] %}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set query = compiled_code -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {% do ducklake__begin_snapshot() %}
  {% do ducklake__require_first_build(existing_relation, target_relation) %}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if model.language == 'python' %}
    {% set result = make_temp_relation(target_relation) %}
    {% call statement('main', language='python') -%}
      {{ create_table_as(False, result, compiled_code, 'python') }}
    {%- endcall %}
    {% set query = 'select * from ' ~ result %}
  {% endif %}

  {% do ducklake__drop_if_of_other_type(existing_relation, 'table') %}
  {% do ducklake__undo_removed_layout(target_relation) %}
  {% call statement('main' if model.language == 'sql' else 'build') -%}
    {{ get_create_table_as_sql(False, target_relation, query) }}
  {%- endcall %}
  {% do ducklake__answer_for_python('build') %}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{#
  If the type changes from view to table or back, the same snapshot drops the old relation and creates the new one. A function is another
  node, which is never dropped.
#}
{% macro ducklake__drop_if_of_other_type(existing_relation, type) %}
  {% if existing_relation is not none and existing_relation.is_function %}
    {% do exceptions.relation_wrong_type(existing_relation, type) %}
  {% elif existing_relation is not none and existing_relation.type != type %}
    {% do adapter.drop_relation(existing_relation) %}
  {% endif %}
{% endmacro %}


{#
  A table that dbt did not find is created and never replaced: a concurrent first build of the same relation is refused, unless for a full
  refresh. This runs before the hooks, which may create the table.
#}
{% macro ducklake__require_first_build(existing_relation, target_relation) %}
  {% if existing_relation is none and not should_full_refresh() %}
    {% do adapter.require_absent(target_relation) %}
  {% endif %}
{% endmacro %}


{# The response of a Python model is that of the SQL statement that wrote its rows. #}
{% macro ducklake__answer_for_python(statement_name) %}
  {% if model.language == 'python' %}
    {% set written = load_result(statement_name) %}
    {% do store_result('main', response=written.response, agate_table=written.table) %}
  {% endif %}
{% endmacro %}
