{% macro ducklake__current_timestamp() -%}
  current_timestamp()
{%- endmacro %}


{% macro ducklake__snapshot_get_time() -%}
  {{ current_timestamp() }}
{%- endmacro %}


{% macro ducklake__snapshot_string_as_time(timestamp) -%}
  {% do return("timestamp '" ~ timestamp ~ "'") %}
{%- endmacro %}


{% macro ducklake__current_timestamp_backcompat() -%}
  current_timestamp()
{%- endmacro %}


{% macro ducklake__current_timestamp_in_utc_backcompat() -%}
  current_timestamp()
{%- endmacro %}
