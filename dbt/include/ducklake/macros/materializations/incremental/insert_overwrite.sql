{# The source replaces the partitions for which it has rows; without `partition_by` it replaces the whole table. #}
{% macro ducklake__get_incremental_insert_overwrite_sql(arg_dict) %}
  {% do return(ducklake__insert_overwrite_sql(arg_dict['target_relation'], arg_dict['temp_relation'], ducklake__overwritten_keys(), arg_dict['dest_columns'])) %}
{% endmacro %}


{# The partition keys without the buckets of `clustered_by`, which are not partitions in dbt-spark. #}
{% macro ducklake__overwritten_keys() %}
  {% do return(adapter.layout({'partitioned_by': config.get('partitioned_by'), 'partition_by': config.get('partition_by')}).partitioned_by | list) %}
{% endmacro %}


{% macro ducklake__insert_overwrite_sql(target, source, keys, dest_columns) -%}
  {%- set columns = get_quoted_csv(dest_columns | map(attribute='name')) -%}
  insert overwrite {{ target }}{{ ' partition (' ~ keys | join(', ') ~ ')' if keys }} ({{ columns }})
  select {{ columns }} from {{ source }}
{%- endmacro %}
