{# The hook at the end of each run. It exists only if the command publishes its nodes together. #}
{% macro ducklake_publish_run(results) %}
  {% do config(enabled=adapter.publishes_run()) %}
  {% if execute %}
    {% do adapter.publish_run(results) %}
  {% endif %}
{% endmacro %}
