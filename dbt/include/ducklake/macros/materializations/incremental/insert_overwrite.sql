{# The source replaces the partitions for which it has rows; without `partition_by` it replaces the whole table. #}
{% macro ducklake__get_incremental_insert_overwrite_sql(arg_dict) %}
  {%- set keys = overwritten_keys() -%}
  {%- set target, source, columns = arg_dict['target_relation'], arg_dict['temp_relation'], arg_dict['dest_columns'] -%}
  {% if not keys or keys == partition_keys() and keys | join | replace('(', '') == keys | join %}
    {% do return(insert_overwrite_sql(target, source, keys, columns)) %}
  {% endif %}
  {% do keep_source(source, 'insert_overwrite by these keys') %}
  {% do return(replace_partitions_sql(target, source, keys, columns)) %}
{% endmacro %}


{# The partition keys without the buckets of `clustered_by`, which are not partitions in dbt-spark. #}
{% macro overwritten_keys() %}
  {% do return(adapter.layout({'partitioned_by': config.get('partitioned_by'), 'partition_by': config.get('partition_by')}).partitioned_by | list) %}
{% endmacro %}


{% macro insert_overwrite_sql(target, source, keys, dest_columns) -%}
  {%- set columns = get_quoted_csv(dest_columns | map(attribute='name')) -%}
  insert overwrite {{ target }}{{ ' partition (' ~ keys | join(', ') ~ ')' if keys }} ({{ columns }})
  select {{ columns }} from {{ source }}
{%- endmacro %}


{# A PARTITION clause can name only columns. If a key is an expression, the partitions of the source are deleted first. #}
{% macro replace_partitions_sql(target, source, keys, dest_columns) -%}
  {%- for key in keys if key | lower | trim | replace('bucket', '') != key | lower | trim -%}
    {%- do exceptions.raise_compiler_error('insert_overwrite cannot replace the partitions of ' ~ key ~ '; use merge or delete+insert') -%}
  {%- endfor -%}
  delete from {{ target }} as DBT_INTERNAL_DEST
  where exists (
    select 1
    from (
      select distinct {% for key in keys %}{{ key }} as key_{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %}
      from {{ source }}
    ) as DBT_INTERNAL_SOURCE
    where {% for key in keys %}DBT_INTERNAL_SOURCE.key_{{ loop.index }} <=> {{ key }}{{ ' and ' if not loop.last }}{% endfor %}
  );

  {{ insert_rows_sql(target, source, dest_columns) }}
{%- endmacro %}
