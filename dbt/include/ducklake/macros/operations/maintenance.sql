{#-
  Maintenance of the profile's lake, or of the attached lake that `database` names. Arguments have the names and meanings of DuckDB's
  procedures. `schema` without a table means all its tables; neither means the whole lake. With `dry_run: true` nothing is removed, and the
  result lists what would be.
-#}

{# dbt run-operation ducklake_checkpoint: flush, expire, merge, rewrite and clean up, with the lake's options. #}
{% macro ducklake_checkpoint(database=none) %}
  {{ return(ducklake_operation('checkpoint' ~ (' ' ~ adapter.quote(database) if database else ''))) }}
{% endmacro %}


{# dbt run-operation ducklake_expire_snapshots --args '{older_than: "2026-01-31", dry_run: true}' #}
{% macro ducklake_expire_snapshots(versions=none, older_than=none, dry_run=none, database=none) %}
  {{ return(ducklake_call('expire_snapshots', {'versions': versions, 'older_than': older_than, 'dry_run': dry_run}, database)) }}
{% endmacro %}


{# dbt run-operation ducklake_merge_adjacent_files --args '{table_name: orders}' #}
{% macro ducklake_merge_adjacent_files(table_name=none, schema=none, min_file_size=none, max_file_size=none, max_compacted_files=none, database=none) %}
  {%- set sizes = {'min_file_size': min_file_size, 'max_file_size': max_file_size, 'max_compacted_files': max_compacted_files} -%}
  {{ return(ducklake_call('merge_adjacent_files', dict(ducklake__place(table_name, schema), **sizes), database)) }}
{% endmacro %}


{# dbt run-operation ducklake_rewrite_data_files --args '{delete_threshold: 0.5}' #}
{% macro ducklake_rewrite_data_files(table_name=none, schema=none, delete_threshold=none, database=none) %}
  {{ return(ducklake_call('rewrite_data_files', dict(ducklake__place(table_name, schema), delete_threshold=delete_threshold), database)) }}
{% endmacro %}


{# dbt run-operation ducklake_flush_inlined_data: write inlined rows to files. `schema_name` is another name of `schema`. #}
{% macro ducklake_flush_inlined_data(table_name=none, schema=none, database=none, schema_name=none) %}
  {%- set schema_name = schema or schema_name or (target.schema if table_name else none) -%}
  {{ return(ducklake_call('flush_inlined_data', {'table_name': table_name, 'schema_name': schema_name}, database)) }}
{% endmacro %}


{# dbt run-operation ducklake_cleanup_old_files --args '{dry_run: true}' #}
{% macro ducklake_cleanup_old_files(older_than=none, cleanup_all=none, dry_run=none, database=none) %}
  {{ return(ducklake_call('cleanup_old_files', {'older_than': older_than, 'cleanup_all': cleanup_all, 'dry_run': dry_run}, database)) }}
{% endmacro %}


{# dbt run-operation ducklake_delete_orphaned_files --args '{dry_run: true}' #}
{% macro ducklake_delete_orphaned_files(older_than=none, cleanup_all=none, dry_run=none, database=none) %}
  {{ return(ducklake_call('delete_orphaned_files', {'older_than': older_than, 'cleanup_all': cleanup_all, 'dry_run': dry_run}, database)) }}
{% endmacro %}


{# dbt run-operation ducklake_rollback --args '{version: 5, table_name: orders}': restore an earlier state as one new snapshot. #}
{% macro ducklake_rollback(version=none, timestamp=none, table_name=none, schema=none, dry_run=none, database=none) %}
  {%- set snapshot = {'version': version, 'timestamp': timestamp, 'dry_run': dry_run} -%}
  {{ return(ducklake_call('rollback', dict(ducklake__place(table_name, schema), **snapshot), database)) }}
{% endmacro %}


{# dbt run-operation ducklake_migrate: migrate a lake of an older format version to the current one. #}
{% macro ducklake_migrate(database=none) %}
  {{ return(ducklake_call('migrate', {}, database)) }}
{% endmacro %}


{% macro ducklake__place(table_name, schema) %}
  {{ return({'table_name': table_name, 'schema': schema or (target.schema if table_name else none)}) }}
{% endmacro %}
