{#
  DuckLake has no grants: the catalog database and the storage control access. Our materializations have refused the config before;
  this is for those of packages.
#}
{% macro ducklake__apply_grants(relation, grant_config, should_revoke=True) %}
  {% do adapter.check_foreign_configs({'grants': grant_config, 'unenforced_access': config.get('unenforced_access')}, {}) %}
{% endmacro %}
