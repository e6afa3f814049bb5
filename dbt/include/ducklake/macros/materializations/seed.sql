{#
  The rows are already in dbt's process, so they are written without Spark and SQL. Otherwise a seed is like any other node: hooks, docs
  and rows are one snapshot.
#}
{% materialization seed, adapter='ducklake' %}

  {%- set existing_relation = adapter.get_relation(database=database, schema=schema, identifier=model['alias']) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- do adapter.check_seed_header(model) -%}
  {%- set agate_table = load_agate_table() -%}
  {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}

  {% if existing_relation is not none and existing_relation.is_view %}
    {% do exceptions.raise_compiler_error("Cannot seed to '{}', it is a view".format(existing_relation.render())) %}
  {% endif %}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {% do ducklake__begin_snapshot() %}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% set rebuild = existing_relation is none or should_full_refresh() %}
  {% set column_types, quote_columns = config.get('column_types') or {}, config.get('quote_columns') %}
  {% if rebuild and ducklake__configured_layout().names %}
    {% do adapter.create_seed_table(target_relation, agate_table, column_types, quote_columns) %}
  {% endif %}
  {% if rebuild %}
    {% do ducklake__alter_layout(target_relation, adapter.layout_actions(target_relation, ducklake__configured_layout())) %}
  {% else %}
    {% do ducklake__apply_layout(target_relation) %}
  {% endif %}
  {% set response = adapter.load_seed(target_relation, agate_table, column_types, quote_columns, rebuild) %}
  {% do store_result('main', response=response, agate_table=none) %}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{# For packages that build tables from CSV themselves: dbt's default, without the clauses of dbt-spark. #}
{% macro ducklake__create_csv_table(model, agate_table) %}
  {% do return(default__create_csv_table(model, agate_table)) %}
{% endmacro %}


{% macro ducklake__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {% do return(default__reset_csv_table(model, full_refresh, old_relation, agate_table)) %}
{% endmacro %}


{% macro ducklake__load_csv_rows(model, agate_table) %}
  {% do return(default__load_csv_rows(model, agate_table)) %}
{% endmacro %}


{% macro ducklake__get_binding_char() %}
  {% do return('%s') %}
{% endmacro %}
