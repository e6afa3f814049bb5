{% macro ducklake__snapshot_string_as_time(timestamp) -%}
  {% do return("timestamp '" ~ timestamp ~ "'") %}
{%- endmacro %}


{% macro ducklake__current_timestamp_backcompat() -%}
  current_timestamp()
{%- endmacro %}
