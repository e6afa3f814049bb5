{#
  The session computes the source once and refuses a source with several rows for one row of the target. Keys match if they are equal;
  NULL keys match each other only with the behavior flag `enable_truthy_nulls_equals_macro`. The actions come from the merge configs of
  dbt, dbt-duckdb, dbt-databricks and dbt-athena, with their names.
#}
{% macro ducklake__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) -%}
  {%- set configs, unique_key = ducklake__merge_configs(), ducklake__key_columns(unique_key) -%}
  {%- do adapter.check_merge_configs(configs, unique_key, model.config | list) -%}
  {%- set update_columns = get_merge_update_columns(configs.merge_update_columns, configs.merge_exclude_columns, dest_columns) -%}
  {%- set plan = adapter.merge_plan(configs, unique_key, update_columns | list, dest_columns | map(attribute='name') | list, source) -%}
  {%- set keys = plan.using or unique_key -%}

  merge into {{ target }} as {{ plan.target_alias }}
  using {{ source }} as {{ plan.source_alias }}
  on {{ ducklake__merge_conditions(keys, incremental_predicates, plan.source_alias, plan.target_alias) | join(' and ') }}
  {%- for clause in (ducklake__without_clauses_by_source(plan.clauses) if adapter.leaves_out_rows() else plan.clauses) %}
  {{ clause }}
  {%- endfor %}
{%- endmacro %}


{# Returns the clauses without those by source; if there are no others, these with a false condition, because MERGE needs a clause. #}
{% macro ducklake__without_clauses_by_source(clauses) %}
  {%- set by_source = 'when not matched by source' -%}
  {%- set others, without_rows = [], [] -%}
  {%- for clause in clauses -%}
    {%- if clause.startswith(by_source) -%}
      {%- do without_rows.append(by_source ~ ' and false' ~ clause[by_source | length:]) -%}
    {%- else -%}
      {%- do others.append(clause) -%}
    {%- endif -%}
  {%- endfor -%}
  {% do return(others or without_rows) %}
{% endmacro %}


{# The merge configs of the node; `merge_fields.py` lists them and docs/configs/strategies/merge.md describes them. #}
{% macro ducklake__merge_configs() %}
  {%- set found = {} -%}
  {%- for name in adapter.merge_config_names() -%}
    {%- do found.update({name: config.get(name)}) -%}
  {%- endfor -%}
  {% do return(found) %}
{% endmacro %}


{# Returns the conditions of ON: the predicates, and the equality of each key column. #}
{% macro ducklake__merge_conditions(unique_key, incremental_predicates, source='DBT_INTERNAL_SOURCE', target='DBT_INTERNAL_DEST') %}
  {%- set conditions = [] -%}
  {%- for predicate in incremental_predicates or [] -%}
    {%- do conditions.append('(' ~ predicate ~ ')') -%}
  {%- endfor -%}
  {%- for key in ducklake__key_columns(unique_key) -%}
    {%- do conditions.append(get_merge_unique_key_match(source ~ '.' ~ key, target ~ '.' ~ key)) -%}
  {%- endfor -%}
  {%- if not unique_key -%}
    {%- do conditions.append('false') -%}
  {%- endif -%}
  {% do return(conditions) %}
{% endmacro %}


{#
  The columns of the config `unique_key` as a list. A name in double quotes, as other databases write it, gets backquotes: for Spark it would
  be a text, which is the same in every row.
#}
{% macro ducklake__key_columns(unique_key) %}
  {%- set found = [] -%}
  {%- for key in ([unique_key] if unique_key is string and unique_key else unique_key or []) -%}
    {%- set name = key[1:-1] -%}
    {%- set quoted = key | length > 2 and key.startswith('"') and key.endswith('"') and '"' not in name -%}
    {%- do found.append(adapter.quote(name) if quoted else key) -%}
  {%- endfor -%}
  {% do return(found) %}
{% endmacro %}


{% macro ducklake__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) %}
  {%- set merge_update_columns = [merge_update_columns] if merge_update_columns is string else merge_update_columns -%}
  {%- set excluded = [] -%}
  {%- for name in ducklake__key_columns(merge_exclude_columns) -%}
    {#- dbt compares bare names; the other configs of columns may also have them in backquotes. -#}
    {%- do excluded.append(name[1:-1] | replace('``', '`') if name.startswith('`') else name) -%}
  {%- endfor -%}
  {% do return(default__get_merge_update_columns(merge_update_columns, excluded, dest_columns)) %}
{% endmacro %}
