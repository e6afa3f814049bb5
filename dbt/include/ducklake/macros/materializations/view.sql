{% materialization view, adapter='ducklake' %}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='view') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {% do ducklake__begin_snapshot() %}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% do ducklake__drop_if_of_other_type(existing_relation, 'view') %}
  {% call statement('main') -%}
    {{ get_create_view_as_sql(target_relation, sql) }}
  {%- endcall %}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}
