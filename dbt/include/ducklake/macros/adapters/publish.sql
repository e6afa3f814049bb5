{# The hook at the end of each run. It is enabled when dbt parses the project, which may be in an earlier command. #}
{% macro ducklake_publish_run(results) %}
  {% do config(enabled=adapter.publishes_at_end()) %}
  {% if execute %}
    {% do adapter.publish_run(results) %}
  {% endif %}
{% endmacro %}

{# dbt's materialization of tests. Its result may decide whether the tested nodes are published. #}
{% materialization test, adapter='ducklake' %}
  {% set made = materialization_test_default() %}
  {% set warnings_fail = flags.WARN_ERROR or flags.WARN_ERROR_OPTIONS.includes('LogTestResult') %}
  {% do adapter.test_ran(model, load_result('main')['table'], warnings_fail) %}
  {{ return(made) }}
{% endmaterialization %}
