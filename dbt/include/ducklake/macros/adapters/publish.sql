{# The hook at the end of each run. It is enabled when dbt parses the project, which may be in an earlier command. #}
{% macro ducklake_publish_run(results) %}
  {% do config(enabled=adapter.publishes_at_end()) %}
  {{ adapter.publishing_statement(results) if execute }}
{% endmacro %}
