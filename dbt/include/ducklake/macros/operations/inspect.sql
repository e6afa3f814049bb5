{#- What a lake holds and how it came about. -#}

{# dbt run-operation ducklake_snapshots #}
{% macro ducklake_snapshots() %}
  {{ return(ducklake_call('snapshots', {})) }}
{% endmacro %}


{# dbt run-operation ducklake_table_info #}
{% macro ducklake_table_info() %}
  {{ return(ducklake_call('table_info', {})) }}
{% endmacro %}


{# dbt run-operation ducklake_options #}
{% macro ducklake_options() %}
  {{ return(ducklake_call('options', {})) }}
{% endmacro %}


{# dbt run-operation ducklake_list_files --args '{table_name: orders}' #}
{% macro ducklake_list_files(table_name, schema=none, snapshot_version=none, snapshot_time=none) %}
  {%- set at = {'snapshot_version': snapshot_version, 'snapshot_time': snapshot_time} -%}
  {{ return(ducklake_call('list_files', dict(_ducklake_place(table_name, schema), **at))) }}
{% endmacro %}


{#
  The changes of a table from one snapshot or moment to another, both included: in a model
  `select * from {{ ducklake_table_changes(ref('orders'), 3, 7) }}`, or
  dbt run-operation ducklake_table_changes --args '{table: orders, start_snapshot: 3, end_snapshot: 7}'
#}
{% macro ducklake_table_changes(table, start_snapshot, end_snapshot, schema=none) %}
  {%- set relation = ducklake_table(table, schema) if table is string else table -%}
  {%- set places = [target.database, relation.schema, relation.identifier, start_snapshot, end_snapshot] -%}
  {%- set given = [] -%}
  {%- for place in places -%}{%- do given.append(ducklake_literal(place)) -%}{%- endfor -%}
  {%- set changes = 'ducklake_table_changes(' ~ given | join(', ') ~ ')' -%}
  {%- if flags.WHICH == 'run-operation' -%}
    {{ return(ducklake_operation('call ' ~ changes)) }}
  {%- endif -%}
  {{ return(changes) }}
{% endmacro %}


{# A table as it was: `select * from {{ ducklake_at(ref('orders'), version=3) }}`, or `timestamp='2026-01-31 12:00:00+00:00'`. #}
{% macro ducklake_at(relation, version=none, timestamp=none) %}
  {%- if (version is none) == (timestamp is none) -%}
    {{ exceptions.raise_compiler_error('ducklake_at(' ~ relation ~ ') takes a version or a timestamp') }}
  {%- endif -%}
  {%- if version is not none -%}
    {{ return(relation ~ ' version as of ' ~ (version | int)) }}
  {%- endif -%}
  {{ return(relation ~ ' timestamp as of ' ~ ducklake_literal(timestamp | string)) }}
{% endmacro %}


{# The newest snapshot that changed the rows of a table; none if there is no such table. #}
{% macro ducklake_last_snapshot(relation) %}
  {{ return(adapter.last_snapshot(relation)) }}
{% endmacro %}
