{#
  The model's query reads changes with `ducklake_changes` and returns their `_change_type`. With a key, its new rows are merged, and the rows
  of the table whose key has only old rows are deleted. An update yields its old row as well, so a row whose key or filter changed is found.
  Without a key, the new rows are appended.
#}
{% macro get_incremental_changes_sql(arg_dict) %}
  {% do return(adapter.dispatch('get_incremental_changes_sql', 'dbt')(arg_dict)) %}
{% endmacro %}


{% macro ducklake__get_incremental_changes_sql(arg_dict) %}
  {%- set keys = ducklake__key_columns(arg_dict['unique_key']) -%}
  {% if not keys %}
    {% do return(get_incremental_append_sql(arg_dict)) %}
  {% endif %}
  {% do return(ducklake__merge_changes_sql(
    arg_dict['target_relation'], ducklake__changes_relation(arg_dict['target_relation']), keys, arg_dict['dest_columns'], arg_dict['incremental_predicates']
  )) %}
{% endmacro %}


{% macro ducklake__merge_changes_sql(target, source, keys, dest_columns, incremental_predicates) -%}
  {%- set columns = dest_columns | map(attribute='quoted') | list -%}
  {%- set updated = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns) -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using (
    select {{ columns | join(', ') }}, __dbt_is_old
    from (
      select
        *,
        row_number() over (partition by {{ keys | join(', ') }}, __dbt_is_old order by __dbt_is_old) as __dbt_number,
        min(__dbt_is_old) over (partition by {{ keys | join(', ') }}) as __dbt_has_only_old
      from (select {{ columns | join(', ') }}, {{ ducklake__is_old_row() }} as __dbt_is_old from {{ source }})
    )
    where not __dbt_is_old or (__dbt_has_only_old and __dbt_number = 1)
  ) as DBT_INTERNAL_SOURCE
  on {{ ducklake__merge_conditions(keys, incremental_predicates) | join(' and ') }}
  when matched and DBT_INTERNAL_SOURCE.__dbt_is_old then delete
  {%- if updated %}
  when matched then update set
    {% for column in updated %}{{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ ', ' if not loop.last }}{% endfor %}
  {%- endif %}
  when not matched and not DBT_INTERNAL_SOURCE.__dbt_is_old then insert ({{ columns | join(', ') }})
    values (DBT_INTERNAL_SOURCE.{{ columns | join(', DBT_INTERNAL_SOURCE.') }})
{%- endmacro %}


{% macro ducklake__is_old_row() -%}
  coalesce(_change_type in ('delete', 'update_preimage'), false)
{%- endmacro %}


{% macro ducklake__changes_relation(target_relation) %}
  {% do return(make_temp_relation(target_relation, '__dbt_changes')) %}
{% endmacro %}


{# Creates the temporary view of the model's query, and returns the query of its new rows with the columns of the model's table. #}
{% macro ducklake__new_rows_of_changes(target_relation) %}
  {%- if model.language != 'sql' or 'ducklake_changes' not in compiled_code -%}
    {%- do exceptions.raise_compiler_error(
      'the strategy changes needs a model in SQL that reads the changes of an input: select * from {{ ducklake_changes(ref(…)) }}'
    ) -%}
  {%- endif -%}
  {%- set relation = ducklake__changes_relation(target_relation) -%}
  {%- call statement('changes') -%}
    {{ get_create_table_as_sql(True, relation, compiled_code) }}
  {%- endcall -%}
  {%- set names = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
  {%- set has_type = '_change_type' in names | map('lower') | list -%}
  {%- if not has_type and ducklake__key_columns(config.get('unique_key')) -%}
    {%- do exceptions.raise_compiler_error(
      'the query of a model with the strategy changes and a unique_key must return the column _change_type, which says which rows were deleted'
    ) -%}
  {%- endif -%}
  {%- set kept = [] -%}
  {%- for name in names if name | lower not in ['_change_type', '_snapshot_id'] -%}
    {%- do kept.append(name) -%}
  {%- endfor -%}
  {% do return('select ' ~ get_quoted_csv(kept) ~ ' from ' ~ relation ~ (' where not ' ~ ducklake__is_old_row() if has_type else '')) %}
{% endmacro %}
