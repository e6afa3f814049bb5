{#- Contents and history of a lake; `database` names an attached lake instead of the profile's. -#}

{# dbt run-operation ducklake_snapshots --args '{limit: 20}': all snapshots, or the newest ones. #}
{% macro ducklake_snapshots(database=none, limit=none) %}
  {{ return(ducklake_call('snapshots', {'limit': limit}, database)) }}
{% endmacro %}


{# dbt run-operation ducklake_table_info #}
{% macro ducklake_table_info(database=none) %}
  {{ return(ducklake_call('table_info', {}, database)) }}
{% endmacro %}


{#
  The snapshots that changed a table, newest first, at most `limit` of them:
  dbt run-operation ducklake_history --args '{table_name: orders, limit: 10}'
  `table` is another name of `table_name`.
#}
{% macro ducklake_history(table_name=none, schema=none, limit=none, database=none, table=none) %}
  {%- set table = table_name or table -%}
  {%- do ducklake_require('ducklake_history', {'table_name': table}) -%}
  {%- set relation = ducklake_table(table, schema, database) if table is string else table -%}
  {%- set place = {'table_name': relation.identifier, 'schema': relation.schema, 'limit': limit} -%}
  {{ return(ducklake_call('history', place, relation.database)) }}
{% endmacro %}


{#
  What changed in a table: dbt run-operation ducklake_diff --args '{table_name: orders, from: 12, to: 15}', also with timestamps; compared
  with another relation, `other: dev_anna.orders`, or with the same one of another target, `other_target: prod`. Also in a hook, with `path`.
  `table` is another name of `table_name`.
#}
{% macro ducklake_diff(table_name=none, from=none, to=none, other=none, other_target=none, key=none, examples=none, format=none, path=none, schema=none, database=none, table=none) %}
  {%- if execute -%}
    {%- set table = table_name or table -%}
    {%- do ducklake_require('ducklake_diff', {'table_name': table}) -%}
    {%- set relation = ducklake_table(table, schema, database) if table is string else table -%}
    {%- set other = other | string if other else none -%}
    {%- set other = adapter.relation_of_target(other_target, relation, other) if other_target else other -%}
    {%- set given = {
      'table_name': relation.identifier, 'schema': relation.schema, 'from': from, 'to': to, 'other': other, 'key': key,
      'examples': examples, 'format': format,
    } -%}
    {%- call statement('ducklake_diff', fetch_result=true, auto_begin=false) -%}
      {{ ducklake_call_text('diff', given, relation.database) }}
    {%- endcall -%}
    {%- set text = load_result('ducklake_diff')['data'][0][0] -%}
    {%- do print('diff: ' ~ adapter.write_file(path, text) if path else text) -%}
  {%- endif -%}
{% endmacro %}


{# dbt run-operation ducklake_positions: up to which snapshot each model, or the one named, has read the changes of its inputs. #}
{% macro ducklake_positions(table_name=none, schema=none, database=none) %}
  {{ return(ducklake_call('positions', {'table_name': table_name, 'schema': schema}, database)) }}
{% endmacro %}


{# dbt run-operation ducklake_report --args '{path: report.html}': a report on the lake as one HTML file; also in a hook. #}
{% macro ducklake_report(path=none, database=none) %}
  {%- if execute -%}
    {%- do print('report: ' ~ adapter.write_report(path, database)) -%}
  {%- endif -%}
{% endmacro %}


{# dbt run-operation ducklake_stop_spark: end each local Spark that `keep_alive` keeps and no command uses. #}
{% macro ducklake_stop_spark() %}
  {%- if execute -%}
    {%- do print(adapter.stop_spark() | join('\n') or 'No Spark is kept.') -%}
  {%- endif -%}
{% endmacro %}


{# dbt run-operation ducklake_options #}
{% macro ducklake_options(database=none) %}
  {{ return(ducklake_call('options', {}, database)) }}
{% endmacro %}


{# dbt run-operation ducklake_list_files --args '{table_name: orders}' #}
{% macro ducklake_list_files(table_name, schema=none, snapshot_version=none, snapshot_time=none, database=none) %}
  {%- set at = {'snapshot_version': snapshot_version, 'snapshot_time': snapshot_time} -%}
  {{ return(ducklake_call('list_files', dict(ducklake__place(table_name, schema), **at), database)) }}
{% endmacro %}


{#
  The changes of a table from one snapshot or timestamp to another, both included: in a model
  `select * from {{ ducklake_table_changes(ref('orders'), 3, 7) }}`, or
  dbt run-operation ducklake_table_changes --args '{table_name: orders, start_snapshot: 3, end_snapshot: 7}'
  `table` is another name of `table_name`.
#}
{% macro ducklake_table_changes(table_name=none, start_snapshot=none, end_snapshot=none, schema=none, database=none, table=none) %}
  {%- set table = table_name or table -%}
  {%- do ducklake_require(
    'ducklake_table_changes', {'table_name': table, 'start_snapshot': start_snapshot, 'end_snapshot': end_snapshot}
  ) -%}
  {%- set relation = ducklake_table(table, schema, database) if table is string else table -%}
  {%- set places = [relation.database or target.database, relation.schema, relation.identifier, start_snapshot, end_snapshot] -%}
  {%- set given = [] -%}
  {%- for place in places -%}{%- do given.append(ducklake_literal(place)) -%}{%- endfor -%}
  {%- set changes = 'ducklake_table_changes(' ~ given | join(', ') ~ ')' -%}
  {%- if flags.WHICH == 'run-operation' -%}
    {{ return(ducklake_operation('call ' ~ changes)) }}
  {%- endif -%}
  {{ return(changes) }}
{% endmacro %}


{# A table at an earlier snapshot: `select * from {{ ducklake_at(ref('orders'), version=3) }}`, or `timestamp='2026-01-31 12:00:00+00:00'`. #}
{% macro ducklake_at(relation, version=none, timestamp=none) %}
  {%- if (version is none) == (timestamp is none) -%}
    {{ exceptions.raise_compiler_error('ducklake_at(' ~ relation ~ ') takes a version or a timestamp') }}
  {%- endif -%}
  {%- set named = api.Relation.create(identifier=relation).quote(identifier=false) if relation is string else relation -%}
  {{ return(named.at(version, timestamp)) }}
{% endmacro %}


{# The newest snapshot that changed the rows of a table; none if the table does not exist. #}
{% macro ducklake_last_snapshot(relation) %}
  {{ return(adapter.last_snapshot(relation)) }}
{% endmacro %}
