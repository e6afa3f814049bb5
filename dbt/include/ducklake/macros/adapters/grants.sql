{# DuckLake has no grants: the catalog database and the storage control access. #}
{% macro ducklake__apply_grants(relation, grant_config, should_revoke=True) %}
  {% if grant_config %}
    {% do adapter.warn_once("DuckLake has no grants; the config `grants` does nothing. Give access in the catalog database and in the storage.") %}
  {% endif %}
{% endmacro %}
