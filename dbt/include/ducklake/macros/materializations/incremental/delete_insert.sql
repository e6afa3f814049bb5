{#
  Rows of the target whose whole key is in the source are replaced by the source's rows. With a key, the source is computed once, because
  two statements read it.
#}
{% macro ducklake__get_incremental_delete_insert_sql(arg_dict) %}
  {% if ducklake__key_columns(arg_dict['unique_key']) %}
    {% do ducklake__keep_source(arg_dict['temp_relation'], 'delete+insert') %}
  {% endif %}
  {% do return(get_delete_insert_merge_sql(
    arg_dict['target_relation'], arg_dict['temp_relation'], arg_dict['unique_key'], arg_dict['dest_columns'], arg_dict['incremental_predicates']
  )) %}
{% endmacro %}


{% macro ducklake__get_delete_insert_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- set keys = ducklake__key_columns(unique_key) -%}
  {%- if keys %}
  delete from {{ target }} as DBT_INTERNAL_DEST
  where {{ ducklake__key_is_in_source(keys, source) }}
    {%- for predicate in incremental_predicates or [] %}
    and ({{ predicate }})
    {%- endfor %};
  {%- endif %}

  {{ ducklake__insert_rows_sql(target, source, dest_columns) }}
{%- endmacro %}


{% macro ducklake__key_is_in_source(keys, source) -%}
  {%- if adapter.behavior.enable_truthy_nulls_equals_macro.no_warn -%}
    exists (
      select 1 from {{ source }} as DBT_INTERNAL_SOURCE
      where {% for key in keys -%}
        {{ equals('DBT_INTERNAL_SOURCE.' ~ key, 'DBT_INTERNAL_DEST.' ~ key) }}{{ ' and ' if not loop.last }}
      {%- endfor %}
    )
  {%- else -%}
    {%- set selected = [] -%}
    {%- for key in keys -%}
      {#- Without the qualifier, a column that the source lacks would be the target's, and every row would match. An expression has no qualifier. -#}
      {%- set is_column = key.replace('_', '').isalnum() or key.startswith('`') -%}
      {%- do selected.append('DBT_INTERNAL_SOURCE.' ~ key if is_column else key) -%}
    {%- endfor -%}
    ({{ keys | join(', ') }}) in (select distinct {{ selected | join(', ') }} from {{ source }} as DBT_INTERNAL_SOURCE)
  {%- endif -%}
{%- endmacro %}
