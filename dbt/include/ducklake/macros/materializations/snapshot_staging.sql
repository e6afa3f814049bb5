{#
  Returns the rows of dbt's `default__snapshot_staging_table` from one join of the query with the current versions. dbt joins them once for
  each kind of change, up to four times, and Spark would evaluate the query and read the snapshot as often.
#}
{% macro ducklake__snapshot_staging_table(strategy, source_sql, target_relation) -%}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set current = config.get('dbt_valid_to_current') -%}
  {%- set new_record = strategy.hard_deletes == 'new_record' -%}
  {%- set finds_deletions = new_record or strategy.hard_deletes == 'invalidate' -%}

  with snapshot_query as (
    {{ source_sql }}
  ),

  snapshotted_data as (
    select *, {{ unique_key_fields(strategy.unique_key) }}, true as dbt_in_snapshot
    from {{ target_relation }}
    where {{ names.dbt_valid_to }} is null{{ ' or ' ~ equals(names.dbt_valid_to, current) if current }}
  ),

  source_data as (
    select *, {{ unique_key_fields(strategy.unique_key) }},
      {{ strategy.updated_at }} as {{ names.dbt_updated_at }},
      {{ strategy.updated_at }} as {{ names.dbt_valid_from }},
      {{ get_dbt_valid_to_current(strategy, names) }},
      {{ strategy.scd_id }} as {{ names.dbt_scd_id }},
      true as dbt_in_source
    from snapshot_query
  )

  select
    if(dbt_change = 'deletion record', 'insert', dbt_change) as dbt_change_type,
    {%- if new_record %}
    {{ ducklake__columns_of_snapshot_records(strategy, source_sql, target_relation) }},
    {%- else %}
    source_data.* except (
      {{ names.dbt_updated_at }}, {{ names.dbt_valid_from }}, {{ names.dbt_valid_to }}, {{ names.dbt_scd_id }}, dbt_in_source
    ),
    {%- endif %}
    {%- for name in [names.dbt_updated_at, names.dbt_valid_from] %}
    {{ "if(dbt_change in ('delete', 'deletion record'), " ~ snapshot_get_time() ~ ', source_data.' ~ name ~ ') as ' ~ name
       if finds_deletions else 'source_data.' ~ name }},
    {%- endfor %}
    case dbt_change
      when 'insert' then source_data.{{ names.dbt_valid_to }}
      when 'update' then source_data.{{ names.dbt_updated_at }}
      {%- if finds_deletions %}
      when 'delete' then {{ snapshot_get_time() }}
      {%- endif %}
      {%- if new_record %}
      when 'deletion record' then snapshotted_data.{{ names.dbt_valid_to }}
      {%- endif %}
    end as {{ names.dbt_valid_to }},
    case dbt_change
      when 'insert' then source_data.{{ names.dbt_scd_id }}
      {%- if new_record %}
      when 'deletion record' then {{ snapshot_hash_arguments(['snapshotted_data.' ~ names.dbt_scd_id, snapshot_get_time()]) }}
      {%- endif %}
      else snapshotted_data.{{ names.dbt_scd_id }}
    end as {{ names.dbt_scd_id }}
    {%- if new_record %},
    case dbt_change
      when 'insert' then 'False'
      when 'deletion record' then 'True'
      else snapshotted_data.{{ names.dbt_is_deleted }}
    end as {{ names.dbt_is_deleted }}
    {%- endif %}
  from source_data
  {{ 'full' if finds_deletions else 'left' }} outer join snapshotted_data
    on {{ unique_key_join_on(strategy.unique_key, 'snapshotted_data', 'source_data') }}
  lateral view explode({{ ducklake__snapshot_changes_of_pair(strategy, names) }}) changes as dbt_change
{%- endmacro %}


{#
  Returns the array of the changes that a row of the query and a current version, or one of both alone, stand for. A row that `--empty` or
  `--sample` leaves out is not a deleted one.
#}
{% macro ducklake__snapshot_changes_of_pair(strategy, names) -%}
  {%- set new_record = strategy.hard_deletes == 'new_record' -%}
  {%- set is_deleted = 'snapshotted_data.' ~ names.dbt_is_deleted ~ " = 'True'" -%}
  {%- set changed = '(' ~ strategy.row_changed ~ (' or ' ~ is_deleted if new_record) ~ ')' -%}
  {%- set is_missing = 'dbt_in_snapshot and dbt_in_source is null' -%}
  {%- if adapter.leaves_out_rows() -%}
    {%- set is_missing = 'false' -%}
  {%- elif new_record -%}
    {%- set valid_to = 'snapshotted_data.' ~ names.dbt_valid_to -%}
    {%- set current = config.get('dbt_valid_to_current') -%}
    {%- set is_missing = is_missing ~ ' and not (' ~ is_deleted ~ ' and ' ~ valid_to ~ (' = ' ~ current if current else ' is null') ~ ')' -%}
  {%- endif -%}
  array_compact(array(
    if(dbt_in_source and (dbt_in_snapshot is null or {{ changed }}), 'insert', null),
    if(dbt_in_source and dbt_in_snapshot and {{ changed }}, 'update', null)
    {%- if new_record or strategy.hard_deletes == 'invalidate' %},
    if({{ is_missing }}, 'delete', null)
    {%- endif %}
    {%- if new_record %},
    if({{ is_missing }}, 'deletion record', null)
    {%- endif %}
  ))
{%- endmacro %}


{# Returns the columns of the query and its keys. The record of a deletion takes them from the last version, if that has them. #}
{% macro ducklake__columns_of_snapshot_records(strategy, source_sql, target_relation) -%}
  {%- set known = adapter.get_columns_in_relation(target_relation) | map(attribute='name') | list -%}
  {%- set columns = [] -%}
  {%- for name in get_columns_in_query(source_sql) -%}
    {%- set column = adapter.quote(name) -%}
    {%- do columns.append((column, name in known)) -%}
  {%- endfor -%}
  {%- for alias in ducklake__unique_key_aliases(strategy.unique_key) -%}
    {%- do columns.append((alias, true)) -%}
  {%- endfor -%}
  {%- for column, in_snapshot in columns -%}
    {%- if in_snapshot -%}
      if(dbt_change = 'deletion record', snapshotted_data.{{ column }}, source_data.{{ column }}) as {{ column }}
    {%- else -%}
      source_data.{{ column }}
    {%- endif -%}
    {{ ', ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}


{# Returns the names that dbt's `unique_key_fields` gives to the keys. #}
{% macro ducklake__unique_key_aliases(unique_key) %}
  {%- set aliases = [] -%}
  {%- if unique_key | is_list -%}
    {%- for key in unique_key -%}
      {%- do aliases.append('dbt_unique_key_' ~ loop.index) -%}
    {%- endfor -%}
  {%- else -%}
    {%- do aliases.append('dbt_unique_key') -%}
  {%- endif -%}
  {% do return(aliases) %}
{% endmacro %}
