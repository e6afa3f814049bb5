{#
  The session computes the source once and refuses a source in which a row of the target is matched twice. Keys match when they are equal;
  NULL keys match each other only under the behaviour flag `enable_truthy_nulls_equals_macro`.
#}
{% macro ducklake__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) -%}
  {%- set update_columns = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns) -%}
  {%- set columns = dest_columns | map(attribute='quoted') | list -%}
  {%- set conditions = merge_conditions(unique_key, incremental_predicates) -%}

  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ conditions | join(' and ') }}
  {%- if unique_key and update_columns %}
  when matched then update set
    {%- for column in update_columns %}
    {{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
  {%- endif %}
  when not matched then insert ({{ columns | join(', ') }})
  values (
    {%- for column in columns -%}
    DBT_INTERNAL_SOURCE.{{ column }}{{ ', ' if not loop.last }}
    {%- endfor -%}
  )
{%- endmacro %}


{% macro merge_conditions(unique_key, incremental_predicates) %}
  {%- set conditions = [] -%}
  {%- for predicate in incremental_predicates or [] -%}
    {%- do conditions.append('(' ~ predicate ~ ')') -%}
  {%- endfor -%}
  {%- for key in key_columns(unique_key) -%}
    {%- do conditions.append(get_merge_unique_key_match('DBT_INTERNAL_SOURCE.' ~ key, 'DBT_INTERNAL_DEST.' ~ key)) -%}
  {%- endfor -%}
  {%- if not unique_key -%}
    {%- do conditions.append('false') -%}
  {%- endif -%}
  {% do return(conditions) %}
{% endmacro %}


{# The config `unique_key`, one column or several, as a list. #}
{% macro key_columns(unique_key) %}
  {% if not unique_key %}
    {% do return([]) %}
  {% endif %}
  {% do return([unique_key] if unique_key is string else unique_key | list) %}
{% endmacro %}


{% macro ducklake__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) %}
  {% do return(default__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns)) %}
{% endmacro %}
