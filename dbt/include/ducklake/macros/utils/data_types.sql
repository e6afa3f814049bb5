{% macro ducklake__type_string() -%}
  {{ return('string') }}
{%- endmacro %}


{% macro ducklake__type_timestamp() -%}
  {{ return('timestamp') }}
{%- endmacro %}


{% macro ducklake__type_int() -%}
  {{ return('int') }}
{%- endmacro %}
