{# The rows in the batch's window of `event_time` are replaced by the model's rows for it. #}
{% macro ducklake__get_incremental_microbatch_sql(arg_dict) %}
  {%- set event_time = config.get('event_time') -%}
  {%- set start = config.get('__dbt_internal_microbatch_event_time_start') -%}
  {%- set end = config.get('__dbt_internal_microbatch_event_time_end') -%}
  {%- set window = [] -%}
  {%- if start -%}{%- do window.append(event_time ~ " >= timestamp '" ~ start ~ "'") -%}{%- endif -%}
  {%- if end -%}{%- do window.append(event_time ~ " < timestamp '" ~ end ~ "'") -%}{%- endif -%}
  {%- for predicate in arg_dict['incremental_predicates'] or [] -%}
    {%- do window.append('(' ~ predicate ~ ')') -%}
  {%- endfor -%}

  {%- set replace_window -%}
  delete from {{ arg_dict['target_relation'] }} as DBT_INTERNAL_DEST
  where {{ window | join(' and ') }};

  {{ insert_rows_sql(arg_dict['target_relation'], arg_dict['temp_relation'], arg_dict['dest_columns']) }}
  {%- endset -%}
  {% do return(replace_window) %}
{% endmacro %}
