{#
  DuckLake has no grants: the catalog database and the storage control access. `pre_model_hook` has refused the config of the node; this is
  for grants that a macro passes.
#}
{% macro ducklake__apply_grants(relation, grant_config, should_revoke=True) %}
  {% do adapter.check_foreign_configs({'grants': grant_config, 'unenforced_access': config.get('unenforced_access')}, {}) %}
{% endmacro %}
