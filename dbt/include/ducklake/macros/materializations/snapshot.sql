{#
  The strategies are dbt's. The differences: the staging rows come from one join (`ducklake__snapshot_staging_table`) and are a temporary
  view, which the merge computes once, and everything is one snapshot of the lake.
#}
{% materialization snapshot, adapter='ducklake' %}

  {%- set target_relation_exists, target_relation = get_or_create_relation(
    database=model.database, schema=model.schema, identifier=model.get('alias', model.get('name')), type='table'
  ) -%}
  {%- if not target_relation.is_table -%}
    {% do exceptions.relation_wrong_type(target_relation, 'table') %}
  {%- endif -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {% do ducklake__begin_snapshot() %}
  {% do ducklake__require_first_build(target_relation if target_relation_exists else none, target_relation) %}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% set strategy_macro = strategy_dispatch(config.get('strategy')) %}
  {% set strategy = strategy_macro(model, 'snapshotted_data', 'source_data', model['config'], target_relation_exists) %}
  {% do strategy.update({'unique_key': ducklake__snapshot_key(strategy.unique_key)}) %}

  {% if target_relation_exists %}
    {% set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() %}
    {% do adapter.assert_valid_snapshot_target_given_strategy(target_relation, names, strategy) %}
    {% do ducklake__fit_structs(strategy, sql, target_relation) %}
    {% set staging_relation = build_snapshot_staging_table(strategy, sql, target_relation) %}
    {% set final_sql = snapshot_merge_sql(
      target=target_relation, source=staging_relation, insert_cols=ducklake__fit_snapshot_target(strategy, staging_relation, target_relation)
    ) %}
    {% do ducklake__apply_layout(target_relation) %}
  {% else %}
    {% set final_sql = create_table_as(False, target_relation, build_snapshot_table(strategy, sql)) %}
  {% endif %}

  {% call statement('main') -%}
    {{ final_sql }}
  {%- endcall %}
  {% do ducklake__warn_of_time_type(staging_relation or target_relation) %}

  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {% if staging_relation is defined %}
    {% do post_snapshot(staging_relation) %}
  {% endif %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{# The config `unique_key` with backquotes for double quotes. #}
{% macro ducklake__snapshot_key(unique_key) %}
  {%- set keys = ducklake__key_columns(unique_key) -%}
  {% do return(keys[0] if unique_key is string else keys) %}
{% endmacro %}


{#
  Warns, like dbt's `check_time_data_types`, if `updated_at` has another type than the time of the snapshot. It looks at the columns of the
  relation, which are known; dbt's macro would have Spark analyze the whole staging query again.
#}
{% macro ducklake__warn_of_time_type(relation) %}
  {%- for column in adapter.get_columns_in_relation(relation) if column.name | lower == 'dbt_updated_at' -%}
    {%- set expected = get_snapshot_get_time_data_type() -%}
    {%- if column.dtype != expected -%}
      {%- do exceptions.warn_snapshot_timestamp_data_types(expected, column.dtype) -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}


{#
  Adds new fields of structs in the query to the snapshot. The staging query needs them, because it compares the structs of the query with
  those of the snapshot. For `hard_deletes: new_record` it also combines the rows of both by UNION, which matches fields by position.
#}
{% macro ducklake__fit_structs(strategy, sql, target_relation) %}
  {%- set structs = {} -%}
  {%- for column in adapter.get_columns_in_relation(target_relation) if 'struct<' in column.data_type -%}
    {%- do structs.update({api.Column.fold(column.name): column}) -%}
  {%- endfor -%}
  {%- if structs -%}
    {%- set fields = [] -%}
    {%- for column in adapter.get_column_schema_from_query(get_empty_subquery_sql(sql)) if api.Column.fold(column.name) in structs -%}
      {%- set known = structs[api.Column.fold(column.name)] -%}
      {%- set new_fields = [] if known.moves_fields(column) else column.fields_beyond(known) -%}
      {%- do fields.extend(new_fields) -%}
      {%- if not new_fields and strategy.hard_deletes == 'new_record' and known.moves_fields(column) -%}
        {%- do exceptions.raise_compiler_error(
          'column ' ~ column.name ~ ' of the query is ' ~ column.data_type ~ ', and that of ' ~ target_relation.render() ~ ' is '
          ~ known.data_type ~ ': with hard_deletes new_record, the record of a deletion would give fields the values of others. '
          ~ 'Write the fields in the order of the table, with new ones at the end'
        ) -%}
      {%- endif -%}
    {%- endfor -%}
    {%- do create_columns(target_relation, fields) -%}
  {%- endif -%}
{% endmacro %}


{# Adds new columns of the source to the snapshot, and returns the quoted names of all columns to insert. #}
{% macro ducklake__fit_snapshot_target(strategy, staging_relation, target_relation) %}
  {%- do adapter.expand_target_column_types(from_relation=staging_relation, to_relation=target_relation) -%}
  {%- set helper_columns = ['dbt_change_type'] + ducklake__unique_key_aliases(strategy.unique_key) -%}
  {%- set known, missing, names = [], [], [] -%}
  {%- for column in adapter.get_columns_in_relation(target_relation) -%}
    {%- do known.append(api.Column.fold(column.name)) -%}
  {%- endfor -%}
  {%- for column in adapter.get_columns_in_relation(staging_relation) if column.name | lower not in helper_columns -%}
    {%- do names.append(column.quoted) -%}
    {%- if api.Column.fold(column.name) not in known -%}
      {%- do missing.append(column) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- do create_columns(target_relation, missing) -%}
  {% do return(names) %}
{% endmacro %}
