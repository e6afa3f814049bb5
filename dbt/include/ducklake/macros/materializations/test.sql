{#
  dbt's materialization of tests, with two differences: stored failures replace those of the last run in one snapshot, as a model's rows do,
  and the result may decide whether the tested nodes are published.
#}
{% materialization test, adapter='ducklake' %}
  {% set made = ducklake__test_of_stored_failures() if should_store_failures() else materialization_test_default() %}
  {% set warnings_fail = flags.WARN_ERROR or flags.WARN_ERROR_OPTIONS.includes('LogTestResult') %}
  {% do adapter.test_ran(model, load_result('main')['table'], warnings_fail) %}
  {{ return(made) }}
{% endmaterialization %}


{% macro ducklake__test_of_stored_failures() %}
  {%- set type = config.get('store_failures_as') or 'table' -%}
  {%- if type not in ('table', 'view') -%}
    {%- do exceptions.raise_compiler_error("'" ~ type ~ "' is not a valid value for `store_failures_as`. Accepted values are: ['ephemeral', 'table', 'view']") -%}
  {%- endif -%}
  {%- set relation = this.incorporate(type=type) -%}

  {% do ducklake__begin_snapshot() %}
  {% do ducklake__drop_if_of_other_type(load_cached_relation(this), type) %}
  {% do ducklake__undo_removed_layout(relation) %}
  {% call statement('failures') -%}
    {{ get_create_sql(relation, get_limit_subquery_sql(compiled_code, config.get('limit'))) }}
  {%- endcall %}
  {% do adapter.commit() %}

  {% call statement('main', fetch_result=True) -%}
    {{ get_test_sql('select * from ' ~ relation.render(), config.get('fail_calc'), config.get('warn_if'), config.get('error_if'), limit=none) }}
  {%- endcall %}
  {% do return({'relations': [relation]}) %}
{% endmacro %}
