{% macro ducklake__get_incremental_append_sql(arg_dict) %}
  {% do return(ducklake__insert_rows_sql(arg_dict['target_relation'], arg_dict['temp_relation'], arg_dict['dest_columns'])) %}
{% endmacro %}


{# Columns are matched by name, so their order in the model does not matter. #}
{% macro ducklake__insert_rows_sql(target, source, dest_columns) -%}
  {%- set columns = get_quoted_csv(dest_columns | map(attribute='name')) -%}
  insert into {{ target }} ({{ columns }})
  select {{ columns }} from {{ source }}
{%- endmacro %}
