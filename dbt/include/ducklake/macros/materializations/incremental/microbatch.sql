{#
  The rows in the batch's window of `event_time` are replaced by the model's rows for it. The rows of a model that reads its own table are
  computed before the window is emptied.
#}
{% macro ducklake__get_incremental_microbatch_sql(arg_dict) %}
  {% if adapter.view_reads_table(arg_dict['temp_relation'], arg_dict['target_relation']) %}
    {% do ducklake__keep_source(arg_dict['temp_relation'], 'microbatch', 'reads the rows of the model after it has deleted those of the batch') %}
  {% endif %}
  {%- set event_time = config.get('event_time') -%}
  {%- set start = config.get('__dbt_internal_microbatch_event_time_start') -%}
  {%- set end = config.get('__dbt_internal_microbatch_event_time_end') -%}
  {%- set window, kinds = [], {} -%}
  {%- for column in arg_dict['dest_columns'] -%}{%- do kinds.update({column.name | lower: column.data_type}) -%}{%- endfor -%}
  {%- set kind = kinds.get(event_time | replace('`', '') | lower, 'timestamp') -%}
  {%- do ducklake__require_time(event_time, kind) -%}
  {%- if start -%}{%- do window.append(event_time ~ ' >= ' ~ ducklake__batch_end(start, kind)) -%}{%- endif -%}
  {%- if end -%}{%- do window.append(event_time ~ ' < ' ~ ducklake__batch_end(end, kind)) -%}{%- endif -%}
  {%- for predicate in arg_dict['incremental_predicates'] or [] -%}
    {%- do window.append('(' ~ predicate ~ ')') -%}
  {%- endfor -%}

  {%- set replace_window -%}
  delete from {{ arg_dict['target_relation'] }} as DBT_INTERNAL_DEST
  where {{ window | join(' and ') }};

  {{ ducklake__insert_rows_sql(arg_dict['target_relation'], arg_dict['temp_relation'], arg_dict['dest_columns']) }}
  {%- endset -%}
  {% do return(replace_window) %}
{% endmacro %}


{# Refuses an event time by which batches cannot be told apart: dbt would report success although rows are lost or doubled. #}
{% macro ducklake__require_time(event_time, kind) %}
  {%- if kind not in ['timestamp', 'timestamp_ntz', 'date'] -%}
    {%- do exceptions.raise_compiler_error(
      'event_time ' ~ event_time ~ ' is a column of type ' ~ kind ~ ', and the rows of a batch can only be found by a date or timestamp; '
      ~ 'convert it in the model, such as cast(' ~ event_time ~ ' as timestamp)'
    ) -%}
  {%- elif kind == 'date' and config.get('batch_size') == 'hour' -%}
    {%- do exceptions.raise_compiler_error(
      'event_time ' ~ event_time ~ ' is a date, and batch_size is hour: each batch would replace those of the other hours; '
      ~ 'set batch_size: day, or make it a timestamp'
    ) -%}
  {%- endif -%}
{% endmacro %}


{#
  An end of a batch as a literal of the type of `event_time`. dbt compares the input with a string, which Spark casts to the type of the column.
  The cast drops the time zone for dates and timestamps without a zone, so these literals have the UTC date and time.
#}
{% macro ducklake__batch_end(time, kind) %}
  {%- set text = time | string -%}
  {%- if kind == 'timestamp' -%}
    {% do return("timestamp '" ~ text ~ "'") %}
  {%- elif kind == 'timestamp_ntz' -%}
    {% do return("timestamp_ntz '" ~ text.partition('+')[0] ~ "'") %}
  {%- endif -%}
  {% do return("date '" ~ text[:10] ~ "'") %}
{% endmacro %}
