{#- Options, layouts of tables, added files, commit messages and clones. -#}

{# dbt run-operation ducklake_set_option --args '{key: target_file_size, value: 256MB, table_name: orders}' #}
{% macro ducklake_set_option(key, value, schema=none, table_name=none, database=none) %}
  {{ return(ducklake_call('set_option', dict({'key': key, 'value': value}, **ducklake__place(table_name, schema)), database)) }}
{% endmacro %}


{# dbt run-operation ducklake_set_partitioned_by --args '{table_name: orders, keys: [year(ordered_at), "bucket(8, customer_id)"]}' #}
{% macro ducklake_set_partitioned_by(table_name, keys, schema=none, database=none) %}
  {%- do ducklake_require('ducklake_set_partitioned_by', {'table_name': table_name, 'keys': keys}) -%}
  {%- set keys = [keys] if keys is string else keys -%}
  {{ return(ducklake_operation('alter table ' ~ ducklake_table(table_name, schema, database) ~ ' set partitioned by (' ~ keys | join(', ') ~ ')')) }}
{% endmacro %}


{# dbt run-operation ducklake_reset_partitioned_by --args '{table_name: orders}' #}
{% macro ducklake_reset_partitioned_by(table_name, schema=none, database=none) %}
  {%- do ducklake_require('ducklake_reset_partitioned_by', {'table_name': table_name}) -%}
  {{ return(ducklake_operation('alter table ' ~ ducklake_table(table_name, schema, database) ~ ' reset partitioned by')) }}
{% endmacro %}


{# dbt run-operation ducklake_set_sorted_by --args '{table_name: orders, keys: ordered_at desc}' #}
{% macro ducklake_set_sorted_by(table_name, keys, schema=none, database=none) %}
  {%- do ducklake_require('ducklake_set_sorted_by', {'table_name': table_name, 'keys': keys}) -%}
  {%- set keys = [keys] if keys is string else keys -%}
  {{ return(ducklake_operation('alter table ' ~ ducklake_table(table_name, schema, database) ~ ' set sorted by (' ~ keys | join(', ') ~ ')')) }}
{% endmacro %}


{# dbt run-operation ducklake_reset_sorted_by --args '{table_name: orders}' #}
{% macro ducklake_reset_sorted_by(table_name, schema=none, database=none) %}
  {%- do ducklake_require('ducklake_reset_sorted_by', {'table_name': table_name}) -%}
  {{ return(ducklake_operation('alter table ' ~ ducklake_table(table_name, schema, database) ~ ' reset sorted by')) }}
{% endmacro %}


{# dbt run-operation ducklake_add_data_files --args '{table_name: orders, files: "s3://bucket/orders/*.parquet"}' #}
{% macro ducklake_add_data_files(
  table_name, files, schema=none, allow_missing=none, ignore_extra_columns=none, hive_partitioning=none, database=none
) %}
  {%- set arguments = {'table_name': table_name, 'files': files, 'schema': schema or target.schema} -%}
  {%- set strictness = {'allow_missing': allow_missing, 'ignore_extra_columns': ignore_extra_columns, 'hive_partitioning': hive_partitioning} -%}
  {{ return(ducklake_call('add_data_files', dict(arguments, **strictness), database)) }}
{% endmacro %}


{# In a hook of a model: set the commit message of the model's snapshot. #}
{% macro ducklake_set_commit_message(author, message, extra_info=none) %}
  {%- set arguments = {'author': author, 'message': message, 'extra_info': extra_info} -%}
  {{ return(ducklake_call('set_commit_message', arguments, this.database if this else none)) }}
{% endmacro %}


{#
  Clone a table or a whole schema, which then share their files: dbt run-operation ducklake_clone --args '{schema: prod, into: dev_anna}', or
  '{table: orders, into: dev_anna.orders_copy}'. If `into` is a schema, a table keeps its name. With `version` or `timestamp` the clone has the
  rows of that snapshot. `replace: true` replaces an existing table. `table` is another name for `table_name`.
#}
{% macro ducklake_clone(
  table_name=none, schema=none, into=none, version=none, timestamp=none, replace=none, database=none, table=none
) %}
  {%- set source = ducklake__place(table_name or table, schema) -%}
  {%- do ducklake_require('ducklake_clone', {'table_name or schema': source.schema, 'into': into}) -%}
  {%- set clone = {'into': into, 'version': version, 'timestamp': timestamp, 'replace': replace} -%}
  {{ return(ducklake_call('clone', dict(source, **clone), database)) }}
{% endmacro %}
