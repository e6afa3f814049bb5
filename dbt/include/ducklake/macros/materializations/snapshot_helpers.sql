{# dbt calls it with the `unique_key` as it is configured, possibly in double quotes. #}
{% macro ducklake__snapshot_hash_arguments(args) -%}
  md5(
    {%- for arg in ducklake__key_columns(args) -%}
    coalesce(cast({{ arg }} as string), ''){{ " || '|' || " if not loop.last }}
    {%- endfor -%}
  )
{%- endmacro %}


{#
  Only current versions match. A row that was deleted and is back with the same `updated_at` has the `dbt_scd_id` of its closed version, and
  is inserted nevertheless. Its `updated_at` is before the record of its deletion, which therefore ends now. A new version may have the
  `dbt_scd_id` of the one that ends: if `updated_at` is the same, or if the key is NULL, so that dbt takes the row for a deleted and a new one.
#}
{% macro ducklake__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set valid_to = 'DBT_INTERNAL_DEST.' ~ names.dbt_valid_to -%}
  {%- set current = config.get('dbt_valid_to_current') -%}
  {%- set end = 'DBT_INTERNAL_SOURCE.' ~ names.dbt_valid_to -%}
  {%- set hard_deletes = adapter.get_hard_deletes_behavior(config) -%}
  {%- if hard_deletes == 'new_record' -%}
    {%- set end = 'if(' ~ end ~ ' < DBT_INTERNAL_DEST.' ~ names.dbt_valid_from ~ ', ' ~ snapshot_get_time() ~ ', ' ~ end ~ ')' -%}
  {%- endif %}

  merge into {{ target.render() }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.{{ names.dbt_scd_id }} = DBT_INTERNAL_DEST.{{ names.dbt_scd_id }}
    and ({{ valid_to }} is null{{ ' or ' ~ valid_to ~ ' = ' ~ current if current }})
    {%- if hard_deletes != 'ignore' or config.get('strategy') == 'check' %}
    and DBT_INTERNAL_SOURCE.dbt_change_type <> 'insert'
    {%- endif %}
  when matched
    and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
  then update set {{ names.dbt_valid_to }} = {{ end }}
  when not matched
    and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
  then insert ({{ insert_cols | join(', ') }})
  values (
    {%- for column in insert_cols -%}
    DBT_INTERNAL_SOURCE.{{ column }}{{ ', ' if not loop.last }}
    {%- endfor -%}
  )
{%- endmacro %}


{# The staging rows are a temporary view, so dropping it does not change the lake. #}
{% macro ducklake__post_snapshot(staging_relation) %}
  {% call statement('post_snapshot', auto_begin=False) -%}
    drop view if exists {{ staging_relation }}
  {%- endcall %}
{% endmacro %}


{#
  dbt compares the names of a snapshot's query with those of its table, case included. A name that the table has in another spelling is
  therefore returned in the table's spelling.
#}
{% macro ducklake__get_columns_in_query(select_sql) %}
  {%- set names = default__get_columns_in_query(select_sql) -%}
  {%- if model is not defined or model.resource_type != 'snapshot' -%}
    {{ return(names) }}
  {%- endif -%}
  {%- set relation = adapter.get_relation(database=model.database, schema=model.schema, identifier=model.alias) -%}
  {%- if relation is none -%}
    {{ return(names) }}
  {%- endif -%}
  {%- set spellings = {} -%}
  {%- for column in adapter.get_columns_in_relation(relation) -%}
    {%- do spellings.update({api.Column.fold(column.name): column.name}) -%}
  {%- endfor -%}
  {%- set found = [] -%}
  {%- for name in names -%}
    {%- do found.append(name if name in spellings.values() else spellings.get(api.Column.fold(name), name)) -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}
